package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/rawjson"
	"github.com/wardroom/wardroom/sdk/audit/trail"
)

// plainDetails are the details that name and hold nothing of a person.
var plainDetails = []string{"action", "agentCount", "agents", "code", "duration", "inputSize", "method", "outcome", "pattern", "reason", "repeated", "version"}

// Redact returns a record without the subject of an erasure, signed by the key of checkpoints, or nil for one that tells
// nothing of it: what the subject did is put down to the pseudonym, without address, program and texts; texts of others about
// what the erasure removed go, and those that name the subject; the subject's name goes wherever else it stands. marked reports
// whether a thing was removed. ErrUnreadable for what is no record.
func (s *Service) Redact(row core.AuditRow, e *core.ErasureRecord, marked func(id string) bool) ([]byte, error) {
	var head struct {
		Action   string `json:"action"`
		Resource struct {
			ID string `json:"id"`
		} `json:"resource"`
	}
	if !json.Valid(row.Record) {
		return nil, core.ErrUnreadable
	}
	named := mayName(row.Record, e.Subject)
	if !named && !bytes.Contains(row.Record, []byte(`"body":`)) {
		return nil, nil
	}
	if err := json.Unmarshal(row.Record, &head); err != nil {
		return nil, fmt.Errorf("%w: %w", core.ErrUnreadable, err)
	}
	switch head.Action {
	case trail.ActionCheckpoint, trail.ActionTrim, trail.ActionLost:
		return nil, nil // it is the trail's own, has no subject, and verification needs it
	}
	removed := marked(head.Resource.ID)
	if !named && !removed {
		return nil, nil
	}
	r, err := trail.Parse(row.Record)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", core.ErrUnreadable, err)
	}
	changed := false
	set := func(field *string, value string) {
		if *field != value {
			*field, changed = value, true
		}
	}
	if r.Actor.ID == e.Subject {
		set(&r.Actor.ID, e.Pseudonym)
		set(&r.Actor.IP, "")
		set(&r.Actor.UserAgent, "")
		changed = keepDetails(r, plainDetails) || changed
	} else if removed || bodyNames(r, e.Subject) {
		changed = dropDetail(r, "body") || changed
	}
	if named {
		set(&r.Resource.ID, replaceText(r.Resource.ID, e.Subject, e.Pseudonym))
		set(&r.Request.Path, replaceInPath(r.Request.Path, e.Subject, e.Pseudonym))
		changed = replaceDetails(r, e.Subject, e.Pseudonym) || changed
	}
	if !changed {
		return nil, nil
	}
	return trail.Redact(nil, r, s.opts.Key, e.ID, s.opts.Clock.Now()), nil
}

// mayName reports whether a record may name a subject, in whatever way the texts in it escape the name.
func mayName(record []byte, subject string) bool {
	return bytes.Contains(record, []byte(rawjson.Verbatim(subject))) || bytes.Contains(record, []byte(`\\u`)) || bytes.IndexByte(record, '%') >= 0
}

// bodyNames reports whether the text of a request names the subject: it may be of what was made for them, such as an execution
// whose metadata says so, and goes as a whole.
func bodyNames(r *core.AuditRecord, subject string) bool {
	raw, ok := rawjson.Field(r.Details, "body")
	var body string
	return ok && json.Unmarshal(raw, &body) == nil && replaceText(body, subject, "") != body
}

// details returns the details of a record as an object; nil for none.
func details(r *core.AuditRecord) map[string]any {
	var all map[string]any
	if len(r.Details) == 0 || rawjson.Decode(r.Details, &all) != nil {
		return nil
	}
	return all
}

// keepDetails leaves only details of those names whose values are no objects or lists.
func keepDetails(r *core.AuditRecord, names []string) (changed bool) {
	all := details(r)
	for name, value := range all {
		switch value.(type) {
		case map[string]any, []any:
		default:
			if slices.Contains(names, name) {
				continue
			}
		}
		delete(all, name)
		changed = true
	}
	if changed {
		r.Details = trail.AppendDetails(nil, all)
	}
	return changed
}

