package engine_test

import (
	"testing"
	stdtime "time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

// However often an agent repeats a report that is too late, and across restarts, the journal has it once.
func TestLateReportsAreJournaledOnce(t *testing.T) {
	for _, chart := range []bool{false, true} {
		r := newRig(t)
		r.agents.add("a", 1)
		r.open()
		r.pattern("p", core.Step{})
		if chart {
			r.chart("p", crew("a"), many(1, "a")...)
		}
		exec := r.start("p")
		first := r.agents.await(t, 1)[0]
		r.clock.Advance(r.config.TaskTimeout)
		coretest.WaitFor(t, "another attempt", func() bool { return r.store.count(exec.ID, core.EventTaskAssigned) == 2 })
		settled := 0
		repeat := func() {
			for range 50 {
				before := r.agents.settledCount()
				r.agents.report("stranger", first.task, `1`, nil)
				coretest.WaitFor(t, "the report to settle", func() bool { return r.agents.settledCount() > before })
				settled++
			}
		}
		repeat()
		r.restart()
		repeat()
		if n := r.store.count(exec.ID, core.EventTaskLate); n != 1 || settled != 100 {
			t.Errorf("chart %t: %d late reports are journaled", chart, n)
		}
	}
}

// What was answered while the store was away came in time, though the deadline passed before it could be taken in.
func TestAnswersBeforeTheDeadlineCount(t *testing.T) {
	for _, chart := range []bool{false, true} {
		for _, all := range []bool{true, false} {
			r := newRig(t)
			r.config.TaskTimeout = stdtime.Hour
			r.agents.add("a", 1)
			r.agents.add("b", 1)
			r.open()
			r.pattern("p", core.Step{Min: 2, WaitForAll: true})
			if chart {
				r.chart("p", crew("a", "b"), parallel(assign("a"), assign("b")))
			}
			exec := r.startWith(core.ExecuteRequest{Pattern: "p", Options: core.ExecuteOptions{TimeoutMs: 30000}})
			out := r.agents.await(t, 2)
			r.store.setRefuse(errReadOnly)
			r.agents.report(out[0].agent, out[0].task, `1`, nil)
			coretest.WaitFor(t, "the store to refuse", func() bool {
				r.store.mu.Lock()
				defer r.store.mu.Unlock()
				return r.store.refused > 0
			})
			if all {
				r.agents.report(out[1].agent, out[1].task, `2`, nil)
			}
			r.clock.Advance(31 * stdtime.Second)
			r.store.setRefuse(nil)
			coretest.WaitFor(t, "the end", func() bool {
				r.clock.Advance(200 * stdtime.Millisecond) // the write is tried again
				got, err := r.FindExecution(t.Context(), exec.ID)
				return err == nil && got.Status.Terminal()
			})
			want := core.ExecutionFailed
			if all {
				want = core.ExecutionCompleted
			}
			if got := r.wait(exec.ID); got.Status != want {
				t.Errorf("chart %t, all answered %t: it is %s: %+v", chart, all, got.Status, got.Error)
			}
			coretest.WaitFor(t, "the agents to be free", func() bool { return r.agents.free("a") == 1 && r.agents.free("b") == 1 })
		}
	}
}
