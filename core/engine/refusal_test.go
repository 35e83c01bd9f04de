package engine_test

import (
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"
	stdtime "time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

func (m *memory) refusals() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.refused
}

// A task's time begins when it is handed out, not when the store was first asked to note it.
func TestTaskTimeBeginsAfterTheStore(t *testing.T) {
	r := newRig(t)
	r.agents.add("a", 1)
	r.pattern("p", core.Step{ID: "one"}, core.Step{ID: "two"})
	r.open()
	id := r.start("p").ID
	one := r.agents.await(t, 1)[0]
	r.store.setRefuse(errReadOnly)
	r.agents.report(one.agent, one.task, `{}`, nil)
	coretest.WaitFor(t, "the store to refuse", func() bool { return r.store.refusals() > 0 })
	r.clock.Advance(stdtime.Minute) // longer than a task may take
	r.store.setRefuse(nil)
	coretest.WaitFor(t, "the second step", func() bool {
		r.clock.Advance(200 * stdtime.Millisecond)
		held := r.agents.held()
		return len(held) == 1 && held[0].task.Step == "two"
	})
	two := r.agents.await(t, 1)[0]
	r.clock.Advance(20 * stdtime.Second)
	r.agents.report(two.agent, two.task, `{}`, nil)
	if e := r.wait(id); e.Status != core.ExecutionCompleted || r.store.count(id, core.EventTaskFailed) != 0 {
		t.Errorf("%s with the journal %v", e.Status, r.store.types(id))
	}
}

// A start that the store refuses held a slot for a moment; who found it taken is woken.
func TestRefusedStartWakesTheLine(t *testing.T) {
	r := newRig(t)
	r.config.MaxActive = 1
	r.agents.add("a", 2)
	r.agents.echo()
	r.pattern("p", core.Step{})
	r.pattern("q", core.Step{})
	r.open()
	held, refused, first := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	refuse := sync.OnceFunc(func() { close(refused) })
	defer refuse()
	r.store.before = func() error {
		r.store.before = nil
		close(held) // the first start holds the slot and is about to be refused
		<-refused
		return errReadOnly
	}
	go func() {
		_, err := r.Start(t.Context(), core.ExecuteRequest{Pattern: "p", Input: json.RawMessage(`{}`)})
		first <- err
	}()
	select {
	case <-held:
	case err := <-first:
		t.Fatal("the start did not get so far: ", err)
	}
	id := r.start("q").ID
	coretest.WaitFor(t, "q to stand in line", func() bool { return r.Stats().Waiting == 1 })
	refuse()
	if err := <-first; err == nil {
		t.Fatal("the start was not refused")
	}
	coretest.WaitFor(t, "q to run", func() bool {
		e, _ := r.store.FindExecution(t.Context(), id)
		return e.Status == core.ExecutionCompleted
	})
}

// An outcome that the store will never take fails the execution, and frees its agents.
func TestUnstorableOutcome(t *testing.T) {
	r := newRig(t)
	r.agents.add("a", 1)
	r.agents.add("b", 1)
	r.pattern("p", core.Step{Min: 2, MinResults: 2})
	r.open()
	id := r.start("p").ID
	held := r.agents.await(t, 2)
	r.store.mu.Lock()
	r.store.unstorable = func(e *core.Execution) bool { return len(e.Result) > 0 || len(e.Agents) > 0 }
	r.store.mu.Unlock()
	for _, h := range held {
		r.agents.report(h.agent, h.task, `"too large"`, nil)
	}
	e := r.wait(id)
	if e.Status != core.ExecutionFailed || e.Error.Code != core.CodeInternal || e.Result != nil {
		t.Errorf("got %s, %v, result %s", e.Status, e.Error, e.Result)
	}
	coretest.WaitFor(t, "free agents", func() bool {
		return r.agents.free("a") == 1 && r.agents.free("b") == 1 && r.Stats().Running == 0
	})
}

