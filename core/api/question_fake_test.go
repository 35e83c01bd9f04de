package api_test

import (
	"context"
	"encoding/json"
	"time"

	"github.com/wardroom/wardroom/core"
)

const (
	questionID  = "q_01JGFJJZ8N4Q1W0000000000AB"
	questionID2 = "q_01JGFJJZ8N4Q1W0000000000AC"
)

// someQuestion returns a question with every field that its status has.
func someQuestion(id string, status core.QuestionStatus) *core.Question {
	q := &core.Question{
		ID: id, ExecutionID: execID, Kind: core.QuestionApproval, Status: status, Step: "2.0", Role: "engineer",
		AgentID: "magent_1", TaskID: "task_1", MessageID: "msg_1", MessageType: "question", Topic: "tool_approval",
		Depth: 2, Text: "May I run \"make\"?", Content: json.RawMessage(`{"tool":"bash"}`),
		Options: []core.QuestionOption{{ID: "allow", Label: "Yes"}, {ID: "deny", Label: "No"}},
		URL:     "https://example.com/login", PromptID: "prompt_1",
		CreatedAt: epoch, ExpiresAt: epoch.Add(7 * 24 * time.Hour),
	}
	if status != core.QuestionOpen {
		closed := epoch.Add(time.Minute)
		q.ClosedAt = &closed
	}
	if status == core.QuestionAnswered {
		q.Answer, q.AnsweredBy = json.RawMessage(`"allow"`), "mira"
	}
	return q
}

// fakeQuestions is a core.QuestionService made of functions.
type fakeQuestions struct {
	findAll func(core.QuestionFilter) ([]*core.Question, core.PageInfo, error)
	find    func(id string) (*core.Question, error)
	answer  func(ctx context.Context, executionID, id string, answer json.RawMessage) (*core.Question, error)
}

func (f *fakeQuestions) FindQuestions(_ context.Context, filter core.QuestionFilter) ([]*core.Question, core.PageInfo, error) {
	if f.findAll != nil {
		return f.findAll(filter)
	}
	list := []*core.Question{someQuestion(questionID2, core.QuestionOpen), someQuestion(questionID, core.QuestionAnswered)}
	return list, core.PageInfo{Total: 7, HasMore: true, NextCursor: "abc"}, nil
}

func (f *fakeQuestions) FindQuestion(_ context.Context, id string) (*core.Question, error) {
	if f.find != nil {
		return f.find(id)
	}
	return someQuestion(id, core.QuestionOpen), nil
}

func (f *fakeQuestions) AnswerQuestion(
	ctx context.Context, executionID, id string, answer json.RawMessage,
) (*core.Question, error) {
	if f.answer != nil {
		return f.answer(ctx, executionID, id, answer)
	}
	return someQuestion(id, core.QuestionAnswered), nil
}
