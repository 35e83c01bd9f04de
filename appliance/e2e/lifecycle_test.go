package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/client"
)

// pipeline is a pattern of three steps, the last one a pattern of its own.
const pipeline = `name: %[1]s
version: 1.0.0
input:
  n: {type: number, required: true}
steps:
  - id: one
    agents: {capabilities: [%[2]s], min: 1}
    input: {step: one, n: $input.n}
    aggregation: {strategy: first}
  - id: two
    agents: {capabilities: [%[2]s], min: 2}
    input: {step: two, n: $input.n, before: $steps.one.result}
    aggregation: {strategy: merge, method: union}
  - id: three
    pattern: %[1]s-leaf@^1.0
    input: {step: three, n: $input.n}
output:
  one: $steps.one.result
  three: $steps.three.result
`

// Killed in the middle of each step in turn, a pipeline goes on where it stood: steps that were finished are
// not run again, also not by a rerun that keeps them.
func TestPipelineOverKills(t *testing.T) {
	t.Parallel()
	s := dev(t)
	var mu sync.Mutex
	runs := map[string]int{} // by execution and step
	gates := map[string]*gate{"one": newGate(), "two": newGate(), "three": newGate()}
	for _, g := range gates {
		t.Cleanup(g.release)
	}
	f := s.join(2, "pipe", func(ctx context.Context, n int, task *agent.Task) (any, error) {
		var in struct{ Step string }
		if err := task.Bind(&in); err != nil {
			return nil, err
		}
		mu.Lock()
		runs[task.ExecutionID+" "+in.Step]++
		mu.Unlock()
		return map[string]any{"answer": in.Step}, gates[in.Step].wait(ctx)
	})
	count := func(id, step string) int {
		mu.Lock()
		defer mu.Unlock()
		return runs[id+" "+step]
	}
	s.put(single, "pipe-leaf", "pipe")
	s.put(pipeline, "pipe", "pipe")
	id := s.async("pipe", number(1))
	for _, step := range []struct {
		name   string
		agents int
	}{{"one", 1}, {"two", 2}, {"three", 1}} {
		eventually(t, "step "+step.name, func() bool { return count(id, step.name) == step.agents })
		s.restart()
		f.wait(t)
		gates[step.name].release()
	}
	e := s.settled(id)
	const want = `{"one":{"answer":"one"},"three":{"answer":"three"}}`
	if e.Status != client.StatusCompleted || !sameJSON(e.Result, want) {
		t.Fatalf("outcome: %s %s %+v", e.Status, e.Result, e.Error)
	}
	for step, agents := range map[string]int{"one": 1, "two": 2, "three": 1} {
		if got := count(id, step); got != agents {
			t.Errorf("step %s was run %d times, want %d", step, got, agents)
		}
	}

	rerun, err := s.api.RerunExecution(t.Context(), id, "three", "")
	if err != nil {
		t.Fatal(err)
	}
	e = s.settled(rerun.NewExecutionID)
	if e.Status != client.StatusCompleted || !sameJSON(e.Result, want) {
		t.Errorf("the rerun: %s %s %+v", e.Status, e.Result, e.Error)
	}
	if count(rerun.NewExecutionID, "one")+count(rerun.NewExecutionID, "two") > 0 || count(rerun.NewExecutionID, "three") != 1 {
		t.Errorf("the rerun ran %v", runs)
	}
}

func sameJSON(raw json.RawMessage, want string) bool {
	var a, b any
	if json.Unmarshal(raw, &a) != nil || json.Unmarshal([]byte(want), &b) != nil {
		return false
	}
	return fmt.Sprint(a) == fmt.Sprint(b)
}

// A cancel and the last answer race: there is one outcome, and everyone gets it.
func TestCancelAgainstCompletion(t *testing.T) {
	t.Parallel()
	s := dev(t)
	const rounds = 40
	s.join(1, "quick", func(context.Context, int, *agent.Task) (any, error) { return map[string]any{"answer": 1}, nil })
	s.put(single, "quick", "quick")
	cancelled := 0
	for range rounds {
		id := s.async("quick", nil)
		_, err := s.api.CancelExecution(t.Context(), id, "changed my mind")
		e := s.settled(id)
		var refusal *client.Error
		switch {
		case err == nil && e.Status == client.StatusCancelled && e.CancelReason == "changed my mind" && e.CancelledAt != nil:
			cancelled++
			again, err := s.api.CancelExecution(t.Context(), id, "once more")
			if err != nil || !again.CancelledAt.Equal(*e.CancelledAt) {
				t.Errorf("a second cancel: %+v, %v", again, err)
			}
		case errors.As(err, &refusal) && refusal.Status == http.StatusConflict && e.Status == client.StatusCompleted:
		default:
			t.Fatalf("cancel says %v, the execution is %s", err, e.Status)
		}
		ends := 0
		for _, ev := range s.journal(id) {
			switch ev.Type {
			case "execution.completed", "execution.cancelled", "execution.failed":
				ends++
			default:
				if ends > 0 {
					t.Errorf("%s after the end", ev)
				}
			}
		}
		if ends != 1 {
			t.Fatalf("%d ends in %v", ends, s.journal(id))
		}
	}
	t.Logf("%d of %d were cancelled", cancelled, rounds)
}

