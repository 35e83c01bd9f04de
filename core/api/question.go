package api

import (
	"encoding/json"
	"net/http"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// questionRoutes are there when executions may ask people at all.
func (s *Server) questionRoutes() []Route {
	if s.opts.Questions == nil {
		return nil
	}
	const tag, ofExecution = "questions", "/api/executions/{executionId}/questions"
	reads := func(r Route) Route {
		r.Method, r.Tag, r.Resource = http.MethodGet, tag, "executions"
		r.Action, r.Scope = "executions.read", "executions:read"
		return r
	}
	page := []Response{{Status: 200, Body: questionList{}, Doc: "A page of questions."}}
	one := []Response{{Status: 200, Body: core.Question{}, Doc: "The question."}}
	query := append(pageParams(), Param{Name: "status", Type: ParamString, Enum: words(core.QuestionStatuses), Doc: "Status."},
		Param{Name: "createdBy", Type: ParamString, Doc: "Only those of executions of this caller."})
	return []Route{
		reads(Route{
			Path: "/api/questions", OperationID: "listQuestions",
			Summary: "List what executions ask people, newest first.",
			Query:   query, Responses: page, Handle: s.listQuestions,
		}),
		reads(Route{
			Path: "/api/questions/{questionId}", OperationID: "findQuestion",
			Summary:   "Get one question, whatever execution asks it.",
			Responses: one, Fails: []int{404}, Handle: s.getQuestion,
		}),
		reads(Route{
			Path: ofExecution, OperationID: "listExecutionQuestions",
			Summary: "List what one execution asks people, newest first.",
			Query:   query, Responses: page, Fails: []int{404}, Handle: s.listExecutionQuestions,
		}),
		reads(Route{
			Path: ofExecution + "/{questionId}", OperationID: "getExecutionQuestion",
			Summary:   "Get one question of an execution.",
			Responses: one, Fails: []int{404}, Handle: s.getExecutionQuestion,
		}),
		{
			Method: http.MethodPost, Path: ofExecution + "/{questionId}/answer", OperationID: "answerQuestion",
			Tag: tag, Resource: "executions", Action: "executions.answer", Scope: "executions:create",
			Summary: "Answer a question. The execution that waits for it goes on.",
			Description: "The first answer counts; another one is a 409, as is one that comes after the question " +
				"expired or was withdrawn. With options, the answer is the id of one.",
			Body: &Body{JSON: new(answerQuestionRequest)}, Responses: one,
			Fails: []int{404, 409}, Handle: decoded(s.answerQuestion),
		},
	}
}

// answerQuestionRequest answers a question.
type answerQuestionRequest struct {
	Answer json.RawMessage `json:"answer" check:"required,any" doc:"Any JSON value but null." example:"\"use the staging database\""`
}

type questionList struct {
	Questions []core.Question `json:"questions"`
	wire.PageInfo
}

func (s *Server) listQuestions(c *call) (answer, error) { return s.questions(c, "") }

func (s *Server) listExecutionQuestions(c *call) (answer, error) {
	return s.questions(c, c.param("executionId"))
}

// questions lists those of an execution, or of all.
func (s *Server) questions(c *call, executionID string) (answer, error) {
	filter := core.QuestionFilter{
		ExecutionID: executionID, Status: core.QuestionStatus(c.query.text("status")), CreatedBy: c.query.text("createdBy"),
	}
	questions := listOf(c, func(q *core.Question) string { return q.ID }, func(page core.Page) ([]*core.Question, core.PageInfo, error) {
		filter.Page = page
		return s.opts.Questions.FindQuestions(c.ctx, filter)
	})
	return listed(c, questions.page, valueOf, func(rows []core.Question, info wire.PageInfo) any { return questionList{rows, info} })
}

func (s *Server) getQuestion(c *call) (answer, error) {
	return shown(s.opts.Questions.FindQuestion(c.ctx, c.param("questionId")))
}

func (s *Server) getExecutionQuestion(c *call) (answer, error) {
	q, err := s.opts.Questions.FindQuestion(c.ctx, c.param("questionId"))
	if err == nil && q.ExecutionID != c.param("executionId") {
		err = core.NotFound("question", c.param("questionId"))
	}
	return shown(q, err)
}

func (s *Server) answerQuestion(c *call, req answerQuestionRequest) (answer, error) {
	texts := c.texts()
	if err := texts.JSON("answer", &req.Answer); err != nil {
		return answer{}, core.Invalid("answer", "%s; security.inputValidation.sanitize takes HTML out of texts, but not out of names", err)
	}
	// An answer that was taken counts, whether or not its giver waits to hear of it.
	q, err := s.opts.Questions.AnswerQuestion(c.detached(), c.param("executionId"), c.param("questionId"), req.Answer)
	if err == nil && texts.Changes != nil {
		told := *q
		told.Sanitized = texts.Changes
		q = &told
	}
	return shown(q, err)
}
