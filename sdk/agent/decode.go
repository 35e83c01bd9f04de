package agent

import (
	"bytes"
	"encoding/json"

	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// decoder decodes frames. Tasks and acknowledgements, which are nearly all of them, take a path of one pass and
// few allocations; encoding/json decides on everything else, and both agree on every frame. Not safe for
// concurrent use.
type decoder struct {
	seen [6]string // the last values of fields that hardly change from task to task
}

// Fields with an entry in decoder.seen.
const (
	seenPattern = iota
	seenVersion
	seenCapability
	seenRole
	seenStep
	seenPriority
)

// decode decodes one frame into f. Nothing of data is kept.
func (d *decoder) decode(data []byte, f *frame) error {
	if d.scan(data, f) {
		return nil
	}
	*f = frame{}
	return json.Unmarshal(data, f)
}

// scan decodes a task or an acknowledgement in its usual form, and returns false for anything else.
func (d *decoder) scan(data []byte, f *frame) bool {
	*f = frame{}
	s := protocol.NewScanner(data)
	var given [4]bool // against a key that comes twice: encoding/json has rules for it
	return s.Fields(func(key []byte) bool {
		var text []byte
		ok, field := false, 0
		switch string(key) {
		case "type":
			text, ok = s.Plain()
			switch string(text) {
			case string(protocol.TypeTask):
				f.Type = protocol.TypeTask
			case string(protocol.TypeTaskAck):
				f.Type = protocol.TypeTaskAck
			default:
				return false
			}
		case "id":
			field = 1
			text, ok = s.Plain()
			f.ID = string(text)
		case "timestamp":
			field = 2
			_, ok = s.Value()
		case "payload":
			field = 3
			ok = d.payload(&s, &f.Payload)
		}
		ok = ok && !given[field]
		given[field] = true
		return ok
	}) && given[0] && s.AtEnd()
}

// payload decodes the payload of a task, of which that of an acknowledgement is a part.
func (d *decoder) payload(s *protocol.Scanner, p *payload) bool {
	var given [14]bool
	return s.Fields(func(key []byte) bool {
		ok, field := false, 0
		switch string(key) {
		case "taskId":
			field, ok = 0, fresh(s, &p.TaskID)
		case "executionId":
			field, ok = 1, fresh(s, &p.ExecutionID)
		case "patternName":
			field, ok = 2, d.known(s, seenPattern, &p.PatternName)
		case "patternVersion":
			field, ok = 3, d.known(s, seenVersion, &p.PatternVersion)
		case "capability":
			field, ok = 4, d.known(s, seenCapability, &p.Capability)
		case "role":
			field, ok = 5, d.known(s, seenRole, &p.Role)
		case "step":
			field, ok = 6, d.known(s, seenStep, &p.Step)
		case "priority":
			field, ok = 7, d.known(s, seenPriority, &p.Priority)
		case "input":
			field, ok = 8, cloned(s, &p.Input)
		case "config":
			field, ok = 9, cloned(s, &p.Config)
		case "context":
			field, ok = 10, cloned(s, &p.Context)
		case "timeout":
			field = 11
			p.Timeout, ok = s.Whole()
		case "attempt":
			field = 12
			var n int64
			n, ok = s.Whole()
			p.Attempt = int(n)
		case "traceparent":
			field, ok = 13, fresh(s, &p.Traceparent)
		}
		ok = ok && !given[field]
		given[field] = true
		return ok
	})
}

// fresh reads a string.
func fresh(s *protocol.Scanner, to *string) bool {
	text, ok := s.Plain()
	*to = string(text)
	return ok
}

// known reads a string that is most likely the same as in the task before.
func (d *decoder) known(s *protocol.Scanner, field int, to *string) bool {
	text, ok := s.Plain()
	if string(text) != d.seen[field] {
		d.seen[field] = string(text)
	}
	*to = d.seen[field]
	return ok
}

// cloned reads any value but null, which encoding/json has rules for.
func cloned(s *protocol.Scanner, to *json.RawMessage) bool {
	raw, ok := s.Value()
	if !ok || raw[0] == 'n' {
		return false
	}
	*to = bytes.Clone(raw)
	return true
}
