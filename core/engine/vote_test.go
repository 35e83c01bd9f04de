package engine_test

import (
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"testing"
	stdtime "time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

// An agent has one vote in a step: its answer to an attempt that was given up does not count beside the task of another
// that it took over meanwhile.
func TestOneVoteAnAgent(t *testing.T) {
	r := newRig(t)
	r.agents.add("b", 1)
	r.agents.add("a", 1)
	r.open()
	r.pattern("p", core.Step{Min: 2, WaitForAll: true})
	exec := r.start("p")
	out := r.agents.await(t, 2)
	b, a := out[0], out[1]
	if b.agent != "b" || a.agent != "a" {
		t.Fatalf("the tasks are at %s and %s", b.agent, a.agent)
	}
	r.agents.lose("b")
	coretest.WaitFor(t, "the loss", func() bool { return r.store.count(exec.ID, core.EventTaskFailed) == 1 })
	r.clock.Advance(r.config.TaskTimeout) // a is too late, and takes over the task of b
	coretest.WaitFor(t, "another attempt", func() bool { return r.store.count(exec.ID, core.EventTaskAssigned) == 2 })
	over := r.agents.await(t, 1)[0]
	if over.agent != "a" || over.task.ID != b.task.ID {
		t.Fatalf("%s has %s, want a with %s", over.agent, over.task.ID, b.task.ID)
	}
	r.agents.report("a", a.task, `{"vote":"first"}`, nil) // was on its way when its time was over
	coretest.WaitFor(t, "the report to settle", func() bool { return r.agents.settledCount() == 1 })
	r.agents.report("a", over.task, `{"vote":"second"}`, nil)
	coretest.WaitFor(t, "the answer", func() bool { return r.agents.settledCount() == 2 })
	if n := r.store.count(exec.ID, core.EventTaskCompleted); n != 1 {
		t.Errorf("%d votes of one agent count", n)
	}
	if n := r.store.count(exec.ID, core.EventTaskLate); n != 1 {
		t.Errorf("%d late reports are journaled, want 1", n)
	}
	r.agents.add("c", 1)
	last := r.agents.await(t, 1)[0]
	if last.agent != "c" || last.task.ID != a.task.ID {
		t.Fatalf("%s has %s, want c with %s", last.agent, last.task.ID, a.task.ID)
	}
	r.agents.report("c", last.task, `{"vote":"third"}`, nil)
	if got := r.wait(exec.ID); got.Status != core.ExecutionCompleted || string(got.Result) != `[{"vote":"second"},{"vote":"third"}]` {
		t.Errorf("it is %s with %s: %+v", got.Status, got.Result, got.Error)
	}
}

// Whatever agents do and however often the server is killed: every task of a vote counts once and every agent has one vote, and
// the vote comes to its end.
func TestRandomVotes(t *testing.T) {
	for seed := range int64(200) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewSource(seed))
			r := newRig(t)
			r.config.TaskRetries = 100
			least := 2 + rnd.Intn(3)
			all := rnd.Intn(2) == 0
			r.pattern("p", core.Step{Min: least, Max: least + rnd.Intn(2), WaitForAll: all, MinResults: least})
			for i := range least {
				r.agents.add(fmt.Sprint("agent", i), 1+rnd.Intn(2))
			}
			r.open()
			exec := r.startWith(core.ExecuteRequest{Pattern: "p", Options: core.ExecuteOptions{TimeoutMs: 86400000}})
			var past []handed // what was ever at an agent
			over := func() bool {
				e, err := r.FindExecution(t.Context(), exec.ID)
				return err == nil && e.Status.Terminal()
			}
			for n := 0; n < 400 && !over(); n++ {
				out := r.agents.held()
				past = append(past, out...)
				switch k := rnd.Intn(20); {
				case k < 1 && len(out) > 0:
					h := out[rnd.Intn(len(out))]
					r.agents.report(h.agent, h.task, fmt.Sprintf(`{"by":%q}`, h.agent), nil)
				case k < 6 && len(past) > 0: // again, or too late
					h := past[rnd.Intn(len(past))]
					r.agents.report(h.agent, h.task, fmt.Sprintf(`{"by":%q}`, h.agent), nil)
				case k < 9 && len(out) > 0:
					h := out[rnd.Intn(len(out))]
					r.agents.report(h.agent, h.task, "", &core.TaskError{Code: "NOT_NOW", Message: "not now", Retryable: true})
				case k < 15:
					r.clock.Advance(r.config.TaskTimeout)
				case k < 17 && len(out) > 0:
					r.agents.lose(out[rnd.Intn(len(out))].agent)
					if rnd.Intn(3) == 0 {
						r.agents.add(fmt.Sprint("another", n), 1)
					}
				case k < 18:
					r.Close()
					r.agents.mu.Lock()
					maps.Copy(r.agents.slots, r.agents.sizes)
					for agent := range r.agents.slots {
						if !slices.Contains(r.agents.order, agent) {
							delete(r.agents.slots, agent)
						}
					}
					r.agents.mu.Unlock()
					r.restart()
				}
			}
			coretest.WaitFor(t, "the end", func() bool {
				for _, h := range r.agents.held() {
					r.agents.report(h.agent, h.task, fmt.Sprintf(`{"by":%q}`, h.agent), nil)
				}
				if !over() && len(r.agents.held()) == 0 {
					r.agents.add(fmt.Sprint("last", r.clock.Now().UnixNano()), 1)
					r.clock.Advance(stdtime.Second)
				}
				return over()
			})
			agents, tasks := map[string]int{}, map[string]int{}
			for _, ev := range r.store.events[exec.ID] {
				var d struct{ TaskID, AgentID string }
				if ev.Type == core.EventTaskCompleted {
					mustUnmarshal(ev.Data, &d)
					agents[d.AgentID]++
					tasks[d.TaskID]++
				}
			}
			for what, counts := range map[string]map[string]int{"agent": agents, "task": tasks} {
				for id, n := range counts {
					if n != 1 {
						t.Errorf("%s %s counts %d times", what, id, n)
					}
				}
			}
			got := r.wait(exec.ID)
			if got.Status != core.ExecutionCompleted || len(agents) < least {
				t.Errorf("it is %s with %d votes of %d: %+v", got.Status, len(agents), least, got.Error)
			}
		})
	}
}
