// Package sanitize takes HTML, or what could run in it, out of texts.
//
// It owns what counts as a tag and as active, and where texts stand in a value of JSON. It does not know what the texts are
// for: core/engine calls it for the inputs of executions, core/threads for what a thread begins with, and core/api for
// messages and answers to agents. It is pure; what it returns is what it would return for that
// again.
package sanitize

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/wardroom/wardroom/core/internal/rawjson"
	"github.com/wardroom/wardroom/sdk/wire"
)

// Options say what is taken out.
type Options struct {
	HTML    bool // tags and comments; the text between them stays
	Scripts bool // what could run; other HTML stays
}

// Any reports whether anything is taken out.
func (o Options) Any() bool { return o.HTML || o.Scripts }

// What was taken out, in Change.Removed.
const (
	RemovedHTML    = "html"
	RemovedScripts = "scripts"
)

// Change describes a text that something was taken out of.
type Change = wire.SanitizedField

// MaxChanges is how many changes of a value are reported; what is beyond is changed as well.
const MaxChanges = 100

// JSON returns a value of JSON, which Check of rawjson takes, with its texts sanitized; raw itself where nothing is to be
// done. field names the value in changes. It fails where the name of a member would have to be changed.
func JSON(raw []byte, field string, o Options) ([]byte, []Change, error) {
	if !o.Any() || bytes.IndexByte(raw, '<') < 0 && !bytes.Contains(raw, []byte(`\u003`)) {
		return raw, nil, nil
	}
	w := writer{options: o}
	out, err := w.value(make([]byte, 0, len(raw)), raw, field)
	if err != nil || !w.changed {
		return raw, nil, err
	}
	return out, w.changes, nil
}

type writer struct {
	options Options
	changed bool
	changes []Change
}

func (w *writer) value(dst, raw []byte, field string) ([]byte, error) {
	var err error
	switch rawjson.KindOf(raw) {
	case rawjson.Object:
		dst = append(dst, '{')
		it := rawjson.Walk(raw)
		for n := 0; it.Next(); n++ {
			name := string(rawjson.Unquote(it.Key))
			if _, removed := Text(name, w.options); removed != nil {
				return nil, fmt.Errorf("%s has a member whose name holds HTML: %q", field, name[:min(len(name), 64)])
			}
			if n > 0 {
				dst = append(dst, ',')
			}
			dst = append(append(dst, it.Key...), ':')
			if dst, err = w.value(dst, it.Value, field+"."+name); err != nil {
				return nil, err
			}
		}
		return append(dst, '}'), nil
	case rawjson.Array:
		dst = append(dst, '[')
		it := rawjson.Walk(raw)
		for n := 0; it.Next(); n++ {
			if n > 0 {
				dst = append(dst, ',')
			}
			if dst, err = w.value(dst, it.Value, field+"["+strconv.Itoa(n)+"]"); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	case rawjson.String:
		quoted := bytes.TrimSpace(raw)
		clean, removed := Text(string(rawjson.Unquote(quoted)), w.options)
		if removed == nil {
			return append(dst, quoted...), nil
		}
		w.changed = true
		if len(w.changes) < MaxChanges {
			w.changes = append(w.changes, Change{Field: field, Removed: removed})
		}
		return rawjson.AppendString(dst, clean), nil
	}
	return append(dst, bytes.TrimSpace(raw)...), nil
}

// maxPasses bounds how often a text is looked at: taking out one tag may make another of what was around it.
const maxPasses = 8

// Text returns a text sanitized, and what was removed from it, nil if nothing was.
func Text(text string, o Options) (string, []string) {
	if !o.Any() || !strings.Contains(text, "<") {
		return text, nil
	}
	var html, scripts bool
	clean := text
	for range maxPasses {
		p := pass{options: o}
		next := p.over(clean)
		html, scripts = html || p.html, scripts || p.scripts
		if next == clean {
			return done(text, clean, html, scripts)
		}
		clean = next
	}
	return done(text, strings.ReplaceAll(clean, "<", "&lt;"), html, scripts)
}

func done(text, clean string, html, scripts bool) (string, []string) {
	if text == clean {
		return text, nil
	}
	var removed []string
	if html {
		removed = append(removed, RemovedHTML)
	}
	if scripts {
		removed = append(removed, RemovedScripts)
	}
	return clean, removed
}

// Texts sanitizes the texts of one request, and collects what was changed. Its zero value with Options is ready.
type Texts struct {
	Options Options
	Changes []Change // MaxChanges at most
}

// Text sanitizes a text in its place.
func (t *Texts) Text(field string, text *string) {
	clean, removed := Text(*text, t.Options)
	if removed != nil {
		*text = clean
		t.tell(Change{Field: field, Removed: removed})
	}
}

// Value sanitizes the texts of a decoded value of JSON, and returns it: the maps and lists of v stay as they are.
func (t *Texts) Value(field string, v any) any {
	switch v := v.(type) {
	case string:
		t.Text(field, &v)
		return v
	case []any:
		next := make([]any, len(v))
		for i := range v {
			next[i] = t.Value(field+"["+strconv.Itoa(i)+"]", v[i])
		}
		return next
	case map[string]any:
		next := make(map[string]any, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			clean := name
			t.Text(field, &clean)
			next[clean] = t.Value(field+"."+clean, v[name])
		}
		return next
	}
	return v
}

// JSON sanitizes a value of JSON in its place. See the function JSON.
func (t *Texts) JSON(field string, raw *json.RawMessage) error {
	clean, changes, err := JSON(*raw, field, t.Options)
	if err != nil {
		return err
	}
	*raw = clean
	for _, c := range changes {
		t.tell(c)
	}
	return nil
}

func (t *Texts) tell(c Change) {
	if len(t.Changes) < MaxChanges {
		t.Changes = append(t.Changes, c)
	}
}
