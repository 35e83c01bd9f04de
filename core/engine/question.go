package engine

import (
	"context"
	"encoding/json"

	"github.com/wardroom/wardroom/core"
)

var _ core.QuestionService = (*Engine)(nil)

// FindQuestions implements core.QuestionService.
func (e *Engine) FindQuestions(ctx context.Context, filter core.QuestionFilter) ([]*core.Question, core.PageInfo, error) {
	if filter.ExecutionID != "" {
		if _, err := e.store.FindExecution(ctx, filter.ExecutionID); err != nil {
			return nil, core.PageInfo{}, err
		}
	}
	return e.store.FindQuestions(ctx, filter)
}

// FindQuestion implements core.QuestionService.
func (e *Engine) FindQuestion(ctx context.Context, id string) (*core.Question, error) {
	return e.store.FindQuestion(ctx, id)
}

// AnswerQuestion implements core.QuestionService.
func (e *Engine) AnswerQuestion(_ context.Context, _, id string, _ json.RawMessage) (*core.Question, error) {
	return nil, core.NotFound("question", id)
}
