package engine_test

import (
	"fmt"
	"maps"
	"math/rand"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

// randomSteps makes a workflow of all kinds of steps.
func randomSteps(rnd *rand.Rand, n, depth int) []*core.ChartStep {
	steps := make([]*core.ChartStep, n)
	for i := range steps {
		steps[i] = randomStep(rnd, depth)
	}
	// An aggregate needs a list before it, an approve step that retries something to run again.
	for i := 1; i < n; i++ {
		switch {
		case steps[i-1].Kind == core.KindParallel && rnd.Intn(2) == 0:
			steps[i] = aggregate()
		case rnd.Intn(5) == 0:
			steps[i] = approve("strict", core.OnRejectRetry, 3)
		}
	}
	return steps
}

func randomStep(rnd *rand.Rand, depth int) *core.ChartStep {
	kinds := 4
	if depth > 0 {
		kinds = 7
	}
	switch rnd.Intn(kinds) {
	case 0:
		return review("mumbler")
	case 1:
		return assign("flaky")
	case 4:
		return parallel(randomParallel(rnd, 1+rnd.Intn(4), depth-1)...)
	case 5:
		return sequential(randomSteps(rnd, 1+rnd.Intn(3), depth-1)...)
	case 6:
		return condition([]string{"yes", "no"}[rnd.Intn(2)], randomStep(rnd, depth-1), randomStep(rnd, depth-1))
	}
	return assign("a")
}

// randomParallel has no step that looks at the one before it.
func randomParallel(rnd *rand.Rand, n, depth int) []*core.ChartStep {
	steps := make([]*core.ChartStep, n)
	for i := range steps {
		steps[i] = randomStep(rnd, depth)
	}
	return steps
}

func randomRig(tb testing.TB, store *memory, seed int64) *rig {
	r := newRig(tb)
	if store != nil {
		r.store = store
	}
	rnd := rand.New(rand.NewSource(seed))
	roles := []core.Role{
		{Key: "a", Min: 1, Max: 2}, {Key: "flaky", Min: 2}, {Key: "mumbler", Min: 1, Singleton: true}, {Key: "strict", Min: 1},
	}
	r.chart("random", roles, randomSteps(rnd, 1+rnd.Intn(6), 3)...)
	for i := range chartAgents {
		r.agents.add(fmt.Sprintf("agent%d", i), 1)
	}
	return r
}

// TestChartRandomCrashes runs random workflows with crashes at random places of their journals: the results of the
// steps are those of a run without crashes, and no finished step is repeated.
func TestChartRandomCrashes(t *testing.T) {
	for seed := range int64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			calm := randomRig(t, nil, seed).open()
			calm.autoChart()
			want := calm.wait(calm.start("random").ID)
			wanted := calm.stepResults(want.ID)
			calm.Close()

			rnd := rand.New(rand.NewSource(seed + 1000))
			r := randomRig(t, nil, seed).open()
			exec := r.start("random")
			for crashes := 0; ; {
				over := r.someAnswers(exec.ID, rnd)
				if over {
					break
				}
				if crashes < 20 && rnd.Intn(3) == 0 {
					crashes++
					r.Close()
					events := len(r.store.events[exec.ID])
					lost := rnd.Intn(4) // a store that groups commits loses the newest ones together
					if r.store.executions[exec.ID].Status.Terminal() {
						lost = 0
					}
					kept := r.store.upTo(exec.ID, max(events-lost, 1))
					e := kept.executions[exec.ID]
					if kept.count(exec.ID, core.EventExecutionStarted) == 0 {
						e.Status, e.StartedAt = core.ExecutionPending, nil
						kept.executions[exec.ID] = e
					}
					r = randomRig(t, kept, seed).open()
				}
			}
			got := r.wait(exec.ID)
			if x, y := sameAgent(string(got.Result)), sameAgent(string(want.Result)); got.Status != want.Status || x != y {
				t.Fatalf("got  %s %s %+v\nwant %s %s %+v", got.Status, x, got.Error, want.Status, y, want.Error)
			}
			if x := r.stepResults(exec.ID); !maps.Equal(x, wanted) {
				t.Errorf("got  %v\nwant %v", x, wanted)
			}
			for step, n := range r.finishedSteps(exec.ID) {
				if n > 1 {
					t.Errorf("step %s was finished %d times", step, n)
				}
			}
			coretest.WaitFor(t, "nothing left", func() bool {
				s := r.Stats()
				return s.Active == 0 && s.Running == 0 && s.Waiting == 0 && r.clock.Pending() == 0
			})
		})
	}
}

// stepResults returns what the journal has as the results of steps, by step and round.
func (r *rig) stepResults(id string) map[string]string {
	r.store.mu.Lock()
	defer r.store.mu.Unlock()
	list := map[string]string{}
	for _, ev := range r.store.events[id] {
		if ev.Type == core.EventStepCompleted {
			var d struct {
				Step   string
				Round  int
				Result rawText
			}
			mustUnmarshal(ev.Data, &d)
			list[fmt.Sprint(d.Step, "#", d.Round)] = sameAgent(string(d.Result))
		}
	}
	return list
}

// someAnswers answers some of the tasks that are out, in any order, and reports whether the execution is over.
func (r *rig) someAnswers(id string, rnd *rand.Rand) (over bool) {
	r.tb.Helper()
	var held []handed
	coretest.WaitFor(r.tb, "a task or the end of "+id, func() bool {
		held = r.agents.held()
		e, err := r.store.FindExecution(r.tb.Context(), id)
		over = err == nil && e.Status.Terminal()
		return over || len(held) > 0
	})
	if over {
		return true
	}
	rnd.Shuffle(len(held), func(i, j int) { held[i], held[j] = held[j], held[i] })
	settled := r.agents.settledCount()
	some := held[:1+rnd.Intn(len(held))]
	for _, h := range some {
		result, failure := r.chartSay(h.task)
		r.agents.report(h.agent, h.task, result, failure)
	}
	coretest.WaitFor(r.tb, "the answers to be settled", func() bool { return r.agents.settledCount() >= settled+len(some) })
	return false
}
