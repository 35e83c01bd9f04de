package engine

import (
	"encoding/json"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// sentData is the data of message.sent. To and ToAgentID are empty while no role was found to ask; what follows
// then is message.escalated or question.asked, or the end of the execution.
type sentData struct {
	MessageID   string                `json:"messageId"`
	AskID       string                `json:"askId"`
	TaskID      string                `json:"taskId"`
	Step        string                `json:"step"`
	Role        string                `json:"role"` // of the asker
	AgentID     string                `json:"agentId"`
	Kind        core.QuestionKind     `json:"kind"`
	MessageType string                `json:"messageType"`
	Topic       string                `json:"topic,omitempty"`
	Content     json.RawMessage       `json:"content"`
	Options     []core.QuestionOption `json:"options,omitempty"`
	URL         string                `json:"url,omitempty"`
	Wish        string                `json:"wish,omitempty"` // role that the asker named
	To          string                `json:"to,omitempty"`   // role that is asked
	ToAgentID   string                `json:"toAgentId,omitempty"`
	Depth       int                   `json:"depth"`
	Reason      string                `json:"reason"`
	WantsReply  bool                  `json:"wantsReply"`
}

// escalatedData is the data of message.escalated. Depth stays when another agent of the same role is asked.
type escalatedData struct {
	MessageID string `json:"messageId"`
	To        string `json:"to,omitempty"`
	ToAgentID string `json:"toAgentId,omitempty"`
	Depth     int    `json:"depth"`
	Reason    string `json:"reason"`
}

// repliedData is the data of message.replied: the answer as the asker gets it.
type repliedData struct {
	MessageID string          `json:"messageId"`
	From      string          `json:"from"` // role, or user
	AgentID   string          `json:"agentId,omitempty"`
	Content   json.RawMessage `json:"content"`
	// QuestionID is a question to people that is cancelled, because a role answered after all.
	QuestionID string `json:"questionId,omitempty"`
}

// usedData is the data of message.used: what the turn used in which an agent got a message.
type usedData struct {
	MessageID string      `json:"messageId"`
	AgentID   string      `json:"agentId"`
	Usage     *wire.Usage `json:"usage"`
}

// messageClosedData is the data of message.closed: the asker withdrew the message, or is gone, or its task is over.
// A question of it is cancelled with it.
type messageClosedData struct {
	MessageID  string `json:"messageId"`
	QuestionID string `json:"questionId,omitempty"`
	Reason     string `json:"reason"`
}

// askedData is the data of question.asked.
type askedData struct {
	Question core.Question `json:"question"`
}

// answeredData is the data of question.answered.
type answeredData struct {
	QuestionID string          `json:"questionId"`
	MessageID  string          `json:"messageId"`
	Answer     json.RawMessage `json:"answer"`
	By         string          `json:"by"`
}

// expiredData is the data of question.expired.
type expiredData struct {
	QuestionID string `json:"questionId"`
}