// An engine opens on a store that takes no writes, and goes on once it does.
func TestOpenOnRefusingStore(t *testing.T) {
	r := newRig(t)
	r.agents.add("a", 1)
	r.pattern("p", core.Step{})
	r.pattern("gone", core.Step{})
	r.open()
	lost, broken := r.start("p").ID, r.start("gone").ID
	r.agents.await(t, 1)
	r.Close()
	delete(r.shelf, "gone")
	r.agents = newAgents() // the agent that had the task did not survive
	r.store.setRefuse(errReadOnly)
	r.open()
	coretest.WaitFor(t, "two refusals", func() bool { return r.store.refusals() >= 2 })
	r.store.setRefuse(nil)
	r.agents.echo()
	r.agents.add("b", 1)
	coretest.WaitFor(t, "both ends", func() bool {
		r.clock.Advance(200 * stdtime.Millisecond)
		return r.Stats().Active == 0
	})
	if e := r.wait(lost); e.Status != core.ExecutionCompleted {
		t.Errorf("got %s, %v", e.Status, e.Error)
	}
	if e := r.wait(broken); e.Error == nil || e.Error.Code != core.CodeInterrupted {
		t.Errorf("got %s, %v", e.Status, e.Error)
	}
}

// Answers that come in one burst do not spoil a race: the first acceptable one ends it.
func TestRaceInABurst(t *testing.T) {
	r := newRig(t)
	for _, id := range []string{"a", "b", "c"} {
		r.agents.add(id, 1)
	}
	r.pattern("p", core.Step{Min: 1, Max: 3, Strategy: core.StepRace, MinConfidence: 0.8})
	r.open()
	id := r.start("p").ID
	held := r.agents.await(t, 3)
	r.store.setRefuse(errReadOnly) // so that the answers gather
	r.agents.report(held[0].agent, held[0].task, `{"confidence":0.1}`, nil)
	coretest.WaitFor(t, "the store to refuse", func() bool { return r.store.refusals() > 0 })
	r.agents.report(held[1].agent, held[1].task, `{"confidence":0.9}`, nil)
	r.agents.report(held[2].agent, held[2].task, `{"confidence":0.2}`, nil)
	r.store.setRefuse(nil)
	coretest.WaitFor(t, "the end", func() bool {
		r.clock.Advance(200 * stdtime.Millisecond)
		return r.Stats().Active == 0
	})
	e := r.wait(id)
	if e.Status != core.ExecutionCompleted || string(e.Result) != `[{"confidence":0.9}]` || len(e.Agents) != 2 {
		t.Errorf("got %s %s %v", e.Status, e.Result, e.Error)
	}
}

// An execution whose deadline passed while the service was down names the agents of every step it did.
func TestDeadlinePassedMeanwhile(t *testing.T) {
	r := newRig(t)
	r.agents.add("a", 2)
	r.agents.add("b", 2)
	r.pattern("p", core.Step{ID: "one"}, core.Step{ID: "two", Min: 2, WaitForAll: true})
	r.open()
	id := r.start("p").ID
	r.oneByOneUntil("two")
	r.Close()
	r.clock.Advance(stdtime.Hour)
	r.open()
	e := r.wait(id)
	steps := []string{}
	for _, a := range e.Agents {
		steps = append(steps, a.Step)
	}
	if e.Error == nil || e.Error.Code != core.CodeTimeout || !slices.Equal(steps, []string{"one", "two", "two"}) {
		t.Errorf("got %v with agents of %v", e.Error, steps)
	}
	coretest.WaitFor(t, "no task left", func() bool { return len(r.agents.held()) == 0 })
}

// oneByOneUntil answers tasks of other steps until one of the step is out.
func (r *rig) oneByOneUntil(step string) {
	r.tb.Helper()
	coretest.WaitFor(r.tb, "step "+step, func() bool {
		for _, h := range r.agents.held() {
			if h.task.Step == step {
				return true
			}
			r.agents.report(h.agent, h.task, `{}`, nil)
		}
		return false
	})
}

var errUnstorable = errors.New("cannot be stored")
