package api

import (
	"encoding/json"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/rawjson"
)

// chartFrame says how streams show an event of an org chart: under which name, and what of its data, in which
// order. What is not listed stays inside.
type chartFrame struct {
	name   string
	fields []chartField
}

// chartField is a member of an event's data, by its name in the journal and in the stream.
type chartField struct{ from, to string }

func sameNames(names ...string) []chartField {
	fields := make([]chartField, len(names))
	for i, name := range names {
		fields[i] = chartField{name, name}
	}
	return fields
}

var chartFrames = map[core.EventType]chartFrame{
	core.EventStepStarted: {"step_started", sameNames("step", "type", "name", "role", "round", "branch")},
	core.EventRoleBound: {"role_bound",
		sameNames("role", "instance", "agentId", "agentName", "agentType", "managed")},
	core.EventRoleReleased: {"role_released", sameNames("role", "agentId", "reason")},
	core.EventMessageSent: {"message_sent", sameNames("messageId", "taskId", "step", "role", "agentId", "kind",
		"messageType", "topic", "to", "toAgentId", "depth", "reason", "wantsReply", "content")},
	core.EventMessageEscalated: {"message_escalated", sameNames("messageId", "to", "toAgentId", "depth", "reason")},
	core.EventMessageReplied: {"message_replied",
		sameNames("messageId", "from", "agentId", "content", "questionId")},
	core.EventMessageClosed: {"message_closed", sameNames("messageId", "questionId", "reason")},
	core.EventQuestionAnswered: {"question_answered", []chartField{
		{"questionId", "questionId"}, {"messageId", "messageId"}, {"answer", "answer"}, {"by", "answeredBy"},
	}},
	core.EventQuestionExpired: {"question_expired", sameNames("questionId")},
}

// stepEndFields are what step_completed has of a step of an org chart beyond that of a flat pattern.
var stepEndFields = []chartField{{"kind", "type"}, {"round", "round"}, {"branch", "branch"}}

// encodeChartFrame renders an event of an org chart, or nil when streams do not show it.
func encodeChartFrame(ev core.Event) []byte {
	if ev.Type == core.EventQuestionAsked {
		return encodeQuestionFrame(ev)
	}
	shown, ok := chartFrames[ev.Type]
	if !ok {
		return nil
	}
	b := append(make([]byte, 0, 96+len(ev.Data)), `{"executionId":`...)
	b = appendFields(rawjson.AppendString(b, ev.Subject), ev.Data, shown.fields)
	return frameOf(shown.name, ev.Seq, append(b, '}'))
}

// appendFields appends the listed members that an object has, each with a comma before it.
func appendFields(b []byte, data json.RawMessage, fields []chartField) []byte {
	var have map[string]json.RawMessage
	if json.Unmarshal(data, &have) != nil {
		return b // shown with what is known; its text stays in the journal
	}
	for _, f := range fields {
		if value, ok := have[f.from]; ok {
			b = append(b, ',')
			b = rawjson.AppendString(b, f.to)
			b = append(b, ':')
			b = append(b, value...)
		}
	}
	return b
}

// encodeQuestionFrame shows a question as reading it does.
func encodeQuestionFrame(ev core.Event) []byte {
	var d struct {
		Question *core.Question `json:"question"`
	}
	if json.Unmarshal(ev.Data, &d) != nil || d.Question == nil {
		return nil
	}
	return frameOf("question_asked", ev.Seq, appendValue(nil, d.Question))
}