// Many requests under one key at once make one execution and get one answer.
func TestOneKeyAtOnce(t *testing.T) {
	t.Parallel()
	s := dev(t)
	hold := newGate()
	t.Cleanup(hold.release)
	f := s.join(1, "slow", func(ctx context.Context, _ int, _ *agent.Task) (any, error) {
		return map[string]any{"answer": 1}, hold.wait(ctx)
	})
	s.put(single, "slow", "slow")
	const clients = 20
	var requests []<-chan answer
	for range clients {
		requests = append(requests, s.postBeside("/api/patterns/slow/execute", `{}`, "Idempotency-Key", "one"))
	}
	eventually(t, "the task to be at the agent", func() bool { return f.handled.Load() > 0 })
	hold.release()
	first := <-requests[0]
	for _, request := range requests[1:] {
		if a := <-request; a.status != 200 || string(a.body) != string(first.body) {
			t.Errorf("%s, and %s", a, first)
		}
	}
	if n := f.handled.Load(); n != 1 {
		t.Errorf("%d tasks were handed out", n)
	}
}

// A client that leaves does not stop its execution; one that waits too long gets its id.
func TestClientsThatDoNotWait(t *testing.T) {
	t.Parallel()
	s := dev(t)
	hold := newGate()
	t.Cleanup(hold.release)
	f := s.join(1, "slow", func(ctx context.Context, _ int, _ *agent.Task) (any, error) {
		return map[string]any{"answer": 1}, hold.wait(ctx)
	})
	s.put(single, "slow", "slow")
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := s.api.Execute(ctx, client.ExecuteRequest{Pattern: "slow"})
		left <- err
	}()
	eventually(t, "the task to be at the agent", func() bool { return f.handled.Load() == 1 })
	leave()
	if err := <-left; err == nil {
		t.Error("the client did not leave")
	}
	timeout := s.failed(s.post("/api/patterns/slow/execute", `{"options":{"timeout":200}}`), http.StatusRequestTimeout, client.CodeTimeout)
	late, _ := timeout.Error.Details["executionId"].(string)
	if e := s.settled(late); e.Status != client.StatusFailed || e.Error.Code != client.CodeTimeout || timeout.Error.Details["timeoutMs"] != 200.0 {
		t.Errorf("the late one: %s %+v, answered %+v", e.Status, e.Error, timeout)
	}
	hold.release()
	list, err := s.api.ListExecutions(t.Context(), client.ExecutionFilter{})
	if err != nil || list.Total != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	if e := s.settled(list.Executions[1].ExecutionID); e.Status != client.StatusCompleted {
		t.Errorf("the execution of the client that left: %s %+v", e.Status, e.Error)
	}
}

