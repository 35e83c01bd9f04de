package engine_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

// pair is an org chart whose two roles need an agent each before it begins.
func (r *rig) pair(name string) {
	r.chart(name, crew("left", "right"), assign("left"), assign("right"))
}

// startAs starts an execution with a priority.
func (r *rig) startAs(pattern string, priority core.Priority) *core.Execution {
	return r.startWith(core.ExecuteRequest{
		Pattern: pattern, Input: json.RawMessage(`{"text":"x"}`), Options: core.ExecuteOptions{Priority: priority},
	})
}

// work answers tasks of one pattern, each with a new execution of it to follow, until a task of another is out. It
// returns how many it answered.
func (r *rig) work(pattern string, most int) int {
	r.tb.Helper()
	for n := range most {
		var mine handed
		other := false
		coretest.WaitFor(r.tb, "a task", func() bool {
			for _, h := range r.agents.held() {
				if h.task.PatternName != pattern {
					other = true
				}
				mine = h
			}
			return other || mine.task.ID != ""
		})
		if other {
			return n
		}
		settled := r.agents.settledCount()
		r.agents.report(mine.agent, mine.task, `1`, nil)
		r.startAs(pattern, core.PriorityLow)
		coretest.WaitFor(r.tb, "the answer to settle", func() bool { return r.agents.settledCount() > settled })
	}
	return most
}

// An org chart that comes first by priority is served though it needs two agents at once, and those behind it would
// take each as it comes free.
func TestChartIsNotStarved(t *testing.T) {
	for name, slots := range map[string]int{"two agents": 1, "two slots each": 2} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.agents.add("a", slots)
			r.agents.add("b", slots)
			r.open()
			r.pattern("low", core.Step{})
			r.chart("urgent", []core.Role{{Key: "team", Min: 2 * slots}}, many(1, "team")...)
			for range 30 {
				r.startAs("low", core.PriorityLow)
			}
			r.agents.await(t, 2*slots)
			urgent := r.startAs("urgent", core.PriorityCritical)
			if n := r.work("low", 100); n > 4*slots+2 {
				t.Fatalf("the chart waited for %d others", n)
			}
			for _, h := range r.agents.held() {
				if h.task.PatternName == "urgent" {
					r.agents.report(h.agent, h.task, `{"step":"0"}`, nil)
				}
			}
			if got := r.wait(urgent.ID); got.Status != core.ExecutionCompleted {
				t.Errorf("the chart is %s: %+v", got.Status, got.Error)
			}
			r.agents.echo()
			next := r.startAs("low", core.PriorityLow)
			r.agents.mu.Lock()
			rest := slices.Clone(r.agents.inbox)
			r.agents.mu.Unlock()
			for _, h := range rest {
				r.agents.report(h.agent, h.task, `1`, nil)
			}
			r.wait(next.ID) // and the others go on
		})
	}
}

// One that never can be served keeps nothing from others.
func TestImpossibleChartHoldsNothing(t *testing.T) {
	r := newRig(t)
	r.config.MaxActive = 1
	r.agents.add("a", 1)
	r.agents.offer("b", 1, "else")
	r.open()
	r.pattern("low", core.Step{Need: core.TaskNeed{Capabilities: []string{"work"}}})
	r.chart("urgent", []core.Role{
		{Key: "x", Min: 1, Capabilities: []string{"work"}}, {Key: "y", Min: 1, Capabilities: []string{"work"}},
	}, assign("x"), assign("y"))
	r.startAs("low", core.PriorityLow)
	r.agents.await(t, 1)
	r.startAs("urgent", core.PriorityCritical)
	r.startAs("low", core.PriorityLow)
	if n := r.work("low", 20); n != 20 {
		t.Errorf("only %d went by", n)
	}
}

// A cancel, and the loss of an agent, free what was held.
func TestHeldAgentsAreFreed(t *testing.T) {
	r := newRig(t)
	r.agents.add("a", 1)
	r.agents.add("b", 1)
	r.open()
	r.pattern("low", core.Step{})
	r.pair("urgent")
	first := r.startAs("low", core.PriorityLow)
	r.startAs("low", core.PriorityLow)
	busy := r.agents.await(t, 2)
	urgent := r.startAs("urgent", core.PriorityCritical)
	waits := r.startAs("low", core.PriorityLow)
	done := slices.IndexFunc(busy, func(h handed) bool { return h.task.ExecutionID == first.ID })
	r.agents.report(busy[done].agent, busy[done].task, `1`, nil)
	r.wait(first.ID)
	coretest.WaitFor(t, "the free agent to be held", func() bool { return r.agents.free("a")+r.agents.free("b") == 0 })
	if n := len(r.agents.held()); n != 1 {
		t.Fatalf("%d tasks are out, want the held agent to have none", n)
	}
	if _, err := r.Cancel(t.Context(), urgent.ID, ""); err != nil {
		t.Fatal(err)
	}
	coretest.WaitFor(t, "the next in line", func() bool {
		return slices.ContainsFunc(r.agents.held(), func(h handed) bool { return h.task.ExecutionID == waits.ID })
	})
}

// Two charts of which each has an idle agent that the other waits for both end: who waits gives back what is idle.
func TestChartsDoNotDeadlock(t *testing.T) {
	r := newRig(t)
	r.agents.offer("a", 1, "x")
	r.agents.offer("b", 1, "y")
	r.open()
	roles := func(first, second string) []core.Role {
		return []core.Role{
			{Key: "first", Min: 1, Capabilities: []string{first}}, {Key: "second", Min: 0, Capabilities: []string{second}},
		}
	}
	r.chart("one", roles("x", "y"), assign("first"), assign("second"), assign("first"))
	r.chart("two", roles("y", "x"), assign("first"), assign("second"), assign("first"))
	one, two := r.start("one"), r.start("two")
	for _, h := range r.agents.await(t, 2) { // both are at their first step, and go for the other's agent next
		r.agents.report(h.agent, h.task, `{"n":1}`, nil)
	}
	over := func() bool {
		for _, id := range []string{one.ID, two.ID} {
			if e, _ := r.store.FindExecution(t.Context(), id); !e.Status.Terminal() {
				return false
			}
		}
		return true
	}
	coretest.WaitFor(t, "both to end", func() bool {
		for _, h := range r.agents.held() {
			r.agents.report(h.agent, h.task, `{"n":2}`, nil)
		}
		return over()
	})
	for _, id := range []string{one.ID, two.ID} {
		if got := r.wait(id); got.Status != core.ExecutionCompleted {
			t.Errorf("%s is %s: %+v", id, got.Status, got.Error)
		}
	}
	if r.agents.free("a") != 1 || r.agents.free("b") != 1 {
		t.Errorf("a has %d slots free, b %d", r.agents.free("a"), r.agents.free("b"))
	}
	if !strings.Contains(r.store.text(one.ID, core.EventRoleReleased)+r.store.text(two.ID, core.EventRoleReleased), "waits for an agent") {
		t.Error("the journal does not say why an agent was given back")
	}
}
