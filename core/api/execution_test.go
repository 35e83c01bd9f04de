package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/api"
)

func TestExecute(t *testing.T) {
	r := newRig(t)
	var got core.ExecuteRequest
	r.executions.start = func(_ context.Context, req core.ExecuteRequest) (*core.Execution, error) {
		got = req
		return someExecution(execID, core.ExecutionPending), nil
	}
	p := r.do("POST", "/api/patterns/classify/execute?version=1.x",
		`{"input":{"text":"a b"},"options":{"timeout":1e3,"priority":"high","metadata":{"k":[1,null]}}}`)
	p.wants(t, 200, "")
	want := core.ExecuteRequest{
		Pattern: "classify", Version: "1.x", Input: json.RawMessage(`{"text":"a b"}`), RequireAgents: true,
		Options: core.ExecuteOptions{TimeoutMs: 1000, Priority: core.PriorityHigh,
			Metadata: map[string]any{"k": []any{json.Number("1"), nil}}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("request %+v\nwant    %+v", got, want)
	}
	body := `{"id":"` + execID + `","executionId":"` + execID + `","pattern":{"name":"classify","version":"1.0.0"},"status":"completed",` +
		`"result":{"label":"good"},"duration":42,` +
		`"agents":[{"id":"agent_1","status":"completed","result":{"label":"good"}}]}`
	if p.text != body {
		t.Errorf("body\n%s\nwant\n%s", p.text, body)
	}

	// No body is an empty input; so is an empty object.
	for _, body := range []string{"", "{}", `{"input":null}`} {
		r.do("POST", "/api/patterns/classify/execute", body).wants(t, 200, "")
		if string(got.Input) != "{}" {
			t.Errorf("body %q gave the input %s", body, got.Input)
		}
	}
}

func TestExecuteAsync(t *testing.T) {
	r := newRig(t)
	r.executions.start = func(_ context.Context, req core.ExecuteRequest) (*core.Execution, error) {
		if req.RequireAgents {
			t.Error("an async execution must wait for agents")
		}
		return someExecution(execID, core.ExecutionPending), nil
	}
	p := r.do("POST", "/api/patterns/classify/execute?async=true", `{"input":{}}`)
	p.wants(t, 202, "")
	path := "/api/executions/" + execID
	if want := `{"id":"` + execID + `","executionId":"` + execID + `","status":"pending","statusUrl":"` + path + `"}`; p.text != want {
		t.Errorf("body %s", p.text)
	}
	if p.header.Get("Location") != path {
		t.Errorf("Location %q", p.header.Get("Location"))
	}
}

// TestResultsAreObjects shows every value of a result as an object, in each place that the interface has it.
func TestResultsAreObjects(t *testing.T) {
	r := newRig(t)
	for value, want := range map[string]string{`"Faster."`: `{"text":"Faster."}`, `7`: `{"value":7}`, `[1]`: `{"value":[1]}`, `{"a":1}`: `{"a":1}`, `null`: `null`} {
		find := func(string) (*core.Execution, error) {
			e := someExecution(execID, core.ExecutionCompleted)
			e.Result = json.RawMessage(value)
			e.Agents = []core.AgentResult{{ID: "agent_1", Status: "completed", Result: json.RawMessage(value)}}
			return e, nil
		}
		r.executions.find = find
		r.executions.wait = func(_ context.Context, id string) (*core.Execution, error) { return find(id) }
		for _, p := range []reply{r.do("POST", "/api/patterns/classify/execute", ""), r.do("GET", "/api/executions/"+execID, "")} {
			p.wants(t, 200, "")
			if strings.Count(p.text, `"result":`+want) != 2 {
				t.Errorf("%s is shown as %s", value, p.text)
			}
		}
		frame := string(api.EncodeFrame(core.Event{Seq: 1, Type: core.EventExecutionCompleted, Subject: execID, Data: json.RawMessage(`{"result":` + value + `}`)}))
		if !strings.Contains(frame, `"result":`+want) {
			t.Errorf("%s is streamed as %s", value, frame)
		}
	}
}

func TestExecuteThatFails(t *testing.T) {
	r := newRig(t)
	outcome := func(change func(*core.Execution)) {
		r.executions.wait = func(context.Context, string) (*core.Execution, error) {
			e := someExecution(execID, core.ExecutionFailed)
			change(e)
			return e, nil
		}
	}
	outcome(func(*core.Execution) {})
	p := r.do("POST", "/api/patterns/classify/execute", "")
	p.wants(t, 200, "")
	if p.at("status") != "failed" || p.at("error").(map[string]any)["code"] != "AGENT_ERROR" || strings.Contains(p.text, `"result"`) {
		t.Errorf("body %s", p.text)
	}

	outcome(func(e *core.Execution) {
		e.Error = &core.ExecutionError{Code: core.CodeTimeout, Message: "ran over 5000 ms"}
	})
	p = r.do("POST", "/api/patterns/classify/execute", "")
	p.wants(t, 408, core.CodeTimeout)
	if p.at("error", "details", "timeoutMs") != 5000.0 || p.at("error", "details", "executionId") != execID {
		t.Errorf("details %v", p.at("error", "details"))
	}
	outcome(func(e *core.Execution) {
		e.Options.TimeoutMs = 70
		e.Error = &core.ExecutionError{Code: core.CodeTimeout, Message: "ran over 70 ms"}
	})
	p = r.do("POST", "/api/patterns/classify/execute", "")
	if p.at("error", "details", "timeoutMs") != 70.0 {
		t.Errorf("details %v", p.at("error", "details"))
	}

	outcome(func(e *core.Execution) { // the last capable agent was lost while the caller waited
		e.Error = &core.ExecutionError{Code: core.CodeNoAgents, Message: "1 agents are needed, none is connected",
			Details: map[string]any{"required": 1, "available": 0}}
	})
	p = r.do("POST", "/api/patterns/classify/execute", "")
	p.wants(t, 503, core.CodeNoAgents)
	if p.at("error", "details", "available") != 0.0 || p.at("error", "details", "executionId") != execID {
		t.Errorf("details %v", p.at("error", "details"))
	}

	outcome(func(e *core.Execution) { // the program of a role's agent is not installed
		e.Error = &core.ExecutionError{Code: core.CodeAgentError, Message: "no agent could be spawned",
			Details: map[string]any{"runtimeCode": "CLI_NOT_FOUND", "role": "engineer", "field": "type", "reason": "not found"}}
	})
	p = r.do("POST", "/api/patterns/classify/execute", "")
	p.wants(t, 422, core.CodeValidation)
	if p.at("error", "details", "role") != "engineer" || p.at("error", "details", "executionId") != execID {
		t.Errorf("details %v", p.at("error", "details"))
	}

	r.executions.start = func(context.Context, core.ExecuteRequest) (*core.Execution, error) {
		return nil, &core.Error{Code: core.CodeNoAgents, Message: "3 agents are needed, none is connected",
			Details: map[string]any{"required": 3, "available": 0, "capabilities": []string{"classify"}}}
	}
	p = r.do("POST", "/api/patterns/classify/execute", "")
	p.wants(t, 503, core.CodeNoAgents)
	if p.at("error", "details", "required") != 3.0 || p.header.Get("Retry-After") == "" {
		t.Errorf("details %v, headers %v", p.at("error", "details"), p.header)
	}
}

// An execution that is interrupted by a shutdown names itself, so that the client can come back to it.
func TestExecuteDuringShutdown(t *testing.T) {
	r := newRig(t)
	r.executions.wait = func(context.Context, string) (*core.Execution, error) {
		return nil, core.Unavailable("shutting_down", "the service is stopping")
	}
	p := r.do("POST", "/api/patterns/classify/execute", "")
	p.wants(t, 503, core.CodeInternal)
	if p.at("error", "details", "executionId") != execID || p.at("error", "details", "reason") != "shutting_down" {
		t.Errorf("details %v", p.at("error", "details"))
	}
}

// A client that leaves does not cancel what it started, nor the start itself.
func TestClientLeaves(t *testing.T) {
	r := newRig(t)
	waiting, left := make(chan struct{}), make(chan struct{})
	var started context.Context
	r.executions.start = func(ctx context.Context, _ core.ExecuteRequest) (*core.Execution, error) {
		started = ctx
		return someExecution(execID, core.ExecutionPending), nil
	}
	r.executions.wait = func(ctx context.Context, _ string) (*core.Execution, error) {
		close(waiting)
		<-ctx.Done()
		close(left)
		return nil, ctx.Err()
	}
	ctx, cancel := context.WithCancel(context.Background())
	req, _ := http.NewRequestWithContext(ctx, "POST", r.http.URL+"/api/patterns/a/execute", nil)
	failed := make(chan error, 1)
	go func() {
		resp, err := r.client.Do(req)
		if err == nil {
			resp.Body.Close()
		}
		failed <- err
	}()
	<-waiting
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("client got %v", err)
	}
	<-left
	if started.Err() != nil {
		t.Error("the context of the start ended with the client")
	}
	if core.PrincipalFrom(started).ID != core.Anonymous.ID {
		t.Error("the start lost its principal")
	}
}

