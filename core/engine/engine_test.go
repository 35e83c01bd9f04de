package engine_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	stdtime "time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

func TestExecuteParallel(t *testing.T) {
	r := newRig(t)
	r.pattern("triage", core.Step{Min: 3, WaitForAll: true})
	for i := range 3 {
		r.agents.add(fmt.Sprint("agent_", i), 10)
	}
	r.agents.echo()
	r.open()
	exec := r.wait(r.start("triage").ID)
	if exec.Status != core.ExecutionCompleted || len(exec.Agents) != 3 {
		t.Fatalf("got %s with %d agents: %+v", exec.Status, len(exec.Agents), exec.Error)
	}
	types := r.store.types(exec.ID)
	want := []core.EventType{
		core.EventExecutionStarted, core.EventTaskAssigned,
		core.EventTaskCompleted, core.EventTaskCompleted, core.EventTaskCompleted, core.EventExecutionCompleted,
	}
	if !slices.Equal(types, want) {
		t.Errorf("journal is %v, want %v", types, want)
	}
	if got := r.agents.settledCount(); got != 3 {
		t.Errorf("%d reports settled, want 3", got)
	}
	for id, free := range r.agents.slots {
		if free != 10 {
			t.Errorf("agent %s has %d free slots after the end, want 10", id, free)
		}
	}
}

func TestStartRefuses(t *testing.T) {
	r := newRig(t)
	r.pattern("p", core.Step{Min: 2})
	r.agents.add("a", 1)
	r.config.MaxQueued = 1
	r.open()
	cases := []struct {
		name  string
		req   core.ExecuteRequest
		code  core.Code
		field string
	}{
		{"unknown pattern", core.ExecuteRequest{Pattern: "nope"}, core.CodeNotFound, ""},
		{"bad input", core.ExecuteRequest{Pattern: "p", Input: json.RawMessage(`{"text":"bad"}`)}, core.CodeValidation, "input.text"},
		{"negative timeout", core.ExecuteRequest{Pattern: "p", Options: core.ExecuteOptions{TimeoutMs: -1}}, core.CodeValidation, "options.timeout"},
		{"timeout over the maximum", core.ExecuteRequest{Pattern: "p", Options: core.ExecuteOptions{TimeoutMs: 1 << 50}}, core.CodeValidation, "options.timeout"},
		{"unknown priority", core.ExecuteRequest{Pattern: "p", Options: core.ExecuteOptions{Priority: "urgent"}}, core.CodeValidation, "options.priority"},
		{"too few agents", core.ExecuteRequest{Pattern: "p", RequireAgents: true}, core.CodeNoAgents, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := r.Start(t.Context(), c.req)
			if got := core.ErrorCode(err); got != c.code {
				t.Fatalf("got %v, want code %s", err, c.code)
			}
			if c.field != "" && core.AsError(err).Details["field"] != c.field {
				t.Errorf("details are %v, want field %s", core.AsError(err).Details, c.field)
			}
		})
	}
	if len(r.store.executions) != 0 {
		t.Errorf("%d executions were stored by refused requests", len(r.store.executions))
	}
	r.agents.lose("a")
	r.start("p") // waits for agents: the queue is full now
	// A pass of the scheduler takes a slot for a moment before it finds that there are no agents: who comes then is
	// let in.
	coretest.WaitFor(t, "RATE_LIMITED", func() bool {
		_, err := r.Start(t.Context(), core.ExecuteRequest{Pattern: "p"})
		return core.ErrorCode(err) == core.CodeRateLimited
	})
}

func TestPendingUntilAgentsCome(t *testing.T) {
	r := newRig(t).open()
	r.pattern("p", core.Step{Min: 2, Max: 3})
	exec := r.start("p")
	if exec.Status != core.ExecutionPending {
		t.Fatalf("status is %s, want pending", exec.Status)
	}
	r.agents.echo()
	r.agents.add("a", 1)
	r.agents.add("b", 1)
	got := r.wait(exec.ID)
	if got.Status != core.ExecutionCompleted || len(got.Agents) != 2 {
		t.Fatalf("got %s with %d agents, want completed with the 2 there are", got.Status, len(got.Agents))
	}
	if !slices.Equal(r.store.statuses[exec.ID], []core.ExecutionStatus{core.ExecutionPending, core.ExecutionRunning, core.ExecutionCompleted}) {
		t.Errorf("statuses were %v", r.store.statuses[exec.ID])
	}
}

