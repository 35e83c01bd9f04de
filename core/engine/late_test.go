package engine_test

import (
	"testing"

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