func TestGetExecution(t *testing.T) {
	r := newRig(t)
	for _, status := range core.ExecutionStatuses {
		t.Run(string(status), func(t *testing.T) {
			r.executions.find = func(id string) (*core.Execution, error) {
				e := someExecution(id, status)
				e.Options = core.ExecuteOptions{TimeoutMs: 5, Priority: "low", Metadata: map[string]any{"a": "b"}}
				e.BatchID, e.RetryOf, e.RerunFrom = batchID, execID2, "s"
				return e, nil
			}
			p := r.do("GET", "/api/executions/"+execID, "")
			p.wants(t, 200, "")
			if p.at("status") != string(status) || p.at("pattern", "version") != "1.0.0" || p.at("batchIndex") != 0.0 {
				t.Errorf("body %s", p.text)
			}
			if started := p.at("startedAt") != nil; started != (status != core.ExecutionPending) {
				t.Errorf("startedAt in %s", p.text)
			}
			if ended := p.at("completedAt") != nil; ended != status.Terminal() {
				t.Errorf("completedAt in %s", p.text)
			}
		})
	}
	// A vote without a winner completes with a result that is null, which is not the same as none.
	r.executions.find = func(id string) (*core.Execution, error) {
		e := someExecution(id, core.ExecutionCompleted)
		e.Result, e.Agents = json.RawMessage("null"), nil
		return e, nil
	}
	p := r.do("GET", "/api/executions/"+execID, "")
	if !strings.Contains(p.text, `"result":null`) || !strings.Contains(p.text, `"agents":[]`) {
		t.Errorf("body %s", p.text)
	}
	r.executions.find = func(id string) (*core.Execution, error) { return nil, core.NotFound("execution", id) }
	r.do("GET", "/api/executions/x", "").wants(t, 404, core.CodeNotFound)
	r.do("GET", "/api/executions/x/events", "").wants(t, 404, core.CodeNotFound)
}