func TestDeadline(t *testing.T) {
	t.Run("without agents", func(t *testing.T) {
		r := newRig(t).open()
		r.pattern("p", core.Step{})
		exec := r.start("p")
		r.clock.Advance(5 * stdtime.Minute)
		if got := r.wait(exec.ID); got.Error == nil || got.Error.Code != core.CodeNoAgents {
			t.Errorf("got %+v, want NO_AGENTS", got.Error)
		}
	})
	t.Run("while an agent works", func(t *testing.T) {
		r := newRig(t)
		r.agents.add("a", 1)
		r.open()
		r.pattern("p", core.Step{TaskTimeout: stdtime.Hour})
		exec := r.startWith(core.ExecuteRequest{Pattern: "p", Options: core.ExecuteOptions{TimeoutMs: 1500}})
		r.agents.await(t, 1)
		r.clock.Advance(1500 * stdtime.Millisecond)
		got := r.wait(exec.ID)
		if got.Error == nil || got.Error.Code != core.CodeTimeout || !strings.Contains(got.Error.Message, "1500 ms") {
			t.Errorf("got %+v, want TIMEOUT naming 1500 ms", got.Error)
		}
		if len(got.Agents) != 1 || got.Agents[0].ID != "a" || got.Agents[0].Status != "timeout" {
			t.Errorf("agents %+v, want a with status timeout", got.Agents)
		}
		coretest.WaitFor(t, "the task to be cancelled at the agent", func() bool { return len(r.agents.held()) == 0 })
	})
}

// TestNamesOfAgents: people are told of agents by their names.
func TestNamesOfAgents(t *testing.T) {
	r := newRig(t)
	r.agents.names = map[string]string{"a": "ada", "b": "bob"}
	r.agents.add("a", 1)
	r.open()
	r.pattern("p", core.Step{})
	done := r.start("p")
	first := r.agents.await(t, 1)[0]
	r.agents.report(first.agent, first.task, `1`, nil)
	if got := r.wait(done.ID); len(got.Agents) != 1 || got.Agents[0].ID != "a" || got.Agents[0].Name != "ada" {
		t.Errorf("answered by %+v", got.Agents)
	}
	failed := r.start("p")
	second := r.agents.await(t, 1)[0]
	r.agents.report(second.agent, second.task, "", &core.TaskError{Message: "no"})
	got := r.wait(failed.ID)
	if got.Error == nil || got.Error.Message != "agent ada: no" || got.Error.Details["agentId"] != "a" {
		t.Errorf("failed by %+v", got.Error)
	}
	if len(got.Agents) != 1 || got.Agents[0].Name != "ada" || got.Agents[0].Status != "failed" {
		t.Errorf("asked %+v", got.Agents)
	}
}

