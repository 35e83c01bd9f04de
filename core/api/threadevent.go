package api

import (
	"slices"
	"strings"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/schema"
	"github.com/wardroom/wardroom/sdk/wire"
)

// threadEventList is a page of a thread's journal.
type threadEventList struct {
	Events    []wire.ThreadEvent `json:"events"`
	Limit     int                `json:"limit"`
	HasMore   bool               `json:"hasMore" doc:"There may be more; a page can end before its limit where events are large, or many of other types lie between."`
	NextSince uint64             `json:"nextSince" doc:"since of the next page."`
	// NextBefore is there only where before was asked for.
	NextBefore uint64 `json:"nextBefore,omitempty" doc:"With before: that of the next page, whose events are older."`
}

// threadEventID is the id of an event: its own, or one of its time and sequence, which is always the same for it and
// sorts as it does.
func threadEventID(ev *core.Event) string {
	if ev.ID != "" {
		return ev.ID
	}
	const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	id := []byte(core.IDBound(core.PrefixEvent, ev.Time))
	for i, seq := len(id)-1, ev.Seq; seq > 0; i, seq = i-1, seq>>5 {
		id[i] = digits[seq&31]
	}
	return string(id)
}

// scanPage and maxScan bound one answer's way through the journal, in events.
const (
	scanPage = 500
	maxScan  = 50_000
)

func (s *Server) listThreadEvents(c *call) (answer, error) {
	types, err := c.threadEventTypes()
	if err != nil {
		return answer{}, err
	}
	t, err := s.opts.Threads.FindThread(c.ctx, c.param("threadId"))
	if err != nil {
		return answer{}, err
	}
	limit := int(c.query.integer("limit"))
	list := threadEventList{
		Events: make([]wire.ThreadEvent, 0, limit), Limit: limit, NextSince: uint64(c.query.integer("since")),
	}
	if c.query.given("before") {
		if c.query.given("since") {
			return answer{}, core.Invalid("before", "cannot be combined with since")
		}
		return s.threadEventsBefore(c, t, types, list)
	}
	bytes := 0
	for scanned, size := 0, limit+1; ; size = scanPage {
		page, more, err := s.opts.Journal.Events(c.ctx, t.ID, list.NextSince, size)
		if err != nil {
			return answer{}, err
		}
		for i := range page {
			ev := &page[i]
			if slices.Contains(types, ev.Type) {
				if len(list.Events) == limit || bytes >= core.MaxPageBytes {
					list.HasMore = true
					return ok(list), nil
				}
				bytes += len(ev.Data)
				list.Events = append(list.Events, threadEventOf(t, ev))
			}
			list.NextSince = ev.Seq
		}
		scanned += len(page)
		if !more {
			return ok(list), nil
		}
		if scanned >= maxScan {
			list.HasMore = true
			return ok(list), nil
		}
	}
}

func threadEventOf(t *core.Thread, ev *core.Event) wire.ThreadEvent {
	return wire.ThreadEvent{
		ID: threadEventID(ev), ThreadID: t.ID, ExecutionID: t.ExecutionID, Sequence: ev.Seq, Type: string(ev.Type),
		Timestamp: ev.Time, Data: rawOr(ev.Data, "{}"), Principal: ev.By,
	}
}

// threadEventsBefore answers with the newest events before a sequence, in their order.
func (s *Server) threadEventsBefore(c *call, t *core.Thread, types []core.EventType, list threadEventList) (answer, error) {
	before := uint64(c.query.integer("before"))
	if before == 0 {
		before = s.opts.Journal.LastSeq() + 1
	}
	list.NextSince, list.NextBefore = before-1, before
	bytes := 0
	for scanned := 0; !list.HasMore; {
		page, more, err := s.opts.Journal.EventsBefore(c.ctx, t.ID, list.NextBefore, scanPage)
		if err != nil {
			return answer{}, err
		}
		for i := range page {
			ev := &page[i]
			if slices.Contains(types, ev.Type) {
				if list.HasMore = len(list.Events) == list.Limit || bytes >= core.MaxPageBytes; list.HasMore {
					break
				}
				bytes += len(ev.Data)
				list.Events = append(list.Events, threadEventOf(t, ev))
			}
			list.NextBefore = ev.Seq
		}
		if scanned += len(page); !more {
			break
		}
		list.HasMore = list.HasMore || scanned >= maxScan
	}
	slices.Reverse(list.Events)
	return ok(list), nil
}

// threadEventTypes reads the filter by type.
func (c *call) threadEventTypes() ([]core.EventType, error) {
	if !c.query.given("type") {
		return core.PersistedThreadEvents, nil
	}
	known := slices.Concat(core.PersistedThreadEvents, core.ExtraThreadEvents)
	var types []core.EventType
	for _, name := range c.query.list("type") {
		if !slices.Contains(known, core.EventType(name)) {
			names := make([]string, len(known))
			for i, k := range known {
				names[i] = string(k)
			}
			return nil, core.Invalid("type", "must be of %s, not %q", strings.Join(names, ", "), schema.Clip(name))
		}
		types = append(types, core.EventType(name))
	}
	if types == nil {
		return nil, core.Invalid("type", "must name at least one type of event")
	}
	return types, nil
}