func TestListExecutions(t *testing.T) {
	r := newRig(t)
	var got core.ExecutionFilter
	r.executions.findAll = func(f core.ExecutionFilter) ([]*core.Execution, core.PageInfo, error) {
		got = f
		return []*core.Execution{someExecution(execID, core.ExecutionRunning)}, core.PageInfo{Total: 1}, nil
	}
	r.clock.Advance(time.Second)
	p := r.do("GET", "/api/executions?pattern=classify&status=running&since=2026-01-02T00:00:00Z&until=2026-01-03T00:00:00.5%2B02:00&limit=100", "")
	p.wants(t, 200, "")
	want := core.ExecutionFilter{
		Pattern: "classify", Statuses: []core.ExecutionStatus{core.ExecutionRunning}, Page: core.Page{Limit: 100},
		Since: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC), Until: got.Until,
	}
	if !reflect.DeepEqual(got, want) || !got.Until.Equal(time.Date(2026, 1, 2, 22, 0, 0, 5e8, time.UTC)) {
		t.Errorf("filter %+v\nwant   %+v", got, want)
	}
	row := p.at("executions").([]any)[0].(map[string]any)
	if row["pattern"] != "classify" || row["status"] != "running" || row["duration"] != 321.0 || p.at("hasMore") != false {
		t.Errorf("body %s", p.text)
	}
}