func TestTaskFailures(t *testing.T) {
	broken := &core.TaskError{Code: "X", Message: "broken", Retryable: true}
	t.Run("a retryable error goes to another agent", func(t *testing.T) {
		r := newRig(t)
		r.agents.add("a", 1)
		r.agents.add("b", 1)
		r.open()
		r.pattern("p", core.Step{})
		exec := r.start("p")
		first := r.agents.await(t, 1)[0]
		r.agents.report(first.agent, first.task, "", broken)
		coretest.WaitFor(t, "the second attempt", func() bool {
			held := r.agents.held()
			return len(held) == 1 && held[0].agent == "b"
		})
		second := r.agents.held()[0]
		if second.task.ID != first.task.ID || second.task.Attempt != 2 {
			t.Errorf("the second attempt is %s/%d, want %s/2", second.task.ID, second.task.Attempt, first.task.ID)
		}
		r.agents.report(second.agent, second.task, `1`, nil)
		if got := r.wait(exec.ID); got.Status != core.ExecutionCompleted {
			t.Errorf("got %s", got.Status)
		}
	})
	t.Run("the only agent is asked again, and at most three times in all", func(t *testing.T) {
		r := newRig(t)
		r.agents.add("a", 1)
		r.agents.answer = func(string, core.Task) (string, *core.TaskError) { return "", broken }
		r.open()
		r.pattern("p", core.Step{})
		got := r.wait(r.start("p").ID)
		if got.Status != core.ExecutionFailed || got.Error.Code != core.CodeAgentError {
			t.Fatalf("got %s %+v", got.Status, got.Error)
		}
		if n := r.store.count(got.ID, core.EventTaskFailed); n != 3 {
			t.Errorf("%d attempts, want 3", n)
		}
	})
	t.Run("an error that is not retryable ends the task", func(t *testing.T) {
		r := newRig(t)
		r.agents.add("a", 1)
		r.agents.add("b", 1)
		r.open()
		r.pattern("p", core.Step{Min: 1, Max: 2, WaitForAll: true})
		exec := r.start("p")
		held := r.agents.await(t, 2)
		r.agents.report(held[0].agent, held[0].task, "", &core.TaskError{Message: "no"})
		r.agents.report(held[1].agent, held[1].task, `2`, nil)
		if got := r.wait(exec.ID); got.Status != core.ExecutionCompleted || len(got.Agents) != 1 {
			t.Errorf("got %s with %d answers, want completed with 1 of 2", got.Status, len(got.Agents))
		}
	})
	t.Run("a hanging agent loses the task, and its late answer is fenced", func(t *testing.T) {
		r := newRig(t)
		r.agents.add("a", 1)
		r.open()
		r.pattern("p", core.Step{})
		exec := r.start("p")
		first := r.agents.await(t, 1)[0]
		r.agents.add("b", 1)
		r.clock.Advance(30 * stdtime.Second)
		coretest.WaitFor(t, "the second attempt", func() bool {
			held := r.agents.held()
			return len(held) == 1 && held[0].agent == "b"
		})
		r.agents.report("a", first.task, `"late"`, nil)
		coretest.WaitFor(t, "the late report to be settled", func() bool { return r.agents.settledCount() == 1 })
		if n := r.store.count(exec.ID, core.EventTaskLate); n != 1 {
			t.Errorf("%d late reports journaled, want 1", n)
		}
		second := r.agents.held()[0]
		r.agents.report("b", second.task, `"good"`, nil)
		if got := r.wait(exec.ID); string(got.Result) != `["good"]` {
			t.Errorf("result is %s", got.Result)
		}
		r.agents.report("b", second.task, `"good"`, nil) // twice: settled, nothing more
		coretest.WaitFor(t, "the double report to be settled", func() bool { return r.agents.settledCount() == 3 })
	})
	t.Run("a lost agent's task is reassigned", func(t *testing.T) {
		r := newRig(t)
		r.agents.add("a", 1)
		r.open()
		r.pattern("p", core.Step{})
		exec := r.start("p")
		r.agents.await(t, 1)
		r.agents.lose("a")
		r.agents.echo()
		r.agents.add("b", 1)
		if got := r.wait(exec.ID); got.Status != core.ExecutionCompleted || got.Agents[0].ID != "b" {
			t.Errorf("got %s by %v", got.Status, got.Agents)
		}
	})
}

