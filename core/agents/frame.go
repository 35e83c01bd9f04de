package agents

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// frame is one decoded frame of an agent. Its slices point into the bytes it was decoded from.
type frame struct {
	kind    protocol.Type
	id      []byte
	payload []byte // raw JSON, or nil
	report  report // of task_result, when fast is set
	fast    bool
}

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
}

// decodeFrame reads the envelope. The error's text is meant for the agent.
func decodeFrame(data []byte) (frame, error) {
	if !utf8.Valid(data) {
		return frame{}, errors.New("the frame is not valid UTF-8")
	}
	if f, ok := scanFrame(data); ok {
		return f, nil
	}
	return parseFrame(data)
}

// parseFrame is the slow path: encoding/json decides and words the error.
func parseFrame(data []byte) (frame, error) {
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
	s := scanner{data: data}
	if !s.accept('{') {
		return frame{}, false
	}
	var seenType, seenID, seenTime, seenPayload bool
	for {
		key, ok := s.plain()
		if !ok || !s.accept(':') {
			return frame{}, false
		}
		switch string(key) {
		case "type":
			raw, ok := s.plain()
			known, isKnown := knownTypes[string(raw)]
			if !ok || !isKnown || seenType {
				return frame{}, false
			}
			f.kind, seenType = known, true
		case "id":
			if f.id, ok = s.plain(); !ok || seenID {
				return frame{}, false
			}
			seenID = true
		case "timestamp":
			if _, ok := s.value(); !ok || seenTime {
				return frame{}, false
			}
			seenTime = true
		case "payload":
			if seenPayload {
				return frame{}, false
			}
			seenPayload = true
			if f.kind == protocol.TypeTaskResult {
				if f.report, ok = scanReport(&s); !ok {
					return frame{}, false
				}
				f.fast = true
			} else if f.payload, ok = s.value(); !ok {
				return frame{}, false
			}
		default:
			return frame{}, false
		}
		if s.accept('}') {
			break
		}
		if !s.accept(',') {
			return frame{}, false
		}
	}
	s.space()
	return f, seenType && s.pos == len(data)
}

// scanReport reads the payload of a task_result.
func scanReport(s *scanner) (r report, ok bool) {
	if !s.accept('{') {
		return report{}, false
	}
	var seen [7]bool
	for {
		key, ok := s.plain()
		if !ok || !s.accept(':') {
			return report{}, false
		}
		field := 0
		switch string(key) {
		case "taskId":
			r.taskID, ok = s.plain()
		case "executionId":
			field = 1
			r.executionID, ok = s.plain()
		case "status":
			field = 2
			r.status, ok = s.plain()
		case "result":
			field = 3
			r.result, ok = s.value()
		case "duration":
			field = 4
			var ms int64
			ms, ok = s.count()
			r.duration = float64(ms)
		case "metadata":
			field = 5
			_, ok = s.value()
		case "attempt":
			field = 6
			var n int64
			n, ok = s.count()
			r.attempt = int(n)
		default:
			return report{}, false
		}
		if !ok || seen[field] {
			return report{}, false
		}
		seen[field] = true
		if s.accept('}') {
			return r, true
		}
		if !s.accept(',') {
			return report{}, false
		}
	}
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

// jsonReason words a decoding error for the agent, without names of Go types.
func jsonReason(err error) string {
	var kind *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &kind):
		if kind.Field == "" {
			return fmt.Sprintf("must not be a JSON %s", kind.Value)
		}
		return fmt.Sprintf("%s: must not be a JSON %s", kind.Field, kind.Value)
	case errors.As(err, &syntax):
		return fmt.Sprintf("not valid JSON at byte %d: %s", syntax.Offset, syntax.Error())
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "not valid JSON: it ends early"
	}
	return "not valid JSON"
}

// detach copies what must outlive the read buffer.
func detach(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return nil
	}
	return bytes.Clone(raw)
}

// scanStatus is the fast path for the status of a heartbeat. It returns false for anything unusual.
func scanStatus(payload []byte) (status string, ok bool) {
	s := scanner{data: payload}
	if !s.accept('{') {
		return "", false
	}
	seen := false
	for {
		key, ok := s.plain()
		if !ok || !s.accept(':') {
			return "", false
		}
		switch {
		case string(key) == "status":
			raw, ok := s.plain()
			if !ok || seen {
				return "", false
			}
			status, seen = string(raw), true
		case bytes.EqualFold(key, []byte("status")):
			return "", false
		default:
			if _, ok := s.value(); !ok {
				return "", false
			}
		}
		if s.accept('}') {
			break
		}
		if !s.accept(',') {
			return "", false
		}
	}
	s.space()
	return status, seen && s.pos == len(s.data)
}
