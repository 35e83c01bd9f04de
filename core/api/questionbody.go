package api

import (
	"encoding/json"

	"github.com/wardroom/wardroom/core"
)

// answerQuestionRequest answers a question.
type answerQuestionRequest struct {
	Answer json.RawMessage `json:"answer" check:"required,any" doc:"Any JSON value but null." example:"\"use the staging database\""`
}

// questionBody is a question on the wire.
type questionBody struct {
	ID          string              `json:"id"`
	ExecutionID string              `json:"executionId"`
	Kind        core.QuestionKind   `json:"kind" enum:"message,approval,question,login" doc:"message: of an agent, that no role answered; the others are prompts of a spawned agent."`
	Status      core.QuestionStatus `json:"status" enum:"open,answered,expired,cancelled" doc:"cancelled: the execution ended, or the asker needs no answer any more."`
	Step        string              `json:"step,omitempty" doc:"Path of the step that asks." example:"2.0"`
	Role        string              `json:"role" doc:"That asks."`
	AgentID     string              `json:"agentId"`
	TaskID      string              `json:"taskId,omitempty"`
	MessageID   string              `json:"messageId,omitempty"`
	MessageType string              `json:"messageType,omitempty"`
	Topic       string              `json:"topic,omitempty"`
	Depth       int                 `json:"depth" doc:"Managers who were asked before."`
	Text        string              `json:"text"`
	Content     json.RawMessage     `json:"content,omitempty" check:"nullable" doc:"Of the message, as it was sent."`
	Options     []questionOption    `json:"options,omitempty" doc:"Answers to choose from, by id."`
	URL         string              `json:"url,omitempty" doc:"Where to log in."`
	PromptID    string              `json:"promptId,omitempty" doc:"Of a spawned agent's prompt."`
	Answer      json.RawMessage     `json:"answer,omitempty" check:"nullable"`
	AnsweredBy  string              `json:"answeredBy,omitempty"`
	CreatedAt   timestamp           `json:"createdAt"`
	ExpiresAt   timestamp           `json:"expiresAt" doc:"The execution fails then with ESCALATION_FAILED."`
	ClosedAt    *timestamp          `json:"closedAt,omitempty" doc:"When it was answered, expired or cancelled."`
}

type questionOption struct {
	ID    string `json:"id"`
	Label string `json:"label"`
}

func newQuestionBody(q *core.Question) questionBody {
	body := questionBody{
		ID: q.ID, ExecutionID: q.ExecutionID, Kind: q.Kind, Status: q.Status, Step: q.Step, Role: q.Role,
		AgentID: q.AgentID, TaskID: q.TaskID, MessageID: q.MessageID, MessageType: q.MessageType, Topic: q.Topic,
		Depth: q.Depth, Text: q.Text, Content: q.Content, URL: q.URL, PromptID: q.PromptID,
		Answer: q.Answer, AnsweredBy: q.AnsweredBy,
		CreatedAt: timestamp(q.CreatedAt), ExpiresAt: timestamp(q.ExpiresAt), ClosedAt: stamp(q.ClosedAt),
	}
	for _, o := range q.Options {
		body.Options = append(body.Options, questionOption(o))
	}
	return body
}

type questionList struct {
	Questions  []questionBody `json:"questions"`
	Total      int            `json:"total"`
	Limit      int            `json:"limit"`
	Offset     int            `json:"offset"`
	HasMore    bool           `json:"hasMore"`
	NextCursor string         `json:"nextCursor,omitempty" doc:"cursor of the next page; absent on the last."`
}

func newQuestionList(found []*core.Question, p pageFields) questionList {
	list := questionList{
		Questions: make([]questionBody, len(found)),
		Total:     p.total, Limit: p.limit, Offset: p.offset, HasMore: p.hasMore, NextCursor: p.nextCursor,
	}
	for i, q := range found {
		list.Questions[i] = newQuestionBody(q)
	}
	return list
}