func TestStrategies(t *testing.T) {
	t.Run("sequential", func(t *testing.T) {
		r := newRig(t)
		for _, id := range []string{"a", "b", "c"} {
			r.agents.add(id, 1)
		}
		r.open()
		r.pattern("p", core.Step{Min: 3, Strategy: core.StepSequential, WaitForAll: true})
		exec := r.start("p")
		for i := range 3 {
			held := r.agents.await(t, 1)
			if seen := strings.Count(string(held[0].task.Context), "agentId"); seen != i {
				t.Errorf("task %d sees %d earlier answers, want %d: %s", i, seen, i, held[0].task.Context)
			}
			r.agents.report(held[0].agent, held[0].task, fmt.Sprint(i), nil)
			id := held[0].task.ID
			coretest.WaitFor(t, "the next task", func() bool {
				held := r.agents.held()
				return (len(held) == 1 && held[0].task.ID != id) || (i == 2 && len(held) == 0)
			})
		}
		if got := r.wait(exec.ID); string(got.Result) != `[0,1,2]` {
			t.Errorf("result is %s", got.Result)
		}
	})
	t.Run("race takes the first acceptable answer and cancels the rest", func(t *testing.T) {
		r := newRig(t)
		for _, id := range []string{"a", "b", "c"} {
			r.agents.add(id, 1)
		}
		r.open()
		r.pattern("p", core.Step{Min: 1, Max: 3, Strategy: core.StepRace, WaitForAll: true, MinConfidence: 0.5, OnInvalid: core.OnInvalidFail})
		exec := r.start("p")
		held := r.agents.await(t, 3)
		r.agents.report(held[0].agent, held[0].task, `{"confidence":0.1}`, nil)
		r.agents.report(held[1].agent, held[1].task, `{"confidence":0.95}`, nil)
		got := r.wait(exec.ID)
		if got.Status != core.ExecutionCompleted {
			t.Fatalf("got %s %+v", got.Status, got.Error)
		}
		coretest.WaitFor(t, "the third task to be cancelled", func() bool { return len(r.agents.held()) == 0 })
	})
	t.Run("minResults ends the step early", func(t *testing.T) {
		r := newRig(t)
		for _, id := range []string{"a", "b", "c"} {
			r.agents.add(id, 1)
		}
		r.open()
		r.pattern("p", core.Step{Min: 1, Max: 3, MinResults: 2})
		exec := r.start("p")
		held := r.agents.await(t, 3)
		r.agents.report(held[2].agent, held[2].task, `2`, nil)
		r.agents.report(held[0].agent, held[0].task, `0`, nil)
		if got := r.wait(exec.ID); string(got.Result) != `[2,0]` {
			t.Errorf("result is %s", got.Result)
		}
	})
}

func TestValidationRules(t *testing.T) {
	for _, c := range []struct {
		rule    core.OnInvalid
		retries int
		status  core.ExecutionStatus
		result  string
		tasks   int
	}{
		{core.OnInvalidFail, 0, core.ExecutionFailed, "", 1},
		{core.OnInvalidRetry, 2, core.ExecutionFailed, "", 3},
		{core.OnInvalidFallback, 0, core.ExecutionCompleted, `{"category":"unknown"}`, 1},
	} {
		t.Run(string(c.rule), func(t *testing.T) {
			r := newRig(t)
			r.agents.add("a", 1)
			r.agents.answer = func(string, core.Task) (string, *core.TaskError) { return `{"confidence":0.2}`, nil }
			r.open()
			r.pattern("p", core.Step{MinConfidence: 0.5, OnInvalid: c.rule, MaxRetries: c.retries, Fallback: json.RawMessage(`{"category":"unknown"}`)})
			got := r.wait(r.start("p").ID)
			if got.Status != c.status || string(got.Result) != c.result {
				t.Errorf("got %s %s, want %s %s", got.Status, got.Result, c.status, c.result)
			}
			if c.status == core.ExecutionFailed && got.Error.Code != core.CodeValidation {
				t.Errorf("error is %+v", got.Error)
			}
			if len(r.agents.handled) != c.tasks {
				t.Errorf("%d tasks were worked on, want %d", len(r.agents.handled), c.tasks)
			}
		})
	}
}

