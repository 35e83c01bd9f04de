package core

import (
	"context"
	"encoding/json"
	"time"
)

// QuestionStatus is where a question is in its life.
type QuestionStatus string

// States of a question. All but QuestionOpen are terminal.
const (
	QuestionOpen      QuestionStatus = "open"
	QuestionAnswered  QuestionStatus = "answered"
	QuestionExpired   QuestionStatus = "expired"   // nobody answered in time: the execution failed with ESCALATION_FAILED
	QuestionCancelled QuestionStatus = "cancelled" // the execution ended, or the asker needs no answer any more
)

// QuestionStatuses lists every state, in the order of life.
var QuestionStatuses = []QuestionStatus{QuestionOpen, QuestionAnswered, QuestionExpired, QuestionCancelled}

// QuestionKind says what is asked for.
type QuestionKind string

// Kinds of questions.
const (
	QuestionMessage  QuestionKind = "message"  // an agent's message that no role answered
	QuestionApproval QuestionKind = "approval" // a spawned agent asks leave to use a tool
	QuestionDialog   QuestionKind = "question" // a spawned agent asks something in its terminal
	QuestionLogin    QuestionKind = "login"    // a spawned agent needs a login
)

// Question is what an execution asks people. Values are snapshots.
type Question struct {
	ID          string           `json:"id"`
	ExecutionID string           `json:"executionId"`
	Kind        QuestionKind     `json:"kind"`
	Status      QuestionStatus   `json:"status"`
	Step        string           `json:"step,omitempty"` // path of the step whose task asks
	Role        string           `json:"role"`           // that asks
	AgentID     string           `json:"agentId"`
	TaskID      string           `json:"taskId,omitempty"`
	MessageID   string           `json:"messageId,omitempty"`
	MessageType string           `json:"messageType,omitempty"`
	Topic       string           `json:"topic,omitempty"`
	Depth       int              `json:"depth"` // managers who were asked before
	Text        string           `json:"text"`
	Content     json.RawMessage  `json:"content,omitempty"`  // of the message, as it was sent
	Options     []QuestionOption `json:"options,omitempty"`  // if not empty, the answer is the id of one, or text where the asker takes it
	URL         string           `json:"url,omitempty"`      // of a login
	PromptID    string           `json:"promptId,omitempty"` // of a spawned agent's prompt
	Answer      json.RawMessage  `json:"answer,omitempty"`
	AnsweredBy  string           `json:"answeredBy,omitempty"`
	CreatedAt   time.Time        `json:"createdAt"`
	ExpiresAt   time.Time        `json:"expiresAt"`
	ClosedAt    *time.Time       `json:"closedAt,omitempty"` // answered, expired or cancelled
}

// QuestionOption is one answer to choose.
type QuestionOption struct {
	ID    string `json:"id"`
	Label string `json:"label"`
}

// QuestionFilter selects questions of a list. Zero values select all.
type QuestionFilter struct {
	ExecutionID string
	Status      QuestionStatus
	Page
}

// QuestionService lists and answers questions. Methods are safe for concurrent use.
type QuestionService interface {
	// FindQuestions lists questions, newest first. NOT_FOUND for an unknown execution.
	FindQuestions(ctx context.Context, filter QuestionFilter) ([]*Question, PageInfo, error)
	// FindQuestion returns one question. NOT_FOUND.
	FindQuestion(ctx context.Context, id string) (*Question, error)
	// AnswerQuestion gives the answer, any JSON value, and returns the question once that is durable; the
	// execution goes on. executionID, if not empty, must be the question's. NOT_FOUND; CONFLICT when it is not
	// open any more; VALIDATION_ERROR when it takes none but its options.
	AnswerQuestion(ctx context.Context, executionID, id string, answer json.RawMessage) (*Question, error)
}

// QuestionReader reads stored questions.
type QuestionReader interface {
	// FindQuestions lists questions, newest first.
	FindQuestions(ctx context.Context, filter QuestionFilter) ([]*Question, PageInfo, error)
	// FindQuestion returns one question. NOT_FOUND.
	FindQuestion(ctx context.Context, id string) (*Question, error)
}
