package api_test

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/api"
)

const questionsPath = "/api/executions/" + execID + "/questions"

func TestListQuestions(t *testing.T) {
	r := newRig(t)
	var got core.QuestionFilter
	r.questions.findAll = func(filter core.QuestionFilter) ([]*core.Question, core.PageInfo, error) {
		got = filter
		list := []*core.Question{someQuestion(questionID2, core.QuestionOpen), someQuestion(questionID, core.QuestionAnswered)}
		return list, core.PageInfo{Total: 7, HasMore: true, NextCursor: "abc"}, nil
	}
	for _, c := range []struct {
		path string
		want core.QuestionFilter
	}{
		{"/api/questions", core.QuestionFilter{Page: core.Page{Limit: 20}}},
		{"/api/questions?status=open&limit=2&offset=3",
			core.QuestionFilter{Status: core.QuestionOpen, Page: core.Page{Limit: 2, Offset: 3}}},
		{questionsPath + "?status=expired&cursor=abc",
			core.QuestionFilter{ExecutionID: execID, Status: core.QuestionExpired, Page: core.Page{Limit: 20, Cursor: "abc"}}},
	} {
		p := r.do("GET", c.path, "")
		p.wants(t, 200, "")
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: filter %+v, want %+v", c.path, got, c.want)
		}
		rows, _ := p.at("questions").([]any)
		if len(rows) != 2 || p.at("total") != 7.0 || p.at("hasMore") != true || p.at("nextCursor") != "abc" {
			t.Errorf("%s: %s", c.path, p.text)
		}
	}
	r.questions.findAll = func(core.QuestionFilter) ([]*core.Question, core.PageInfo, error) {
		return nil, core.PageInfo{}, nil
	}
	if p := r.do("GET", "/api/questions", ""); !strings.Contains(p.text, `"questions":[]`) {
		t.Errorf("an empty list is %s", p.text)
	}
	for _, query := range []string{"?status=closed", "?limit=101", "?limit=0", "?offset=1&cursor=a", "?state=open"} {
		r.do("GET", "/api/questions"+query, "").wants(t, 400, core.CodeValidation)
		r.do("GET", questionsPath+query, "").wants(t, 400, core.CodeValidation)
	}
	r.questions.findAll = func(f core.QuestionFilter) ([]*core.Question, core.PageInfo, error) {
		return nil, core.PageInfo{}, core.NotFound("execution", f.ExecutionID)
	}
	r.do("GET", questionsPath, "").wants(t, 404, core.CodeNotFound)
}

func TestGetQuestion(t *testing.T) {
	r := newRig(t)
	for _, path := range []string{"/api/questions/" + questionID, questionsPath + "/" + questionID} {
		p := r.do("GET", path, "")
		p.wants(t, 200, "")
		want := `{"id":"` + questionID + `","executionId":"` + execID + `","kind":"approval","status":"open","step":"2.0",` +
			`"role":"engineer","agentId":"magent_1","taskId":"task_1","messageId":"msg_1","messageType":"question",` +
			`"topic":"tool_approval","depth":2,"text":"May I run \"make\"?","content":{"tool":"bash"},` +
			`"options":[{"id":"allow","label":"Yes"},{"id":"deny","label":"No"}],"url":"https://example.com/login",` +
			`"promptId":"prompt_1","createdAt":"2026-01-02T03:04:05.678Z","expiresAt":"2026-01-09T03:04:05.678Z"}`
		if p.text != want {
			t.Errorf("%s\n%s\nwant\n%s", path, p.text, want)
		}
	}
	// A question belongs to its execution only.
	r.do("GET", "/api/executions/"+execID2+"/questions/"+questionID, "").wants(t, 404, core.CodeNotFound)
	r.questions.find = func(id string) (*core.Question, error) { return nil, core.NotFound("question", id) }
	for _, path := range []string{"/api/questions/q_x", questionsPath + "/q_x"} {
		p := r.do("GET", path, "")
		p.wants(t, 404, core.CodeNotFound)
		if p.at("error", "details", "resource") != "question" {
			t.Errorf("%s: %s", path, p.text)
		}
	}
}