func TestStepsAndComposition(t *testing.T) {
	r := newRig(t)
	r.agents.add("a", 5)
	r.agents.echo()
	r.open()
	r.pattern("inner", core.Step{ID: "x"}, core.Step{ID: "y"})
	r.pattern("outer", core.Step{ID: "one"}, core.Step{ID: "two", Compose: &core.Composition{Name: "inner"}}, core.Step{ID: "three"})
	got := r.wait(r.start("outer").ID)
	if got.Status != core.ExecutionCompleted {
		t.Fatalf("got %s %+v", got.Status, got.Error)
	}
	var steps []string
	for _, a := range got.Agents {
		steps = append(steps, a.Step)
	}
	if want := []string{"one", "two/x", "two/y", "three"}; !slices.Equal(steps, want) {
		t.Errorf("steps are %v, want %v", steps, want)
	}
	r.pattern("loop", core.Step{ID: "again", Compose: &core.Composition{Name: "loop"}})
	if _, err := r.Start(t.Context(), core.ExecuteRequest{Pattern: "loop"}); core.ErrorCode(err) != core.CodeValidation {
		t.Errorf("a circle gave %v", err)
	}
}

func TestCancel(t *testing.T) {
	r := newRig(t)
	r.agents.add("a", 1)
	r.open()
	r.pattern("p", core.Step{})
	exec := r.start("p")
	r.agents.await(t, 1)
	first, err := r.Cancel(core.WithPrincipal(t.Context(), core.Principal{ID: "ann"}), exec.ID, "changed my mind")
	if err != nil || first.CancelledAt == nil || first.CancelReason != "changed my mind" || first.CancelledBy != "ann" {
		t.Fatalf("got %+v, %v", first, err)
	}
	if events, _, err := r.store.Events(t.Context(), exec.ID, 0, 10); err != nil || events[len(events)-1].By != "ann" {
		t.Errorf("%+v, %v", events, err)
	}
	r.clock.Advance(stdtime.Second)
	second, err := r.Cancel(t.Context(), exec.ID, "again")
	if err != nil || !second.CancelledAt.Equal(*first.CancelledAt) {
		t.Errorf("the second cancel gave %+v, %v", second, err)
	}
	coretest.WaitFor(t, "the agent to be told", func() bool { return len(r.agents.held()) == 0 })
	r.agents.echo()
	done := r.wait(r.start("p").ID)
	if _, err := r.Cancel(t.Context(), done.ID, ""); core.ErrorCode(err) != core.CodeConflict {
		t.Errorf("cancel of a completed execution gave %v", err)
	}
	if _, err := r.Cancel(t.Context(), "exec_nope", ""); core.ErrorCode(err) != core.CodeNotFound {
		t.Errorf("cancel of an unknown execution gave %v", err)
	}
}

func TestRetryAndRerun(t *testing.T) {
	r := newRig(t)
	r.agents.add("a", 1)
	fail := "two"
	r.agents.answer = func(_ string, task core.Task) (string, *core.TaskError) {
		if task.Step == fail {
			return "", &core.TaskError{Message: "no"}
		}
		return fmt.Sprintf("%q", task.Step), nil
	}
	r.open()
	r.pattern("p", core.Step{ID: "one"}, core.Step{ID: "two"}, core.Step{ID: "three"})
	failed := r.wait(r.start("p").ID)
	if failed.Status != core.ExecutionFailed {
		t.Fatalf("got %s", failed.Status)
	}
	fail = ""
	for _, c := range []struct {
		from  string
		tasks int
	}{{"", 2}, {"two", 2}, {"one", 3}} {
		before := len(r.agents.handled)
		again, err := r.Rerun(t.Context(), failed.ID, c.from)
		if err != nil {
			t.Fatal(err)
		}
		got := r.wait(again.ID)
		if got.Status != core.ExecutionCompleted || len(got.Agents) != 3 || got.RetryOf != failed.ID {
			t.Errorf("rerun from %q: %s with %d answers", c.from, got.Status, len(got.Agents))
		}
		if worked := len(r.agents.handled) - before; worked != c.tasks {
			t.Errorf("rerun from %q worked on %d tasks, want %d", c.from, worked, c.tasks)
		}
	}
	for _, from := range []string{"three", "nope"} {
		if _, err := r.Rerun(t.Context(), failed.ID, from); core.ErrorCode(err) != core.CodeValidation {
			t.Errorf("rerun from %q gave %v, want VALIDATION_ERROR", from, err)
		}
	}
	retried, err := r.Retry(t.Context(), failed.ID)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.wait(retried.ID); got.Status != core.ExecutionCompleted || got.RetryOf != failed.ID {
		t.Errorf("retry gave %+v", got)
	}
}

