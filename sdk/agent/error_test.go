package agent_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/agent/agenttest"
)

func TestRetryable(t *testing.T) {
	if agent.Retryable(nil) != nil {
		t.Error("nil became an error")
	}
	cause := errors.New("busy")
	err := agent.Retryable(fmt.Errorf("model: %w", cause))
	var e *agent.Error
	if !errors.As(err, &e) || !e.Retryable || e.Code != agent.CodeAgentError || !errors.Is(err, cause) {
		t.Errorf("got %#v", err)
	}
	err = agent.Retryable(fmt.Errorf("wrapped: %w", &agent.Error{Code: "MODEL_DOWN", Message: "m", Details: map[string]any{"k": 1}}))
	if !errors.As(err, &e) || !e.Retryable || e.Code != "MODEL_DOWN" || e.Details["k"] != 1 {
		t.Errorf("got %#v", err)
	}
	if e := agent.Retryable(&agent.Error{Message: "no code"}); e.Error() != "AGENT_ERROR: no code" {
		t.Errorf("got %v", e)
	}
}

func TestErrors_Text(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string
	}{
		{&agent.Error{Code: "C", Message: "m"}, "C: m"},
		{&agent.CancelledError{Reason: "deadline"}, "agent: task cancelled: deadline"},
		{&agent.ConnectError{Status: 401, Message: "Unauthorized"}, "agent: the server refused the session: HTTP 401 Unauthorized"},
		{&agent.ConnectError{Code: "CONFLICT", Message: "m"}, "agent: the server refused the session: CONFLICT: m"},
		{&agent.ConnectError{Message: "m"}, "agent: the server ended the session: m"},
	} {
		if tt.err.Error() != tt.want {
			t.Errorf("got %q, want %q", tt.err, tt.want)
		}
	}
}

func TestTask_Bind(t *testing.T) {
	srv := newServer(t, agenttest.Options{})
	run(t, srv, func(_ context.Context, task *agent.Task) (any, error) {
		in, config := struct{ Text string }{}, struct{ Limit int }{Limit: 7}
		if err := errors.Join(task.Bind(&in), task.BindConfig(&config)); err != nil {
			return nil, err
		}
		_, limited := task.Deadline()
		return fmt.Sprint(in.Text, config.Limit, limited), nil
	})
	c := accept(t, srv)
	plain := task("plain", 1)
	plain.Timeout = 0
	must(t, c.Task(plain))
	if r := nextResult(t, c); string(r.Result) != `"hello7 false"` {
		t.Errorf("got %s", r.Result)
	}
	configured := task("configured", 1)
	configured.Config = []byte(`{"limit":9}`)
	must(t, c.Task(configured))
	if r := nextResult(t, c); string(r.Result) != `"hello9 true"` {
		t.Errorf("got %s", r.Result)
	}
	wrong := task("wrong", 1)
	wrong.Config = []byte(`{"limit":"many"}`)
	must(t, c.Task(wrong))
	if e := nextError(t, c); e.Retryable || e.Error.Code != agent.CodeAgentError {
		t.Errorf("got %+v", e)
	}
}
