package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"

	"github.com/wardroom/wardroom/sdk/wire"
)

// States of a question. All but QuestionOpen are final.
const (
	QuestionOpen      = "open"
	QuestionAnswered  = "answered"
	QuestionExpired   = "expired"
	QuestionCancelled = "cancelled" // the execution ended, or the asker needs no answer any more
)

// Kinds of questions.
const (
	QuestionMessage  = "message"  // an agent's message that no role answered
	QuestionApproval = "approval" // a spawned agent asks leave to use a tool
	QuestionDialog   = "question" // a spawned agent asks something in its terminal
	QuestionLogin    = "login"    // a spawned agent needs a login, at URL
)

// What the API says of questions, see package wire.
type (
	QuestionStatus = wire.QuestionStatus
	QuestionKind   = wire.QuestionKind
	QuestionOption = wire.QuestionOption
)

// Question is a question of an execution to people.
type Question struct {
	Meta
	wire.Question
}

// QuestionList is one page of questions, newest first.
type QuestionList struct {
	Meta
	PageInfo
	Questions []Question `json:"questions"`
}

func (l *QuestionList) page() ([]Question, PageInfo) { return l.Questions, l.PageInfo }

// QuestionFilter selects questions of a list. Zero values select all.
type QuestionFilter struct {
	ExecutionID string
	Status      string
	CreatedBy   string // whose execution asks
	Page
}

// ListQuestions returns one page of questions, newest first. NOT_FOUND for an unknown execution.
func (c *Client) ListQuestions(ctx context.Context, filter QuestionFilter) (*QuestionList, error) {
	path := "/api/questions"
	if filter.ExecutionID != "" {
		path = executionPath(filter.ExecutionID) + "/questions"
	}
	return listOf[QuestionList](ctx, c, path, filter.Page, "status", filter.Status, "createdBy", filter.CreatedBy)
}

// Questions walks all pages of a list.
func (c *Client) Questions(ctx context.Context, filter QuestionFilter) iter.Seq2[Question, error] {
	return walkList(ctx, filter, c.ListQuestions)
}

// GetQuestion returns one question, whatever execution asks it.
func (c *Client) GetQuestion(ctx context.Context, id string) (*Question, error) {
	return get[Question](ctx, c, "/api/questions/"+segment(id))
}

// AnswerQuestion gives the answer, any JSON value but null, and returns the question; its execution goes on. With
// options the answer is the id of one, as a string. The first answer counts: CONFLICT when the question is not
// open any more, also on a repeat after a lost answer of the server, so read the question then.
func (c *Client) AnswerQuestion(
	ctx context.Context, executionID, id string, answer json.RawMessage,
) (*Question, error) {
	body := struct {
		Answer json.RawMessage `json:"answer"`
	}{answer}
	r := request{method: http.MethodPost, path: executionPath(executionID) + "/questions/" + segment(id) + "/answer", body: body}
	return ask[Question](ctx, c, r)
}
