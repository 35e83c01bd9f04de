package engine_test

import (
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

// hold stops the n-th commit from now until release is called; writing is closed when it is reached.
func (r *rig) hold(n int) (writing <-chan struct{}, release func()) {
	reached, released := make(chan struct{}), make(chan struct{})
	r.store.mu.Lock()
	defer r.store.mu.Unlock()
	at, earlier := r.store.commits+n, r.store.onCommit
	r.store.onCommit = func(commit int) {
		if earlier != nil {
			earlier(commit)
		}
		if commit == at {
			close(reached)
			<-released
		}
	}
	return reached, func() { close(released) }
}

// A run that has news to write while the scheduler reserves agents for it must not be given the same agent
// twice: the answers of a step come from distinct agents.
func TestGrantsDoNotOverlap(t *testing.T) {
	r := newRig(t).open()
	r.pattern("vote", core.Step{Min: 3, Need: core.TaskNeed{Capabilities: []string{"v"}}})
	r.pattern("mark", core.Step{Min: 1, Need: core.TaskNeed{Capabilities: []string{"m"}}})
	r.agents.offer("a", 8, "v")
	r.agents.offer("b", 0, "v") // there are enough for the step, and two of them are busy
	r.agents.offer("c", 0, "v")
	exec := r.start("vote")
	first := r.agents.await(t, 1)[0]
	marked := r.start("mark")

	// The answer of a is being written when b comes free and is reserved for the run.
	writing, release := r.hold(1)
	assigning, assigned := r.hold(2)
	r.agents.report(first.agent, first.task, `{"by":"a"}`, nil)
	<-writing
	r.agents.open("b", 8)
	coretest.WaitFor(t, "b to be reserved", func() bool { return r.agents.free("b") < 8 })
	release()
	// Its task is being written while the scheduler makes another pass; that it is over shows in the other
	// execution, which is younger.
	<-assigning
	r.agents.offer("m", 1, "m")
	coretest.WaitFor(t, "the pass", func() bool { return r.agents.free("m") == 0 })
	assigned()

	r.agents.open("c", 8)
	held := map[string]int{}
	for _, h := range r.agents.await(t, 3) {
		held[h.agent]++
	}
	if held["b"] != 1 || held["c"] != 1 || held["m"] != 1 {
		t.Fatalf("tasks by agent: %v", held)
	}
	for _, h := range r.agents.held() {
		r.agents.report(h.agent, h.task, `{}`, nil)
	}
	r.wait(exec.ID)
	r.wait(marked.ID)
	coretest.WaitFor(t, "every slot to be given back", func() bool {
		return r.agents.free("a") == 8 && r.agents.free("b") == 8 && r.agents.free("c") == 8
	})
}

// What was reserved for a step that is over by then is not used for the next one, which may need others.
func TestGrantOfAnEarlierStep(t *testing.T) {
	r := newRig(t).open()
	r.pattern("pipe", core.Step{ID: "one", Min: 1, Max: 2, Need: core.TaskNeed{Capabilities: []string{"x"}}},
		core.Step{ID: "two", Min: 1, Need: core.TaskNeed{Capabilities: []string{"y"}}})
	r.agents.offer("x1", 1, "x")
	r.agents.offer("x2", 0, "x")
	exec := r.start("pipe")
	first := r.agents.await(t, 1)[0]
	writing, release := r.hold(1)
	r.agents.report(first.agent, first.task, `{}`, nil)
	<-writing
	r.agents.offer("x3", 1, "x")
	coretest.WaitFor(t, "x3 to be reserved", func() bool { return r.agents.free("x3") == 0 })
	release()
	coretest.WaitFor(t, "x3 to be given back", func() bool { return r.agents.free("x3") == 1 })
	r.agents.offer("y1", 1, "y")
	coretest.WaitFor(t, "the second step to be at an agent", func() bool {
		held := r.agents.held()
		return len(held) > 0 && held[len(held)-1].task.Step == "two"
	})
	for _, h := range r.agents.held() {
		if h.task.Step == "two" && h.agent != "y1" {
			t.Fatalf("step two went to %s", h.agent)
		}
		if h.task.Step == "two" {
			r.agents.report(h.agent, h.task, `{}`, nil)
		}
	}
	r.wait(exec.ID)
}

// A run that avoids an agent which failed its task takes it after all when the last other one leaves.
func TestAvoidedAgentIsTheLastOne(t *testing.T) {
	r := newRig(t).open()
	r.pattern("p", core.Step{})
	r.agents.add("a", 1)
	exec := r.start("p")
	first := r.agents.await(t, 1)[0]
	r.agents.add("b", 0) // busy: the run waits for it
	r.agents.report("a", first.task, "", &core.TaskError{Message: "broken", Retryable: true})
	coretest.WaitFor(t, "the run to stand in line", func() bool { return r.Stats().Waiting == 1 })
	r.agents.lose("b")
	again := r.agents.await(t, 1)[0]
	if again.agent != "a" || again.task.Attempt != 2 {
		t.Fatalf("the task is at %s, attempt %d", again.agent, again.task.Attempt)
	}
	r.agents.report("a", again.task, `1`, nil)
	if got := r.wait(exec.ID); got.Status != core.ExecutionCompleted {
		t.Errorf("got %s", got.Status)
	}
}

// A step with enough answers does not wait for an agent that left before it had room.
func TestOptionalTaskWithoutAgents(t *testing.T) {
	r := newRig(t).open()
	r.pattern("p", core.Step{Min: 1, Max: 2, WaitForAll: true})
	r.agents.add("a", 1)
	r.agents.add("b", 0) // busy
	exec := r.start("p")
	first := r.agents.await(t, 1)[0]
	r.agents.report("a", first.task, `1`, nil)
	coretest.WaitFor(t, "the answer to be durable", func() bool { return r.agents.settledCount() == 1 })
	r.agents.lose("b")
	if got := r.wait(exec.ID); got.Status != core.ExecutionCompleted || len(got.Agents) != 1 {
		t.Errorf("got %s with %d answers", got.Status, len(got.Agents))
	}
}
