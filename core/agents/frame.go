package agents

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/wardroom/wardroom/core/internal/rawjson"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
	"github.com/wardroom/wardroom/sdk/wire"
)

// frame is one decoded frame of an agent. Its slices point into the bytes it was decoded from.
type frame struct {
	kind    protocol.Type
	id      []byte
	payload []byte // raw JSON, or nil
	report  report // of task_result, when fast is set; of a report that is refused for its depth, whose it is
	fast    bool
}

// frameLevels are the levels of a frame around the values of its payload: the envelope, and the payload itself.
const frameLevels = 2

// errTooDeep refuses a frame for its depth.
var errTooDeep = fmt.Errorf("payload: is nested too deep: arrays and objects may nest %d deep", rawjson.MaxDepth)

// report is the payload of a task_result.
type report struct {
	taskID      []byte
	executionID []byte
	status      []byte
	result      json.RawMessage // nil when it is missing
	duration    float64         // milliseconds
	attempt     int
}

// knownTypes saves a string for each frame.
var knownTypes = map[string]protocol.Type{
	string(protocol.TypeRegister):     protocol.TypeRegister,
	string(protocol.TypeTaskProgress): protocol.TypeTaskProgress,
	string(protocol.TypeTaskResult):   protocol.TypeTaskResult,
	string(protocol.TypeTaskError):    protocol.TypeTaskError,
	string(protocol.TypeMessage):      protocol.TypeMessage,
	string(protocol.TypeMessageReply): protocol.TypeMessageReply,
	string(protocol.TypeHeartbeat):    protocol.TypeHeartbeat,
	string(protocol.TypeStatusUpdate): protocol.TypeStatusUpdate,
	string(protocol.TypeDisconnect):   protocol.TypeDisconnect,
	string(protocol.TypeThreadEvent):  protocol.TypeThreadEvent,
	string(protocol.TypeThreadStatus): protocol.TypeThreadStatus,
}

// decodeFrame reads the envelope. The error's text is meant for the agent.
func decodeFrame(data []byte) (frame, error) {
	if !utf8.Valid(data) {
		return frame{}, errors.New("the frame is not valid UTF-8")
	}
	if f, ok := scanFrame(data); ok {
		return f, nil
	}
	if rawjson.TooDeep(data, rawjson.MaxDepth+frameLevels) {
		return deepFrame(data), errTooDeep
	}
	return parseFrame(data)
}

// deepFrame reads of a frame that is refused for its depth what it takes to answer it, and of a report whose it is, so
// that its task can end. Nothing of the frame was checked.
func deepFrame(data []byte) frame {
	payload, _ := rawjson.Field(data, "payload")
	attempt, _ := strconv.ParseUint(string(valueOf(payload, "attempt", rawjson.Number)), 10, 31)
	return frame{
		kind: protocol.Type(valueOf(data, "type", rawjson.String)),
		id:   valueOf(data, "id", rawjson.String),
		report: report{
			taskID: valueOf(payload, "taskId", rawjson.String), executionID: valueOf(payload, "executionId", rawjson.String),
			attempt: int(attempt),
		},
	}
}

// valueOf returns the value of a key, if it has that kind; of a string its text.
func valueOf(object []byte, key string, kind rawjson.Kind) []byte {
	value, _ := rawjson.Field(object, key)
	switch {
	case rawjson.KindOf(value) != kind:
		return nil
	case kind == rawjson.String:
		return rawjson.Unquote(value)
	}
	return value
}

// parseFrame is the slow path.
func parseFrame(data []byte) (frame, error) {
	if syntax, ok := errors.AsType[*rawjson.SyntaxError](rawjson.CheckWithin(data, frameLevels)); ok {
		return frame{}, fmt.Errorf("the frame is not an envelope {type, id, timestamp, payload}: not valid JSON at byte %d: %s",
			syntax.Offset, syntax.Reason)
	}
	// The timestamp is for people who read the wire; a frame is not refused for it.
	var envelope struct {
		Type    *string         `json:"type"`
		ID      string          `json:"id"`
		Payload json.RawMessage `json:"payload"`
	}
	if err := json.Unmarshal(data, &envelope); err != nil {
		return frame{}, fmt.Errorf("the frame is not an envelope {type, id, timestamp, payload}: %s", jsonReason(err))
	}
	if envelope.Type == nil || *envelope.Type == "" {
		return frame{id: []byte(envelope.ID)}, errors.New("type: is missing")
	}
	return frame{kind: protocol.Type(*envelope.Type), id: []byte(envelope.ID), payload: envelope.Payload}, nil
}

