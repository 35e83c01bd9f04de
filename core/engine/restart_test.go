package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand"
	"slices"
	"sync"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

// TestRandomRestarts runs patterns while the engine is closed and opened at random commits, and checks
// that each ends as without restarts: no answer lost, no settled answer asked for again, no status back.
func TestRandomRestarts(t *testing.T) {
	for seed := range 20 {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rnd := rand.New(rand.NewSource(int64(seed)))
			r := newRig(t)
			for _, id := range []string{"a", "b", "c"} {
				r.agents.add(id, 4)
			}
			r.pattern("p", core.Step{ID: "one", Min: 2, WaitForAll: true}, core.Step{ID: "two", Min: 3, WaitForAll: true}, core.Step{ID: "three"})
			r.open()
			var ids []string
			for range 12 {
				ids = append(ids, r.start("p").ID)
			}
			settled := map[string]bool{} // "task" whose answer was acknowledged
			var mu sync.Mutex
			for range 10000 {
				held := r.agents.held()
				if len(held) == 0 {
					done := true
					for _, id := range ids {
						if e, _ := r.store.FindExecution(context.Background(), id); !e.Status.Terminal() {
							done = false
						}
					}
					if done {
						break
					}
					coretest.WaitFor(t, "tasks or the end", func() bool {
						if len(r.agents.held()) > 0 {
							return true
						}
						active, _ := r.store.ActiveExecutions(context.Background())
						return len(active) == 0
					})
					continue
				}
				h := held[rnd.Intn(len(held))]
				mu.Lock()
				if settled[h.task.ID] {
					// Seen once between the acknowledgement and the release: let it pass.
					mu.Unlock()
					continue
				}
				mu.Unlock()
				ack := make(chan struct{})
				r.TaskReported(core.TaskReport{
					AgentID: h.agent, TaskID: h.task.ID, ExecutionID: h.task.ExecutionID, Attempt: h.task.Attempt,
					Result: json.RawMessage(fmt.Sprintf("%q", h.task.Step)),
					Settled: func() {
						mu.Lock()
						settled[h.task.ID] = true
						mu.Unlock()
						close(ack)
					},
				})
				if rnd.Intn(4) == 0 {
					r.Close()
					r.agents.mu.Lock()
					r.agents.inbox = nil
					for id := range r.agents.slots {
						r.agents.slots[id] = 4
					}
					r.agents.mu.Unlock()
					r.open()
					mu.Lock()
					for _, again := range r.agents.held() {
						if settled[again.task.ID] {
							t.Errorf("task %s was acknowledged and handed out again", again.task.ID)
						}
					}
					mu.Unlock()
				} else {
					<-ack
				}
			}
			for _, id := range ids {
				got := r.wait(id)
				if got.Status != core.ExecutionCompleted || len(got.Agents) != 6 {
					t.Errorf("%s is %s with %d answers, want completed with 6", id, got.Status, len(got.Agents))
				}
				if n := r.store.count(id, core.EventTaskCompleted); n != 6 {
					t.Errorf("%s has %d answers in its journal, want 6", id, n)
				}
				order := r.store.statuses[id]
				if !slices.IsSortedFunc(order, func(x, y core.ExecutionStatus) int {
					return slices.Index(core.ExecutionStatuses, x) - slices.Index(core.ExecutionStatuses, y)
				}) {
					t.Errorf("%s went through %v", id, order)
				}
			}
		})
	}
}

// The one step of a composed pattern without steps has a name, and a failure that is taken up again says
// how its tasks ended as it would have said undisturbed.
func TestComposedPathAndResumedStatus(t *testing.T) {
	r := newRig(t)
	r.agents.add("a", 1)
	r.agents.add("b", 1)
	r.config.TaskRetries = 0
	r.open()
	r.pattern("inner", core.Step{Min: 2, WaitForAll: true})
	r.pattern("outer", core.Step{ID: "one", Compose: &core.Composition{Name: "inner"}})
	exec := r.start("outer")
	held := r.agents.await(t, 2)
	if held[0].task.Step != "one/main" {
		t.Errorf("the step is called %q", held[0].task.Step)
	}
	r.agents.report(held[0].agent, held[0].task, `1`, nil)
	coretest.WaitFor(t, "the answer to be durable", func() bool { return r.agents.settledCount() == 1 })
	r.clock.Advance(r.config.TaskTimeout)
	got := r.wait(exec.ID)
	if got.Status != core.ExecutionFailed || got.Agents[1].Status != "timeout" {
		t.Errorf("got %s, agents %+v", got.Status, got.Agents)
	}

	// The same with a restart between the timeout and the end.
	r.pattern("three", core.Step{Min: 2, Max: 3, WaitForAll: true})
	r.agents.add("c", 1)
	second := r.start("three")
	late := r.agents.await(t, 3)
	r.agents.report(late[0].agent, late[0].task, `1`, nil)
	coretest.WaitFor(t, "the answer to be durable", func() bool { return r.agents.settledCount() == 2 })
	r.clock.Advance(r.config.TaskTimeout / 2)
	r.Close()
	r.agents.mu.Lock()
	r.agents.inbox = nil
	r.agents.mu.Unlock()
	r.agents.lose(late[1].agent)
	r.open() // late[1] is lost, late[2] is adopted and times out
	r.agents.await(t, 1)
	coretest.WaitFor(t, "the loss to be durable", func() bool { return r.store.count(second.ID, core.EventTaskFailed) == 1 })
	r.restart()
	r.agents.await(t, 1)
	coretest.WaitFor(t, "the run's timer", func() bool { return r.clock.Pending() == 1 })
	r.clock.Advance(2 * r.config.TaskTimeout)
	got = r.wait(second.ID)
	statuses := map[string]string{}
	for _, a := range got.Agents {
		statuses[a.ID] = a.Status
	}
	if statuses[late[1].agent] != "lost" || statuses[late[2].agent] != "timeout" {
		t.Errorf("got %s, agents %v", got.Status, statuses)
	}
}
