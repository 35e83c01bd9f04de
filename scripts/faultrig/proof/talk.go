package proof

// Types of journal events of messages between roles, and of questions to people.
const (
	eventSent     = "message.sent"
	eventReplied  = "message.replied"
	eventClosed   = "message.closed"
	eventAsked    = "question.asked"
	eventAnswered = "question.answered"
)

// chartFrames names the events that streams show of org charts only.
var chartFrames = map[string]string{
	"step.started": "step_started", "role.bound": "role_bound", "role.released": "role_released",
	eventSent: "message_sent", "message.escalated": "message_escalated", eventReplied: "message_replied",
	eventClosed: "message_closed", eventAsked: "question_asked", eventAnswered: "question_answered",
	"question.expired": "question_expired",
}

// talkData is the union of the data of those events.
type talkData struct {
	MessageID  string `json:"messageId"`
	QuestionID string `json:"questionId"`
	WantsReply bool   `json:"wantsReply"`
	Question   struct {
		ID string `json:"id"`
	} `json:"question"`
}

// talk holds the messages of the roles of one execution so far.
type talk struct {
	waiting   map[string]bool // whether it waits for a reply, by message
	questions map[string]bool // whether it is open, by question
}

// said folds one event: a message is sent once and replied to once at most, and so is a question.
func (p *prover) said(id string, ev Event, d talkData, t *talk) {
	switch ev.Type {
	case eventSent:
		if _, known := t.waiting[d.MessageID]; known {
			p.report(RuleRepeated, id, "event %d: message %s is sent twice", ev.Sequence, d.MessageID)
		}
		t.waiting[d.MessageID] = d.WantsReply
	case eventReplied:
		if !t.waiting[d.MessageID] {
			p.report(RuleRepeated, id, "event %d: a reply to message %s, which waits for none", ev.Sequence, d.MessageID)
		}
		t.waiting[d.MessageID] = false
	case eventClosed:
		t.waiting[d.MessageID] = false
	case eventAsked:
		if _, known := t.questions[d.Question.ID]; known {
			p.report(RuleRepeated, id, "event %d: question %s is asked twice", ev.Sequence, d.Question.ID)
		}
		t.questions[d.Question.ID] = true
	case eventAnswered:
		if !t.questions[d.QuestionID] {
			p.report(RuleRepeated, id, "event %d: an answer to question %s, which is not open", ev.Sequence, d.QuestionID)
		}
		t.questions[d.QuestionID] = false
	}
}

// silent checks that no message waits for a reply any more once an execution has completed.
func (p *prover) silent(id string, t *talk) {
	for message, waits := range t.waiting {
		if waits {
			p.report(RuleLost, id, "completed, and message %s has no reply", message)
		}
	}
}