func TestCancelExecution(t *testing.T) {
	r := newRig(t)
	var reason string
	r.executions.cancel = func(id, why string) (*core.Execution, error) {
		reason = why
		return someExecution(id, core.ExecutionCancelled), nil
	}
	p := r.do("POST", "/api/executions/"+execID+"/cancel", `{"reason":"enough"}`)
	p.wants(t, 200, "")
	if want := `{"executionId":"` + execID + `","status":"cancelled","cancelledAt":"2026-01-02T03:04:05.721Z"}`; p.text != want || reason != "enough" {
		t.Errorf("body %s, reason %q", p.text, reason)
	}
	r.do("POST", "/api/executions/"+execID+"/cancel", "").wants(t, 200, "")
	r.executions.cancel = func(id, _ string) (*core.Execution, error) {
		return nil, core.Conflict("execution", id, "completed", "the execution is completed")
	}
	p = r.do("POST", "/api/executions/"+execID+"/cancel", "{}")
	p.wants(t, 409, core.CodeConflict)
	if p.at("error", "details", "status") != "completed" {
		t.Errorf("details %v", p.at("error", "details"))
	}
}

func TestRetryAndRerun(t *testing.T) {
	r := newRig(t)
	var step string
	r.executions.rerun = func(_ context.Context, _, from string) (*core.Execution, error) {
		step = from
		return someExecution(execID2, core.ExecutionPending), nil
	}
	for path, body := range map[string]string{"retry": "", "rerun": `{"fromStep":"second"}`} {
		p := r.do("POST", "/api/executions/"+execID+"/"+path, body)
		p.wants(t, 202, "")
		if p.at("originalExecutionId") != execID || p.at("newExecutionId") != execID2 || p.at("status") != "pending" {
			t.Errorf("%s: %s", path, p.text)
		}
		if p.header.Get("Location") != "/api/executions/"+execID2 {
			t.Errorf("%s: Location %q", path, p.header.Get("Location"))
		}
	}
	if step != "second" {
		t.Errorf("rerun from %q", step)
	}
	r.do("POST", "/api/executions/"+execID+"/retry", `{"x":1}`).wants(t, 400, core.CodeValidation)
}

func TestListEvents(t *testing.T) {
	r := newRig(t)
	p := r.do("GET", "/api/executions/"+execID+"/events?limit=2&since=10", "")
	p.wants(t, 200, "")
	events := p.at("events").([]any)
	if len(events) != 2 || p.at("hasMore") != true || p.at("nextSince") != 12.0 {
		t.Fatalf("body %s", p.text)
	}
	if first := events[0].(map[string]any); first["sequence"] != 11.0 || first["type"] != "execution.started" {
		t.Errorf("first event %v", first)
	}
	p = r.do("GET", "/api/executions/"+execID+"/events?since=12", "")
	if len(p.at("events").([]any)) != 3 || p.at("hasMore") != false {
		t.Errorf("body %s", p.text)
	}
	if p = r.do("GET", "/api/executions/"+execID+"/events?since=99", ""); p.text != `{"events":[],"limit":100,"hasMore":false,"nextSince":99}` {
		t.Errorf("a page after the last event: %s", p.text)
	}
}

func TestConcurrentExecutes(t *testing.T) {
	r := newRig(t)
	replies := make(chan reply, 32)
	for range cap(replies) {
		r.doBeside(replies, "POST", "/api/patterns/a/execute", `{"input":{"a":1}}`)
	}
	for range cap(replies) {
		if p := <-replies; p.status != 200 {
			t.Errorf("status %d", p.status)
		}
	}
}
