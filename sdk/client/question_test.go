package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/client"
)

func TestQuestionRequests(t *testing.T) {
	s := newServer(t, answer(200, `{}`))
	c := newClient(t, s.URL, client.Options{})
	for _, tt := range []struct {
		name string
		call func(ctx context.Context) error
		want string // method, URI and body
	}{
		{"List", func(ctx context.Context) error {
			_, err := c.ListQuestions(ctx, client.QuestionFilter{Status: client.QuestionOpen, Page: client.Page{Limit: 2, Cursor: "c"}})
			return err
		}, `GET /api/questions?cursor=c&limit=2&status=open `},
		{"ListOfExecution", func(ctx context.Context) error {
			_, err := c.ListQuestions(ctx, client.QuestionFilter{ExecutionID: "a/b"})
			return err
		}, `GET /api/executions/a%2Fb/questions `},
		{"Get", func(ctx context.Context) error { _, err := c.GetQuestion(ctx, "q/1"); return err }, `GET /api/questions/q%2F1 `},
		{"Answer", func(ctx context.Context) error {
			_, err := c.AnswerQuestion(ctx, "exec_1", "q_1", json.RawMessage(`{"a":[1]}`))
			return err
		}, `POST /api/executions/exec_1/questions/q_1/answer {"answer":{"a":[1]}}`},
		{"Timeline", func(ctx context.Context) error { _, err := c.GetTimeline(ctx, "exec_1"); return err },
			`GET /api/executions/exec_1/timeline `},
		{"Step", func(ctx context.Context) error { _, err := c.GetStep(ctx, "exec_1", "outer/inner"); return err },
			`GET /api/executions/exec_1/steps/outer%2Finner `},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.call(t.Context()); err != nil {
				t.Fatal(err)
			}
			r := s.last(t)
			if got := r.Method + " " + r.URI + " " + r.Body; got != tt.want {
				t.Errorf("sent %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestQuestionsWalk(t *testing.T) {
	s := newServer(t,
		answer(200, `{"questions":[{"id":"q_3","status":"open","text":"a","options":[{"id":"allow","label":"Yes"}]},{"id":"q_2"}],"total":3,"hasMore":true,"nextCursor":"c"}`),
		answer(200, `{"questions":[{"id":"q_1"}],"total":3,"hasMore":false}`))
	c := newClient(t, s.URL, client.Options{})
	var ids []string
	for q, err := range c.Questions(t.Context(), client.QuestionFilter{Status: client.QuestionOpen}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, q.ID)
	}
	if got := strings.Join(ids, " "); got != "q_3 q_2 q_1" {
		t.Errorf("walked %s", got)
	}
	if r := s.last(t); r.URI != "/api/questions?cursor=c&limit=100&status=open" {
		t.Errorf("asked %s", r.URI)
	}
}

// TestAnswerIsNotRepeated: a lost answer of the server may have counted, and a second one is refused.
func TestAnswerIsNotRepeated(t *testing.T) {
	s := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_ = conn.Close()
		}
	})
	opts, _ := noWait(client.Options{Retry: client.RetryPolicy{MaxElapsed: 1 << 40}})
	c := newClient(t, s.URL, opts)
	var lost *client.ConnectionError
	if _, err := c.AnswerQuestion(t.Context(), "e", "q", json.RawMessage(`1`)); !errors.As(err, &lost) || !lost.Sent {
		t.Errorf("err = %v", err)
	}
	if n := len(s.seen()); n != 1 {
		t.Errorf("%d requests", n)
	}
}

func TestTimelineAnswer(t *testing.T) {
	s := newServer(t, answer(200, `{"executionId":"exec_1","pattern":{"name":"p","version":"1"},"status":"running","duration":1500,`+
		`"entries":[{"kind":"thread","id":"thread_2","status":"idle","startedAt":"2026-01-02T03:04:05.000Z","duration":12},`+
		`{"kind":"role","id":"magent_1","threadId":"thread_1","status":"running","startedAt":"2026-01-02T03:04:05.000Z","duration":12},`+
		`{"kind":"step","id":"0.1","step":"0","type":"assign","role":"r","attempt":2,"status":"running","startedAt":"2026-01-02T03:04:05.000Z","duration":12}],"lastSequence":18446744073709551615}`))
	c := newClient(t, s.URL, client.Options{})
	tl, err := c.GetTimeline(t.Context(), "exec_1")
	if err != nil {
		t.Fatal(err)
	}
	if a, b := tl.Entries[0], tl.Entries[1]; a.Kind != client.TimelineThread || a.ID != "thread_2" || b.Kind != client.TimelineRole || b.ThreadID != "thread_1" {
		t.Errorf("threads %+v %+v", a, b)
	}
	e := tl.Entries[2]
	if tl.Duration.Duration().Seconds() != 1.5 || tl.LastSequence != 1<<64-1 || e.Kind != client.TimelineStep || e.Attempt != 2 || e.EndedAt != nil {
		t.Errorf("timeline %+v", tl)
	}
}

func TestChartExecution(t *testing.T) {
	s := newServer(t, answer(200, `{"executionId":"exec_1","pattern":{"name":"p","version":"1"},"patternName":"p","status":"completed",`+
		`"result":1,"output":1,"metrics":{"durationMs":42,"stepsExecuted":2,"agentsUsed":1},"steps":[{"step":0,"type":"assign","durationMs":30}],"partial":true}`))
	exec, err := newClient(t, s.URL, client.Options{}).GetExecution(t.Context(), "exec_1")
	if err != nil {
		t.Fatal(err)
	}
	if exec.PatternName != "p" || string(exec.Output) != "1" || exec.Metrics == nil || exec.Metrics.StepsExecuted != 2 ||
		len(exec.Steps) != 1 || exec.Steps[0].Duration != 30 || !exec.Partial {
		t.Errorf("execution %+v", exec)
	}
}

func TestChartEvents(t *testing.T) {
	for _, tt := range []struct{ typ, data, want string }{
		{client.EventStepStarted, `{"step":"0.1","type":"assign","name":"n","role":"r","round":1}`, "0.1 assign n r 1"},
		{client.EventMessageSent, `{"messageId":"m","step":"2","role":"r","messageType":"question","to":"lead","content":{}}`, "2   r 0"},
		{client.EventQuestionAnswered, `{"questionId":"q","answer":{"x":1},"answeredBy":"mira"}`, "    0"},
	} {
		d, err := client.Event{Type: tt.typ, Data: json.RawMessage(tt.data)}.Decode()
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(d.Step, " ", d.Type, " ", d.Name, " ", d.Role, " ", d.Round); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.typ, got, tt.want)
		}
	}
	q, err := client.Event{Type: client.EventQuestionAsked, Data: json.RawMessage(`{"id":"q_1","text":"why?"}`)}.Question()
	if err != nil || q.ID != "q_1" || q.Text != "why?" {
		t.Errorf("%+v, %v", q, err)
	}
	if _, err := (client.Event{Type: client.EventQuestionAsked, Data: json.RawMessage(`[]`)}).Question(); err == nil {
		t.Error("a list is no question")
	}
}
