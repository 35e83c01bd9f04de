package agents

import (
	"cmp"
	"encoding/json"
	"strconv"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
	"github.com/wardroom/wardroom/sdk/wire"
)

// The frames of the hot path are built by appending: a task, its acknowledgement and a heartbeat answer
// cost no allocation. The tests compare them with encoding/json over the protocol package's types.

// appendHead appends the envelope up to the payload's value; protocol.AppendTail ends it.
func appendHead(b []byte, kind protocol.Type, id string, now time.Time) []byte {
	return protocol.AppendHead(b, kind, id, now, wire.TimeLayout)
}

// appendTask appends a task frame. Its envelope id is the task's id.
func appendTask(b []byte, t *core.Task, now time.Time) []byte {
	b = appendHead(b, protocol.TypeTask, t.ID, now)
	b = append(b, `{"taskId":`...)
	b = protocol.AppendString(b, t.ID)
	b = append(b, `,"executionId":`...)
	b = protocol.AppendString(b, t.ExecutionID)
	b = append(b, `,"patternName":`...)
	b = protocol.AppendString(b, t.PatternName)
	b = append(b, `,"patternVersion":`...)
	b = protocol.AppendString(b, t.PatternVersion)
	b = appendOptional(b, `,"capability":`, t.Capability)
	b = appendOptional(b, `,"role":`, t.Role)
	b = appendOptional(b, `,"step":`, t.Step)
	b = append(b, `,"input":`...)
	if len(t.Input) > 0 {
		b = append(b, t.Input...)
	} else {
		b = append(b, "null"...)
	}
	if len(t.Config) > 0 {
		b = append(b, `,"config":`...)
		b = append(b, t.Config...)
	}
	b = append(b, `,"timeout":`...)
	b = strconv.AppendInt(b, t.Timeout.Milliseconds(), 10)
	priority := cmp.Or(t.Priority, core.PriorityNormal)
	b = append(b, `,"priority":`...)
	b = protocol.AppendString(b, string(priority))
	b = append(b, `,"context":`...)
	if len(t.Context) > 0 {
		b = append(b, t.Context...)
	} else {
		b = append(b, "{}"...)
	}
	b = append(b, `,"attempt":`...)
	b = strconv.AppendInt(b, int64(t.Attempt), 10)
	b = appendOptional(b, `,"traceparent":`, t.Trace.String())
	return protocol.AppendTail(append(b, '}'))
}

// appendAck appends a task_ack that answers the report with that envelope id.
func appendAck(b []byte, id, taskID string, now time.Time) []byte {
	b = appendHead(b, protocol.TypeTaskAck, id, now)
	b = append(b, `{"taskId":`...)
	b = protocol.AppendString(b, taskID)
	return protocol.AppendTail(append(b, '}'))
}

// appendHeartbeatAck appends a heartbeat_ack.
func appendHeartbeatAck(b []byte, id string, now time.Time, next time.Duration) []byte {
	b = appendHead(b, protocol.TypeHeartbeatAck, id, now)
	b = append(b, `{"serverTime":"`...)
	b = now.UTC().AppendFormat(b, wire.TimeLayout)
	b = append(b, `","nextHeartbeat":`...)
	b = strconv.AppendInt(b, next.Milliseconds(), 10)
	return protocol.AppendTail(append(b, '}'))
}

// appendThreadAck appends a thread_ack.
func appendThreadAck(b []byte, threadID string, sequence uint64, now time.Time) []byte {
	b = appendHead(b, protocol.TypeThreadAck, "", now)
	b = append(b, `{"threadId":`...)
	b = protocol.AppendString(b, threadID)
	b = append(b, `,"sequence":`...)
	b = strconv.AppendUint(b, sequence, 10)
	return protocol.AppendTail(append(b, '}'))
}

// appendOrder appends the frame of an order to a host.
func appendOrder(o *order, now time.Time) []byte {
	b := appendHead(make([]byte, 0, len(o.payload)+256), o.kind, o.id, now)
	return protocol.AppendTail(append(b, o.payload...))
}

// appendCancelled appends a task_cancelled.
func appendCancelled(b []byte, c cancelled, now time.Time) []byte {
	b = appendHead(b, protocol.TypeTaskCancelled, "", now)
	b = append(b, `{"taskId":`...)
	b = protocol.AppendString(b, c.taskID)
	b = append(b, `,"executionId":`...)
	b = protocol.AppendString(b, c.executionID)
	b = append(b, `,"reason":`...)
	b = protocol.AppendString(b, c.reason)
	return protocol.AppendTail(append(b, '}'))
}

// appendMessage appends a message frame. Its envelope id is the message's id. The content goes out as it came in:
// encoding/json would make up to six bytes of one.
func appendMessage(b []byte, m *core.AgentMessage, now time.Time) []byte {
	b = appendHead(b, protocol.TypeMessage, m.MessageID, now)
	b = append(b, `{"messageId":`...)
	b = protocol.AppendString(b, m.MessageID)
	b = append(b, `,"executionId":`...)
	b = protocol.AppendString(b, m.ExecutionID)
	b = append(b, `,"taskId":`...)
	b = protocol.AppendString(b, m.TaskID)
	b = append(b, `,"from":`...)
	b = protocol.AppendString(b, m.From)
	b = append(b, `,"messageType":`...)
	b = protocol.AppendString(b, m.MessageType)
	b = appendOptional(b, `,"topic":`, m.Topic)
	b = appendContent(b, m.Content)
	b = append(b, `,"wantsReply":`...)
	b = strconv.AppendBool(b, m.WantsReply)
	return protocol.AppendTail(append(b, '}'))
}

// appendReply appends a message_reply to the agent that asked. Its envelope id is that of the agent's message.
func appendReply(b []byte, r *core.AgentReply, now time.Time) []byte {
	b = appendHead(b, protocol.TypeMessageReply, r.AskID, now)
	b = append(b, `{"messageId":`...)
	b = protocol.AppendString(b, r.MessageID)
	b = append(b, `,"taskId":`...)
	b = protocol.AppendString(b, r.TaskID)
	b = append(b, `,"from":`...)
	b = protocol.AppendString(b, r.From)
	b = appendContent(b, r.Content)
	return protocol.AppendTail(append(b, '}'))
}

func appendContent(b []byte, content json.RawMessage) []byte {
	b = append(b, `,"content":`...)
	if len(content) == 0 {
		return append(b, "null"...)
	}
	return append(b, content...)
}

// appendFrame appends any other frame by encoding/json. payload is one of the protocol's structs of plain
// fields, which always encode.
func appendFrame(b []byte, kind protocol.Type, id string, now time.Time, payload any) []byte {
	b = appendHead(b, kind, id, now)
	raw, err := json.Marshal(payload)
	if err != nil {
		raw = []byte("null")
	}
	return protocol.AppendTail(append(b, raw...))
}

// appendProgress renders {text} or {data} for the engine.
func appendProgress(p protocol.TaskProgress) json.RawMessage {
	if p.Data != nil {
		b := append(make([]byte, 0, len(p.Data)+9), `{"data":`...)
		return append(append(b, p.Data...), '}')
	}
	b := append(make([]byte, 0, len(p.Text)+11), `{"text":`...)
	return append(protocol.AppendString(b, p.Text), '}')
}

func appendOptional(b []byte, key, value string) []byte {
	if value == "" {
		return b
	}
	return protocol.AppendString(append(b, key...), value)
}
