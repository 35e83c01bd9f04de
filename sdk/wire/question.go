package wire

import (
	"encoding/json"
	"time"
)

// QuestionStatus is where a question is in its life.
type QuestionStatus string

// States of a question. All but QuestionOpen are terminal.
const (
	QuestionOpen      QuestionStatus = "open"
	QuestionAnswered  QuestionStatus = "answered"
	QuestionExpired   QuestionStatus = "expired"   // it was not answered in time: the execution failed with ESCALATION_FAILED
	QuestionCancelled QuestionStatus = "cancelled" // the execution ended, or the asker needs no answer any more
)

// QuestionKind says what is asked for.
type QuestionKind string

// Kinds of questions.
const (
	QuestionMessage  QuestionKind = "message"  // an agent's message that no role answered
	QuestionApproval QuestionKind = "approval" // a spawned agent asks leave to use a tool
	QuestionDialog   QuestionKind = "question" // a spawned agent asks something in its terminal
	QuestionLogin    QuestionKind = "login"    // a spawned agent needs a login, at URL
)

// Question is a question of an execution to people.
type Question struct {
	ID          string           `json:"id"`
	ExecutionID string           `json:"executionId"`
	Kind        QuestionKind     `json:"kind" enum:"message,approval,question,login" doc:"message: of an agent, that no role answered; the others are prompts of a spawned agent."`
	Status      QuestionStatus   `json:"status" enum:"open,answered,expired,cancelled" doc:"cancelled: the execution ended, or the asker needs no answer any more."`
	Step        string           `json:"step,omitempty" doc:"Path of the step that asks." example:"2.0"`
	Role        string           `json:"role" doc:"That asks."`
	AgentID     string           `json:"agentId"`
	TaskID      string           `json:"taskId,omitempty"`
	MessageID   string           `json:"messageId,omitempty"`
	MessageType string           `json:"messageType,omitempty"`
	Topic       string           `json:"topic,omitempty"`
	Depth       int              `json:"depth" doc:"Managers who were asked before."`
	Text        string           `json:"text"`
	Content     json.RawMessage  `json:"content,omitempty" check:"nullable" doc:"Of the message, as it was sent."`
	Options     []QuestionOption `json:"options,omitempty" doc:"Answers to choose from, by id."`
	URL         string           `json:"url,omitempty" doc:"Where to log in."`
	PromptID    string           `json:"promptId,omitempty" doc:"Of a spawned agent's prompt."`
	Answer      json.RawMessage  `json:"answer,omitempty" check:"nullable"`
	AnsweredBy  string           `json:"answeredBy,omitempty"`
	CreatedBy   string           `json:"createdBy,omitempty" doc:"Whose execution asks."`
	Sanitized   []SanitizedField `json:"sanitized,omitempty" doc:"In the answer to an answer: texts of it that something was taken out of (security.inputValidation.sanitize)."`
	CreatedAt   time.Time        `json:"createdAt"`
	ExpiresAt   time.Time        `json:"expiresAt" doc:"The execution fails then with ESCALATION_FAILED."`
	ClosedAt    *time.Time       `json:"closedAt,omitempty" doc:"When it was answered, expired or cancelled."`
}

// QuestionOption is one answer to choose.
type QuestionOption struct {
	ID    string `json:"id"`
	Label string `json:"label"`
}
