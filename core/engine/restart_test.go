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
