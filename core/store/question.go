package store

import (
	"context"
	"slices"

	"github.com/wardroom/wardroom/core"
)

var questions = &table[core.Question]{
	prefix: prefixQuestion, kind: "question", lists: kindQuestion, idPrefix: core.PrefixQuestion,
	facets:  func(q *core.Question) []facet { return []facet{{'x', q.ExecutionID}, {'s', string(q.Status)}} },
	creator: func(q *core.Question) string { return q.CreatedBy },
}

// PutQuestion implements core.Tx. A question never changes its execution.
func (t *tx) PutQuestion(q *core.Question) error {
	switch {
	case q.ID == "":
		return core.Invalid("id", "must not be empty")
	case q.ExecutionID == "":
		return core.Invalid("executionId", "must not be empty")
	case !slices.Contains(core.QuestionStatuses, q.Status):
		return core.Invalid("status", "%q is not a status of a question", q.Status)
	}
	old, err := questions.get(t, q.ID)
	if err != nil {
		return err
	}
	if old != nil && old.ExecutionID != q.ExecutionID {
		return core.Invalid("executionId", "is not the one that the question was stored with")
	}
	return questions.put(t, q.ID, old, q)
}

// FindQuestion implements core.QuestionReader.
func (s *Store) FindQuestion(ctx context.Context, id string) (*core.Question, error) {
	return questions.one(ctx, s, id)
}

// FindQuestions implements core.QuestionReader.
func (s *Store) FindQuestions(ctx context.Context, filter core.QuestionFilter) ([]*core.Question, core.PageInfo, error) {
	if filter.Status != "" && !slices.Contains(core.QuestionStatuses, filter.Status) {
		return nil, core.PageInfo{}, core.Invalid("status", "%q is not a status of a question", filter.Status)
	}
	return questions.page(ctx, s, filter.Page, &core.Question{ExecutionID: filter.ExecutionID, Status: filter.Status, CreatedBy: filter.CreatedBy})
}
