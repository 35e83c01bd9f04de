package core

import (
	"context"
	"encoding/json"

	"github.com/wardroom/wardroom/sdk/wire"
)

// PrefixQuestion begins the ids of questions.
const PrefixQuestion = "q_"

// What is public of questions. Values are snapshots.
type (
	Question       = wire.Question
	QuestionStatus = wire.QuestionStatus
	QuestionKind   = wire.QuestionKind
	QuestionOption = wire.QuestionOption
)

// States and kinds of questions.
const (
	QuestionOpen      = wire.QuestionOpen
	QuestionAnswered  = wire.QuestionAnswered
	QuestionExpired   = wire.QuestionExpired
	QuestionCancelled = wire.QuestionCancelled

	QuestionMessage  = wire.QuestionMessage
	QuestionApproval = wire.QuestionApproval
	QuestionDialog   = wire.QuestionDialog
	QuestionLogin    = wire.QuestionLogin
)

// QuestionStatuses lists every state, in the order of life.
var QuestionStatuses = []QuestionStatus{QuestionOpen, QuestionAnswered, QuestionExpired, QuestionCancelled}

// QuestionFilter selects questions of a list. Zero values select all.
type QuestionFilter struct {
	ExecutionID string
	Status      QuestionStatus
	CreatedBy   string // whose execution asks
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
