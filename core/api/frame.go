package api

import (
	"bytes"
	"encoding/json"
	"strconv"
	"sync/atomic"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/rawjson"
)

// eventData holds the fields of the journal's events that streams show.
type eventData struct {
	TaskID     string          `json:"taskId"`
	AgentID    string          `json:"agentId"`
	AgentName  string          `json:"agentName"`
	Step       string          `json:"step"`
	Result     json.RawMessage `json:"result"`
	Confidence json.RawMessage `json:"confidence"`
	Error      json.RawMessage `json:"error"`
	Reason     string          `json:"reason"`
	Duration   json.Number     `json:"duration"`
	Kind       string          `json:"kind"` // of a step of an org chart
	Partial    bool            `json:"partial"`
}

// encodeFrame renders an event as the bytes of an SSE frame, or nil when streams do not show it. An event
// without a place in the journal gets no id, so that a reader never resumes from it.
func encodeFrame(ev core.Event) []byte {
	var d eventData
	if err := json.Unmarshal(ev.Data, &d); err != nil && len(ev.Data) > 0 {
		d = eventData{} // shown with what is known; its text stays in the journal
	}
	var name string
	b := make([]byte, 0, 128+len(ev.Data))
	switch ev.Type {
	case core.EventExecutionStarted:
		name, b = "started", appendStatus(b, ev.Subject, core.ExecutionRunning)
	case core.EventTaskCompleted:
		name = "agent_result"
		b = append(b, `{"agentId":`...)
		b = rawjson.AppendString(b, d.AgentID)
		if d.Step != "" {
			b = append(b, `,"step":`...)
			b = rawjson.AppendString(b, d.Step)
		}
		b = appendRaw(b, "result", rawjson.AsObject(d.Result))
	case core.EventStepCompleted:
		if d.Step == "" {
			return nil // the only step: completed tells the same
		}
		name = "step_completed"
		b = append(b, `{"step":`...)
		b = rawjson.AppendString(b, d.Step)
		b = appendRaw(b, "result", d.Result)
		b = appendRaw(b, "confidence", d.Confidence)
		if d.Kind != "" { // of an org chart
			b = appendFields(b, ev.Data, stepEndFields)
		}
	case core.EventTaskProgress:
		if !json.Valid(ev.Data) { // passed on as it is, unlike the rest
			return nil
		}
		return frameOf("agent_progress", 0, ev.Data)
	case core.EventExecutionCompleted:
		name, b = "completed", appendStatus(b, ev.Subject, core.ExecutionCompleted)
		b = appendRaw(b, "result", rawjson.AsObject(d.Result))
		if d.Partial {
			b = append(b, `,"partial":true`...)
		}
	case core.EventExecutionFailed:
		name, b = "failed", appendStatus(b, ev.Subject, core.ExecutionFailed)
		b = appendRaw(b, "error", d.Error)
	case core.EventExecutionCancelled:
		name, b = "cancelled", appendStatus(b, ev.Subject, core.ExecutionCancelled)
		b = append(b, `,"reason":`...)
		b = rawjson.AppendString(b, d.Reason)
	default:
		return encodeChartFrame(ev)
	}
	if d.Duration != "" && name != "started" && name != "step_completed" {
		b = append(b, `,"duration":`...)
		b = append(b, d.Duration...)
	}
	return frameOf(name, ev.Seq, append(b, '}'))
}

func appendStatus(b []byte, id string, status core.ExecutionStatus) []byte {
	b = append(b, `{"executionId":`...)
	b = rawjson.AppendString(b, id)
	b = append(b, `,"status":`...)
	return rawjson.AppendString(b, string(status))
}

func appendRaw(b []byte, key string, raw json.RawMessage) []byte {
	b = append(b, `,"`...)
	b = append(b, key...)
	b = append(b, `":`...)
	return append(b, rawOr(raw, "null")...)
}

// frameOf wraps a JSON object in an SSE frame. White space is taken out of data that spans lines, since a
// line end inside data would end the field.
func frameOf(name string, seq uint64, data []byte) []byte {
	if bytes.ContainsAny(data, "\r\n") {
		var compact bytes.Buffer
		if json.Compact(&compact, data) != nil {
			return nil
		}
		data = compact.Bytes()
	}
	data = rawjson.Plain(data)
	b := make([]byte, 0, len(data)+len(name)+48)
	b = append(b, "event: "...)
	b = append(b, name...)
	if seq > 0 {
		b = append(b, "\nid: "...)
		b = strconv.AppendUint(b, seq, 10)
	}
	b = append(b, "\ndata: "...)
	b = append(b, data...)
	return append(b, "\n\n"...)
}

// frameCache keeps the frames of the newest events of one kind of stream, so that an event with a thousand readers is
// encoded once. It is a ring by sequence, which is unique over all subjects; a collision only costs an encoding.
// The zero value is ready; it is safe for concurrent use.
type frameCache struct {
	ring [frameRing]atomic.Pointer[cachedFrame]
}

// The cache holds at most frameRing frames of maxCachedFrame bytes: 16 MiB.
const (
	frameRing      = 1024
	maxCachedFrame = 16 << 10
)

type cachedFrame struct {
	seq   uint64
	bytes []byte // nil: streams do not show the event
}

// frame returns the frame of an event, by encode when it is not there yet. The bytes are shared: nobody may change
// them. encode must give the same frame to every reader.
func (f *frameCache) frame(ev core.Event, encode func(core.Event) []byte) []byte {
	if ev.Seq == 0 {
		return encode(ev)
	}
	slot := &f.ring[ev.Seq%frameRing]
	if have := slot.Load(); have != nil && have.seq == ev.Seq {
		return have.bytes
	}
	b := encode(ev)
	if len(b) <= maxCachedFrame {
		slot.Store(&cachedFrame{ev.Seq, b})
	}
	return b
}

// executionFrame returns the frame that streams of executions show of an event.
func (s *Server) executionFrame(ev core.Event) []byte { return s.frames.frame(ev, encodeFrame) }