func TestAnswerQuestion(t *testing.T) {
	r := newRig(t)
	var got string
	r.questions.answer = func(ctx context.Context, executionID, id string, answer json.RawMessage) (*core.Question, error) {
		if executionID != execID || id != questionID {
			t.Errorf("answered %s of %s", id, executionID)
		}
		got = string(answer)
		return someQuestion(id, core.QuestionAnswered), nil
	}
	path := questionsPath + "/" + questionID + "/answer"
	for _, value := range []string{`"allow"`, `{"a":[1,null]}`, `[]`, `false`, `0`, `-1.50e3`, `""`, `"a\u0000b"`} {
		got = ""
		p := r.do("POST", path, `{"answer": `+value+`}`)
		p.wants(t, 200, "")
		if got != value {
			t.Errorf("answer %s arrived as %s", value, got)
		}
		if p.at("status") != "answered" || p.at("answer") != "allow" || p.at("answeredBy") != "mira" || p.at("closedAt") == nil {
			t.Errorf("body %s", p.text)
		}
	}
	got = ""
	for body, field := range map[string]string{
		``: "body", `{}`: "answer", `{"answer":null}`: "answer", `{"answer":1,"by":"me"}`: "by",
		`{"answer":`: "body", `"allow"`: "body", `{"answr":1}`: "answr",
	} {
		p := r.do("POST", path, body)
		p.wants(t, 400, core.CodeValidation)
		if p.at("error", "details", "field") != field {
			t.Errorf("body %s: %s", body, p.text)
		}
	}
	if got != "" {
		t.Errorf("a refused request answered with %s", got)
	}
	for _, c := range []struct {
		err    error
		status int
		code   core.Code
	}{
		{core.NotFound("question", questionID), 404, core.CodeNotFound},
		{core.Conflict("question", questionID, "answered", "it was answered"), 409, core.CodeConflict},
		{core.Invalid("answer", "must be one of allow, deny"), 400, core.CodeValidation},
		{core.Unavailable("stopping", "the service is stopping"), 503, core.CodeInternal},
	} {
		r.questions.answer = func(context.Context, string, string, json.RawMessage) (*core.Question, error) { return nil, c.err }
		r.do("POST", path, `{"answer":"x"}`).wants(t, c.status, c.code)
	}
}

// TestAnswerOutlivesClient: who sent an answer and left has answered.
func TestAnswerOutlivesClient(t *testing.T) {
	r := newRig(t)
	r.questions.answer = func(ctx context.Context, _, id string, _ json.RawMessage) (*core.Question, error) {
		if ctx.Done() != nil {
			t.Error("the answer ends with its client")
		}
		return someQuestion(id, core.QuestionAnswered), nil
	}
	r.do("POST", questionsPath+"/"+questionID+"/answer", `{"answer":"x"}`).wants(t, 200, "")
}

func TestQuestionScopes(t *testing.T) {
	var asked []string
	r := newRig(t, func(o *api.Options) {
		o.Authorize = func(_ context.Context, _ core.Principal, a api.Access) error {
			asked = append(asked, a.Action+" "+a.Scope+" "+a.ID)
			return nil
		}
		o.ReadsAll = func(context.Context, core.Principal, api.Access) bool { return true }
	})
	r.do("GET", "/api/questions", "")
	r.do("GET", "/api/questions/"+questionID, "")
	r.do("GET", questionsPath, "")
	r.do("GET", questionsPath+"/"+questionID, "")
	r.do("GET", "/api/executions/"+execID+"/timeline", "")
	r.do("POST", questionsPath+"/"+questionID+"/answer", `{"answer":1}`)
	want := []string{
		// Of a list, each row too.
		"executions.read executions:read ",
		"executions.read executions:read q_01JGFJJZ8N4Q1W0000000000AC",
		"executions.read executions:read " + questionID,
		"executions.read executions:read " + questionID,
		"executions.read executions:read " + execID,
		"executions.read executions:read q_01JGFJJZ8N4Q1W0000000000AC",
		"executions.read executions:read " + questionID,
		"executions.read executions:read " + execID,
		"executions.read executions:read " + execID,
		"executions.answer executions:create " + execID,
	}
	if !reflect.DeepEqual(asked, want) {
		t.Errorf("asked\n%s\nwant\n%s", strings.Join(asked, "\n"), strings.Join(want, "\n"))
	}
}

func TestNoQuestions(t *testing.T) {
	r := newRig(t, func(o *api.Options) { o.Questions = nil })
	r.do("GET", "/api/questions", "").wants(t, 404, core.CodeNotFound)
	r.do("POST", questionsPath+"/"+questionID+"/answer", `{"answer":1}`).wants(t, 404, core.CodeNotFound)
}