// What changed while the process was down is seen at its start: deadlines that passed, agents that left. And
// an execution keeps the version that it began with, though that is not the latest any more.
func TestWhatHappensWhileDown(t *testing.T) {
	t.Parallel()
	s := dev(t)
	hold := newGate()
	t.Cleanup(hold.release)
	f := s.join(1, "slow", func(ctx context.Context, _ int, task *agent.Task) (any, error) {
		return map[string]any{"answer": task.PatternVersion}, hold.wait(ctx)
	})
	s.put(single, "slow", "slow")
	s.put(single, "none", "none")
	pinned := s.async("slow", nil)
	overdue := s.async("none", nil, client.ExecuteOptions{Timeout: 1500 * time.Millisecond})
	deadline := time.Now().Add(1500 * time.Millisecond)
	eventually(t, "the task to be at the agent", func() bool { return f.handled.Load() == 1 })
	text := strings.Replace(fmt.Sprintf(single, "slow", "slow"), "1.0.0", "2.0.0", 1)
	if _, err := s.api.CreatePattern(t.Context(), client.PatternInput{Name: "slow", Version: "2.0.0", Definition: text}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.api.DeletePattern(t.Context(), "slow", "1.0.0"); err != nil {
		t.Fatal(err)
	}
	s.kill()
	eventually(t, "the deadline", func() bool { return time.Now().After(deadline) })
	s.start()
	if e := s.settled(overdue); e.Status != client.StatusFailed || e.Error.Code != client.CodeTimeout && e.Error.Code != client.CodeNoAgents {
		t.Errorf("the one that was due: %s %+v", e.Status, e.Error)
	}
	f.wait(t)
	hold.release()
	if e := s.settled(pinned); e.Pattern.Version != "1.0.0" || string(e.Result) != `{"answer":"1.0.0"}` {
		t.Errorf("the pinned one: %+v %s %+v", e.Pattern, e.Result, e.Error)
	}
}

// A batch that stops on its first error, or is cancelled, says what became of each item; a kill in between
// changes nothing.
func TestBatchEnds(t *testing.T) {
	t.Parallel()
	s := dev(t)
	hold := newGate()
	t.Cleanup(hold.release)
	f := s.join(1, "item", func(ctx context.Context, _ int, task *agent.Task) (any, error) {
		var in struct{ N int }
		if err := task.Bind(&in); err != nil {
			return nil, err
		}
		if in.N == 3 {
			return nil, errors.New("three is too many")
		}
		if in.N > 3 {
			if err := hold.wait(ctx); err != nil {
				return nil, err
			}
		}
		return map[string]any{"answer": in.N}, nil
	})
	s.put(single, "item", "item")
	inputs := make([]json.RawMessage, 12)
	for i := range inputs {
		inputs[i] = number(i)
	}
	ends := func(id string) *client.Batch {
		t.Helper()
		var b *client.Batch
		eventually(t, "the batch", func() bool {
			var err error
			if b, err = s.api.GetBatch(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			return b.Status != client.StatusRunning
		})
		for _, item := range b.Results {
			if item.ExecutionID == "" {
				continue
			}
			if e := s.get(item.ExecutionID); e.Status != item.Status {
				t.Errorf("item %d is %s, its execution %s", item.Index, item.Status, e.Status)
			}
		}
		return b
	}
	stopped, err := s.api.StartBatch(t.Context(), client.BatchRequest{Pattern: "item", Inputs: inputs, Concurrency: 2, StopOnError: true})
	if err != nil {
		t.Fatal(err)
	}
	if b := ends(stopped.BatchID); b.Status != client.StatusFailed || tally(b, client.StatusFailed) != 1 || tally(b, client.StatusCompleted) < 2 ||
		tally(b, client.StatusCancelled) == 0 || b.Completed != tally(b, client.StatusCompleted) || b.Failed != 1 || b.Completed+b.Failed+b.Cancelled != 12 {
		t.Errorf("stopped: %s", b.Body)
	}
	other, err := s.api.StartBatch(t.Context(), client.BatchRequest{Pattern: "item", Inputs: inputs, Concurrency: 2})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the batch to hang", func() bool {
		b, err := s.api.GetBatch(t.Context(), other.BatchID)
		return err == nil && b.Completed == 3 && b.Failed == 1
	})
	s.restart()
	f.wait(t)
	if _, err := s.api.CancelBatch(t.Context(), other.BatchID); err != nil {
		t.Fatal(err)
	}
	if b := ends(other.BatchID); b.Status != client.StatusCancelled || b.Completed != 3 || b.Failed != 1 || b.Cancelled != 8 ||
		tally(b, client.StatusFailed) != 1 || tally(b, client.StatusCancelled) != 8 {
		t.Errorf("cancelled: %s", b.Body)
	}
}

// tally counts the items that have a status.
func tally(b *client.Batch, status string) int {
	n := 0
	for _, item := range b.Results {
		if string(item.Status) == status {
			n++
		}
	}
	return n
}

// An operator disconnects an agent: its work goes to another, and it does not come back by itself.
func TestOperatorDisconnects(t *testing.T) {
	t.Parallel()
	s := dev(t)
	s.put(single, "task", "task")
	w := s.dial()
	reg := w.register("unwanted", "task", nil)
	id := s.async("task", nil)
	w.task()
	honest(s, "task", nil)
	if _, err := s.api.DisconnectAgent(t.Context(), reg.AgentID, "maintenance"); err != nil {
		t.Fatal(err)
	}
	w.expectClose(4403)
	s.only(id, "honest")
	back := s.dial()
	if again := back.register("unwanted", "elsewhere", resumeOf(reg)); again.Resumed {
		t.Errorf("it is back: %+v", again)
	}
	s.failed(s.post("/api/agents/agent_none/disconnect", `{}`), 404, client.CodeNotFound)
}