func dropDetail(r *core.AuditRecord, name string) bool {
	if _, ok := rawjson.Field(r.Details, name); !ok {
		return false
	}
	all := details(r)
	delete(all, name)
	r.Details = trail.AppendDetails(nil, all)
	return true
}

// replaceDetails puts a pseudonym in the place of a name in every text of the details, also in the names of members.
func replaceDetails(r *core.AuditRecord, name, pseudonym string) bool {
	all := details(r)
	if all == nil {
		return false
	}
	fresh := trail.AppendDetails(nil, replaceIn(all, name, pseudonym).(map[string]any))
	if bytes.Equal(fresh, r.Details) {
		return false
	}
	r.Details = fresh
	return true
}

func replaceIn(v any, name, pseudonym string) any {
	switch v := v.(type) {
	case string:
		return replaceText(v, name, pseudonym)
	case []any:
		for i := range v {
			v[i] = replaceIn(v[i], name, pseudonym)
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for member, value := range v {
			out[replaceText(member, name, pseudonym)] = replaceIn(value, name, pseudonym)
		}
		return out
	}
	return v
}

// maxEscaped is how deep texts are read that are escaped in texts: JSON in a text of JSON, in a text of JSON.
const maxEscaped = 4

// replaceText is replaceWord for a text that may hold the name escaped, as that of a body which is JSON does: what is escaped
// around the name becomes what it stands for then.
func replaceText(text, name, by string) string {
	for reading, depth := text, 0; ; depth++ {
		if fresh := replaceWord(reading, name, by); fresh != reading {
			text, reading = fresh, fresh
		}
		next := string(rawjson.Unquote([]byte(`"` + reading + `"`)))
		if next == reading {
			if plain, err := url.PathUnescape(reading); err == nil {
				next = plain
			}
		}
		if next == reading || depth == maxEscaped {
			return text
		}
		reading = next
	}
}

// replaceInPath is replaceText for the segments of the path of an address.
func replaceInPath(path, name, by string) string {
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		if fresh := replaceText(segment, name, by); fresh != segment {
			segments[i] = url.PathEscape(fresh)
		}
	}
	return strings.Join(segments, "/")
}

// replaceWord replaces a name where it stands by itself: not within a longer word, so that erasing ann leaves channel as
// it is. Scripts that are written without spaces do not show where words end: what is next to a name that begins or ends in one
// of them, and what is of one of them next to a name, keeps nothing. The prefix of an id is no name: an erasure of agent leaves the ids
// of agents as they are.
func replaceWord(text, name, by string) string {
	if name == "" || !strings.Contains(text, name) {
		return text
	}
	var b strings.Builder
	for rest, before := text, ' '; ; {
		i := strings.Index(rest, name)
		if i < 0 {
			return b.String() + rest
		}
		b.WriteString(rest[:i])
		if i > 0 {
			before, _ = utf8.DecodeLastRuneInString(rest[:i])
		}
		after := ' '
		if end := i + len(name); end < len(rest) {
			after, _ = utf8.DecodeRuneInString(rest[end:])
		}
		first, _ := utf8.DecodeRuneInString(name)
		last, _ := utf8.DecodeLastRuneInString(name)
		if joined(before, first) || joined(last, after) || strings.HasPrefix(rest[i+len(name):], "_") && core.BeginsWithID(rest[i:]) {
			b.WriteString(name)
		} else {
			b.WriteString(by)
		}
		before, _ = utf8.DecodeLastRuneInString(name)
		rest = rest[i+len(name):]
	}
}

// joined reports whether two characters next to each other are of one word, as far as their scripts show it. A mark belongs to
// the letter before it in any script.
func joined(before, after rune) bool {
	if !inWord(before) || !inWord(after) {
		return false
	}
	return unicode.IsMark(after) || !unspaced(before) && !unspaced(after)
}

// unspaced reports whether a character is of a script that is written without spaces between words.
func unspaced(r rune) bool {
	const long, halfLong = '\u30fc', '\uff70' // the sign of a long vowel, which is of no single script
	return r == long || r == halfLong ||
		unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Bopomofo, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsNumber(r) }
