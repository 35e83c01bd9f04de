package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/wardroom/wardroom/core"
)

// Bounds of what is kept of executions for filters on metadata.
const (
	maxMetadata      = 4096
	maxMetadataBytes = 8 << 20 // of keys and values
)

// subject is what filters look at of an event. It is read only when a filter asks.
type subject struct {
	event    *core.Event
	read     bool
	names    []string // patterns that the event names
	metadata map[string]string
	looked   bool
}

// wants reports whether an endpoint gets an event. Filters restrict the events that they are about: pattern those that
// name one, metadata those of an execution. The error is the store's.
func (s *Service) wants(ctx context.Context, w *core.Webhook, on *subject) (bool, error) {
	if !slices.Contains(w.Events, on.event.Type) && !slices.Contains(w.Events, core.AllEvents) {
		return false, nil
	}
	if len(w.Filters.Pattern) > 0 {
		on.parse()
		if len(on.names) > 0 && !slices.ContainsFunc(on.names, func(n string) bool { return slices.Contains(w.Filters.Pattern, n) }) {
			return false, nil
		}
	}
	if len(w.Filters.Metadata) == 0 || !strings.HasPrefix(string(on.event.Type), "execution.") {
		return true, nil
	}
	if !on.looked {
		var err error
		if on.metadata, err = s.executionMetadata(ctx, on.event); err != nil {
			return false, err
		}
		on.looked = true
	}
	for key, want := range w.Filters.Metadata {
		if got, ok := on.metadata[key]; !ok || got != want {
			return false, nil
		}
	}
	return true, nil
}

// parse reads the pattern that an event names: {name, version} of an execution, the name itself of a pattern's own.
func (on *subject) parse() {
	if on.read {
		return
	}
	on.read = true
	var data struct {
		Name    string          `json:"name"`
		Pattern json.RawMessage `json:"pattern"`
	}
	if json.Unmarshal(on.event.Data, &data) != nil {
		return
	}
	if strings.HasPrefix(string(on.event.Type), "pattern.") && data.Name != "" {
		on.names = append(on.names, data.Name)
	}
	var ref core.PatternRef
	if len(data.Pattern) > 0 && json.Unmarshal(data.Pattern, &ref) == nil && ref.Name != "" {
		on.names = append(on.names, ref.Name)
	}
}

// executionMetadata returns the metadata of the execution that an event is about, as filters compare it; nil where it is not
// stored any more, or cannot be read: one such record must not keep others from their deliveries. Only the reader of the
// log calls it.
func (s *Service) executionMetadata(ctx context.Context, e *core.Event) (map[string]string, error) {
	if m, ok := s.metadata[e.Subject]; ok {
		return m, nil
	}
	var have map[string]any
	if e.Type == core.EventExecutionStarted {
		var data struct {
			Metadata core.Metadata `json:"metadata"`
		}
		if json.Unmarshal(e.Data, &data) == nil {
			have = data.Metadata
		}
	} else {
		x, err := s.opts.Store.FindExecution(ctx, e.Subject)
		switch {
		case err == nil:
			have = x.Options.Metadata
		case errors.Is(err, core.ErrUnreadable):
			s.log.Error("the metadata of an execution cannot be read; endpoints that filter by it do not get its events", "execution", e.Subject)
		case core.ErrorCode(err) != core.CodeNotFound:
			return nil, err
		}
	}
	var m map[string]string
	size := len(e.Subject)
	for key, value := range have {
		if len(key) > maxFilterText {
			continue // no filter names it
		}
		if text := text(value); len(text) <= maxFilterText {
			if m == nil {
				m = map[string]string{}
			}
			m[key] = text
			size += len(key) + len(text)
		}
	}
	if len(s.metadata) >= maxMetadata || s.metadataBytes+size > maxMetadataBytes {
		clear(s.metadata)
		s.metadataBytes = 0
	}
	s.metadata[e.Subject] = m
	s.metadataBytes += size
	return m, nil
}

// text is a value of metadata as a filter compares it: a text as it is, anything else as its JSON.
func text(v any) string {
	if t, ok := v.(string); ok {
		return t
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(raw)
}