func TestLimitsAndPriority(t *testing.T) {
	r := newRig(t)
	r.config.MaxActive = 1
	r.agents.add("a", 10)
	r.open()
	r.pattern("p", core.Step{TaskTimeout: stdtime.Hour})
	r.start("p")
	r.agents.await(t, 1)
	with := func(p core.Priority) string {
		return r.startWith(core.ExecuteRequest{Pattern: "p", Options: core.ExecuteOptions{Priority: p}}).ID
	}
	low := with(core.PriorityLow)
	normal := with(core.PriorityNormal)
	critical := with(core.PriorityCritical)
	var order []string
	for range 4 {
		held := r.agents.await(t, 1)[0]
		order = append(order, held.task.ExecutionID)
		r.agents.report(held.agent, held.task, `1`, nil)
		r.wait(held.task.ExecutionID)
	}
	if want := []string{critical, normal, low}; !slices.Equal(order[1:], want) {
		t.Errorf("order is %v, want %v", order[1:], want)
	}
}

func TestStoreRefusesThenRecovers(t *testing.T) {
	r := newRig(t)
	r.agents.add("a", 1)
	r.open()
	r.pattern("p", core.Step{})
	exec := r.start("p")
	held := r.agents.await(t, 1)[0]
	r.store.setRefuse(core.Unavailable("store_low_space", "the disk is full"))
	if _, err := r.Start(t.Context(), core.ExecuteRequest{Pattern: "p"}); !core.AsError(err).Unavailable {
		t.Errorf("start gave %v, want an unavailable error", err)
	}
	pending := r.clock.Pending()
	r.agents.report(held.agent, held.task, `1`, nil)
	coretest.WaitFor(t, "the run to wait for the store", func() bool { return r.clock.Pending() > pending })
	if r.agents.settledCount() != 0 {
		t.Error("the answer was acknowledged before it was durable")
	}
	r.store.setRefuse(nil)
	r.clock.Advance(stdtime.Second)
	if got := r.wait(exec.ID); got.Status != core.ExecutionCompleted {
		t.Errorf("got %s", got.Status)
	}
}

func TestRestartKeepsAnswers(t *testing.T) {
	r := newRig(t)
	for _, id := range []string{"a", "b", "c"} {
		r.agents.add(id, 1)
	}
	r.open()
	r.pattern("p", core.Step{Min: 3, WaitForAll: true})
	exec := r.start("p")
	held := r.agents.await(t, 3)
	r.agents.report(held[0].agent, held[0].task, `"kept"`, nil)
	coretest.WaitFor(t, "the answer to be durable", func() bool { return r.agents.settledCount() == 1 })
	r.Close()
	r.agents.mu.Lock()
	r.agents.inbox = nil
	r.agents.mu.Unlock()
	r.agents.lose("c") // did not come back
	r.agents.add("d", 1)
	r.open()
	coretest.WaitFor(t, "b to be adopted and d to get c's task", func() bool { return len(r.agents.held()) == 2 })
	for _, h := range r.agents.held() {
		if h.agent != "b" && h.agent != "d" {
			t.Errorf("task at %s", h.agent)
		}
		r.agents.report(h.agent, h.task, fmt.Sprintf("%q", h.agent), nil)
	}
	got := r.wait(exec.ID)
	if got.Status != core.ExecutionCompleted || !strings.Contains(string(got.Result), "kept") {
		t.Errorf("got %s %s", got.Status, got.Result)
	}
	for id, n := range r.agents.handled {
		if n != 1 {
			t.Errorf("task %s was worked on %d times", id, n)
		}
	}
}