// scanFrame is the fast path. It returns false for anything unusual.
func scanFrame(data []byte) (f frame, ok bool) {
	s := protocol.NewScanner(data)
	var seen [4]bool // against a key that comes twice: encoding/json has rules for it
	ok = s.Fields(func(key []byte) bool {
		ok, field := false, 0
		switch string(key) {
		case "type":
			var raw []byte
			if raw, ok = s.Plain(); ok {
				f.kind, ok = knownTypes[string(raw)]
			}
		case "id":
			field = 1
			f.id, ok = s.Plain()
		case "timestamp":
			field = 2
			_, ok = s.Value()
		case "payload":
			field = 3
			if f.kind == protocol.TypeTaskResult {
				f.report, ok = scanReport(&s)
				f.fast = true
			} else {
				f.payload, ok = s.Value()
			}
		}
		ok = ok && !seen[field]
		seen[field] = true
		return ok
	})
	return f, ok && seen[0] && s.AtEnd()
}

// scanReport reads the payload of a task_result.
func scanReport(s *protocol.Scanner) (r report, ok bool) {
	var seen [7]bool
	ok = s.Fields(func(key []byte) bool {
		ok, field := false, 0
		switch string(key) {
		case "taskId":
			r.taskID, ok = s.Plain()
		case "executionId":
			field = 1
			r.executionID, ok = s.Plain()
		case "status":
			field = 2
			r.status, ok = s.Plain()
		case "result":
			field = 3
			r.result, ok = s.Value()
		case "duration":
			field = 4
			var ms int64
			ms, ok = s.Whole()
			r.duration = float64(ms)
		case "metadata":
			field = 5
			_, ok = s.Value()
		case "attempt":
			field = 6
			var n int64
			n, ok = s.Whole()
			r.attempt = int(n)
		}
		ok = ok && !seen[field]
		seen[field] = true
		return ok
	})
	return r, ok
}

// result returns the payload of a task_result, whichever path decoded the frame.
func (f *frame) result() (report, error) {
	if f.fast {
		return f.report, nil
	}
	var p struct {
		TaskID      string          `json:"taskId"`
		ExecutionID string          `json:"executionId"`
		Status      string          `json:"status"`
		Result      json.RawMessage `json:"result"`
		Duration    float64         `json:"duration"`
		Attempt     int             `json:"attempt"`
	}
	if err := f.into(&p); err != nil {
		return report{}, err
	}
	return report{
		taskID: []byte(p.TaskID), executionID: []byte(p.ExecutionID), status: []byte(p.Status),
		result: p.Result, duration: p.Duration, attempt: p.Attempt,
	}, nil
}

// into decodes the payload. A missing payload is an empty object.
func (f *frame) into(payload any) error {
	raw := f.payload
	if len(raw) == 0 || string(raw) == "null" {
		raw = []byte("{}")
	}
	if err := json.Unmarshal(raw, payload); err != nil {
		return fmt.Errorf("payload of %s: %s", f.kind, jsonReason(err))
	}
	return nil
}

// jsonReason words for the agent why a value, which is valid JSON, was not taken: never in the words of a library, and
// without names of Go types.
func jsonReason(err error) string {
	var kind *json.UnmarshalTypeError
	var beyond *wire.NumberRangeError
	switch {
	case errors.As(err, &beyond):
		return "metadata: " + beyond.Error()
	case !errors.As(err, &kind):
		return "a value has the wrong form, such as a text that is not a time where one is"
	case kind.Field == "":
		return fmt.Sprintf("must not be a JSON %s", kind.Value)
	}
	return fmt.Sprintf("%s: must not be a JSON %s", kind.Field, kind.Value)
}

// detach copies what must outlive the read buffer.
func detach(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return nil
	}
	return bytes.Clone(raw)
}

// scanStatus is the fast path for a heartbeat, whose status is what counts. It returns false for anything unusual.
func scanStatus(payload []byte) (status string, ok bool) {
	s := protocol.NewScanner(payload)
	var seen [3]bool
	ok = s.Fields(func(key []byte) bool {
		ok, field := false, 0
		switch string(key) {
		case "status":
			var raw []byte
			raw, ok = s.Plain()
			status = string(raw)
		case "activeTasks":
			field = 1
			_, ok = s.Whole()
		case "metrics":
			field = 2
			ok = scanNumbers(&s)
		default:
			for _, name := range []string{"status", "activeTasks", "metrics"} {
				if bytes.EqualFold(key, []byte(name)) {
					return false
				}
			}
			_, ok = s.Value()
			return ok
		}
		ok = ok && !seen[field]
		seen[field] = true
		return ok
	})
	return status, ok && seen[0] && s.AtEnd()
}

// scanNumbers reads an object whose values are numbers.
func scanNumbers(s *protocol.Scanner) bool {
	return s.Fields(func([]byte) bool {
		value, ok := s.Value()
		return ok && (value[0] == '-' || value[0] >= '0' && value[0] <= '9')
	})
}
