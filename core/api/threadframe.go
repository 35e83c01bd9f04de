package api

import (
	"strconv"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/rawjson"
)

// threadFrame says how streams show a type of event: as a gateway event of a kind, and, of those that travel as a
// status, under which.
type threadFrame struct{ kind, status string }

var threadFrames = map[core.EventType]threadFrame{
	core.EventThreadOutput:         {kind: "output"},
	core.EventThreadBlocked:        {kind: "blocked"},
	core.EventThreadStarted:        {kind: "started"},
	core.EventThreadCompleted:      {kind: "completed"},
	core.EventThreadFailed:         {kind: "failed"},
	core.EventThreadTurnComplete:   {kind: "turn_complete"},
	core.EventThreadToolRunning:    {kind: "tool_running"},
	core.EventThreadStatus:         {kind: "status"},
	core.EventThreadReady:          {kind: "status", status: "ready"},
	core.EventThreadIdle:           {kind: "status", status: "idle"},
	core.EventThreadStopped:        {kind: "status", status: "stopped"},
	core.EventThreadSummaryUpdated: {kind: "status", status: "summary_updated"},
}

// encodeThreadFrame renders an event of a thread as a gateway event, or nil when streams do not show it. The fields
// event and data stand next to each other, as the interface has them.
func encodeThreadFrame(executionID string, ev core.Event) []byte {
	shown, ok := threadFrames[ev.Type]
	if !ok {
		return nil
	}
	at := timestamp(ev.Time)
	b := make([]byte, 0, 384+len(ev.Data)+len(ev.Data)/4)
	if ev.Seq > 0 {
		b = append(b, "id: "...)
		b = strconv.AppendUint(b, ev.Seq, 10)
		b = append(b, '\n')
	}
	b = append(b, "event: thread_"...)
	b = append(b, shown.kind...)
	b = append(b, "\ndata: {\"executionId\":"...)
	b = rawjson.AppendString(b, executionID)
	b = append(b, `,"threadId":`...)
	b = rawjson.AppendString(b, ev.Subject)
	b = append(b, `,"type":"gateway_thread_`...)
	b = append(b, shown.kind...)
	b = append(b, `","data":{"thread_id":`...)
	b = rawjson.AppendString(b, ev.Subject)
	b = append(b, `,"event_type":"`...)
	b = append(b, shown.kind...)
	b = append(b, `","data_json":`...)
	b = rawjson.AppendString(b, rawjson.Plain(statusData(rawOr(ev.Data, "{}"), shown.status)))
	b = append(b, `,"timestamp_ms":`...)
	b = strconv.AppendInt(b, ev.Time.UnixMilli(), 10)
	b = append(b, `,"sequence":`...)
	b = strconv.AppendUint(b, ev.Seq, 10)
	b = append(b, `},"timestamp":`...)
	b = at.append(b)
	return append(b, "}\n\n"...)
}

// statusData puts a status before the members of an object.
func statusData(data []byte, status string) []byte {
	if status == "" {
		return data
	}
	b := append(make([]byte, 0, len(data)+len(status)+16), `{"status":"`...)
	b = append(append(b, status...), '"')
	for it := rawjson.Walk(data); it.Next() && it.Key != nil; {
		if rawjson.KeyIs(it.Key, "status") {
			continue
		}
		b = append(b, ',')
		b = append(b, it.Key...)
		b = append(b, ':')
		b = append(b, it.Value...)
	}
	return append(b, '}')
}

// connectedFrame is the first of a thread stream. Its id makes a reader that leaves before the first event miss nothing.
func connectedFrame(executionID string, threadIDs []string, at uint64, requestID string) []byte {
	b := append([]byte(nil), `event: connected`+"\n"+`data: {"executionId":`...)
	b = rawjson.AppendString(b, executionID)
	b = append(b, `,"threadIds":[`...)
	for i, id := range threadIDs {
		if i > 0 {
			b = append(b, ',')
		}
		b = rawjson.AppendString(b, id)
	}
	b = append(b, "]}\nid: "...)
	b = strconv.AppendUint(b, at, 10)
	b = append(b, '\n')
	return append(appendRetry(b, requestID), '\n')
}

// streamGap describes events that a reader cannot get any more: those behind from, up to to.
type streamGap struct {
	from, to uint64
	reason   string
	topics   []string // that it is about; none: all
}

func (g *streamGap) frame() []byte {
	b := append([]byte(nil), "id: "...)
	b = strconv.AppendUint(b, g.to, 10)
	b = append(b, "\nevent: gap\ndata: {\"from\":"...)
	b = strconv.AppendUint(b, g.from, 10)
	b = append(b, `,"to":`...)
	b = strconv.AppendUint(b, g.to, 10)
	b = append(b, `,"reason":`...)
	b = rawjson.AppendString(b, g.reason)
	for i, topic := range g.topics {
		b = append(b, []string{`,"topics":[`, ","}[min(i, 1)]...)
		b = rawjson.AppendString(b, topic)
	}
	if len(g.topics) > 0 {
		b = append(b, ']')
	}
	return append(b, "}\n\n"...)
}
