package engine_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	stdtime "time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

var clockSteps = map[string]stdtime.Duration{"ahead": 31 * 24 * stdtime.Hour, "back": -stdtime.Hour}

func stepRig(t *testing.T) *rig {
	r := newRig(t)
	r.clock = coretest.NewStepClock()
	r.ids = core.NewIDs(r.clock)
	return r
}

// The limit of an execution and that of a task are kept by the time that passes, whatever the wall clock is set to.
func TestLimitsOutliveClockSteps(t *testing.T) {
	for name, step := range clockSteps {
		for _, chart := range []bool{false, true} {
			t.Run(fmt.Sprint(name, chart), func(t *testing.T) {
				r := stepRig(t)
				r.config.TaskTimeout, r.config.TaskRetries = 20*stdtime.Second, 1
				r.agents.add("a", 2)
				r.open()
				r.pattern("p", core.Step{})
				if chart {
					r.chart("p", crew("a"), many(1, "a")...)
				}
				limit := core.ExecuteOptions{TimeoutMs: 30000}
				works := r.startWith(core.ExecuteRequest{Pattern: "p", Input: json.RawMessage(`{}`), Options: limit})
				first := r.agents.await(t, 1)[0]
				hangs := r.startWith(core.ExecuteRequest{Pattern: "p", Input: json.RawMessage(`{}`), Options: limit})
				r.agents.await(t, 2)
				r.clock.Step(step)
				r.clock.Advance(10 * stdtime.Second)
				r.agents.report(first.agent, first.task, `1`, nil)
				if got := r.wait(works.ID); got.Status != core.ExecutionCompleted {
					t.Errorf("the one that answered is %s: %+v", got.Status, got.Error)
				}
				r.clock.Advance(11 * stdtime.Second)
				coretest.WaitFor(t, "the task to time out", func() bool { return r.store.count(hangs.ID, core.EventTaskFailed) == 1 })
				coretest.WaitFor(t, "the timer", func() bool { return r.clock.Pending() > 0 })
				r.clock.Advance(10 * stdtime.Second)
				if got := r.wait(hangs.ID); got.Status != core.ExecutionFailed || got.Error.Code != core.CodeTimeout {
					t.Errorf("the one that hangs is %s: %+v", got.Status, got.Error)
				}
			})
		}
	}
}

// Across a restart the wall clock tells; one that was set back makes no limit longer than it was.
func TestDeadlineAfterClockWentBack(t *testing.T) {
	r := newRig(t)
	r.config.TaskTimeout = stdtime.Hour
	r.agents.add("a", 1)
	r.open()
	r.pattern("p", core.Step{})
	exec := r.startWith(core.ExecuteRequest{Pattern: "p", Input: json.RawMessage(`{}`), Options: core.ExecuteOptions{TimeoutMs: 60000}})
	r.agents.await(t, 1)
	r.Close()
	r.agents.mu.Lock()
	r.agents.inbox = nil
	r.agents.mu.Unlock()
	back := coretest.NewClock()
	back.Advance(-48 * stdtime.Hour)
	r.clock = back
	r.open()
	r.agents.await(t, 1)
	coretest.WaitFor(t, "the timer", func() bool { return r.clock.Pending() > 0 })
	r.clock.Advance(61 * stdtime.Second)
	if got := r.wait(exec.ID); got.Status != core.ExecutionFailed || got.Error.Code != core.CodeTimeout {
		t.Errorf("it is %s: %+v", got.Status, got.Error)
	}
}

// What waited before a restart is served before what came after it, also when the clock was set back in between.
func TestQueueAfterClockWentBack(t *testing.T) {
	for _, chart := range []bool{false, true} {
		r := newRig(t)
		r.open()
		r.pattern("p", core.Step{})
		if chart {
			r.chart("p", crew("a"), many(1, "a")...)
		}
		older := r.start("p")
		r.Close()
		back := coretest.NewClock()
		back.Advance(-48 * stdtime.Hour)
		r.clock = back
		r.open()
		coretest.WaitFor(t, "the older one to stand in line", func() bool { return r.Stats().Waiting == 1 })
		r.clock.Advance(stdtime.Second)
		r.start("p")
		coretest.WaitFor(t, "both to stand in line", func() bool { return r.Stats().Waiting == 2 })
		r.agents.add("a", 1)
		if got := r.agents.await(t, 1)[0].task.ExecutionID; got != older.ID {
			t.Errorf("chart %t: the younger one is served first", chart)
		}
	}
}

// The deadline goes on for as long as people took, also when the clock was set back while they thought.
func TestPeopleThinkWhileClockGoesBack(t *testing.T) {
	k := newTalk(t, surfacing).begin()
	k.say(core.TaskMessage{AskID: "a1"})
	k.question()
	k.Close()
	back := coretest.NewClock()
	back.Advance(-24 * stdtime.Hour)
	k.clock = back
	k.again()
	k.clock.Advance(25 * stdtime.Hour)
	k.sync()
	if _, err := k.answerPeople(k.question().ID, `1`); err != nil {
		t.Fatal(err)
	}
	k.answeredWith(1)
	k.clock.Advance(stdtime.Hour)
	k.finish()
}

// Nothing took less than no time because the clock was set back over a restart.
func TestDurationsAfterClockWentBack(t *testing.T) {
	for _, chart := range []bool{false, true} {
		r := newRig(t)
		r.agents.add("a", 1)
		r.open()
		r.pattern("p", core.Step{})
		if chart {
			r.chart("p", crew("a"), assign("a"))
		}
		exec := r.start("p")
		r.agents.await(t, 1)
		r.Close()
		r.agents.mu.Lock()
		r.agents.inbox = nil
		r.agents.mu.Unlock()
		back := coretest.NewClock()
		back.Advance(-stdtime.Hour)
		r.clock = back
		r.open()
		h := r.agents.await(t, 1)[0]
		r.agents.report(h.agent, h.task, `1`, nil)
		got := r.wait(exec.ID)
		if d := got.Duration(back.Now()); d < 0 {
			t.Errorf("it took %v", d)
		}
		if got.Workflow != nil {
			for _, s := range got.Workflow.Steps {
				if s.Duration < 0 {
					t.Errorf("step took %v", s.Duration)
				}
			}
		}
		if end := r.store.text(exec.ID, core.EventExecutionCompleted); !strings.Contains(end, `"duration":0`) {
			t.Errorf("its end reads %s", end)
		}
	}
}

// onStepClock gives the rig a clock like the system's, and tasks more time than a test takes.
func onStepClock(r *rig) {
	r.clock = coretest.NewStepClock()
	r.ids = core.NewIDs(r.clock)
	r.config.TaskTimeout = 3 * stdtime.Hour
}

// asRead makes the times of the journal what they are once they were read: those of the wall clock alone.
func (m *memory) asRead() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, events := range m.events {
		for i := range events {
			events[i].Time = events[i].Time.Round(0)
		}
	}
}

// The time that an asked role has, and that in which people think, is kept by the time that passes after a restart too.
func TestEscalationOutlivesClockStepsAfterRestart(t *testing.T) {
	for name, step := range clockSteps {
		t.Run(name, func(t *testing.T) {
			k := newTalkOn(t, newMemory(), nil, onStepClock).begin()
			k.say(core.TaskMessage{AskID: "a1"})
			k.askedOf(1)
			k.clock.Advance(10 * stdtime.Second)
			k.Close()
			k.store.asRead()
			k.again()
			k.askedOf(1)
			k.clock.Step(step)
			k.clock.Advance(19 * stdtime.Second)
			k.sync()
			k.askedOf(1)
			k.clock.Advance(stdtime.Second)
			if got := k.askedOf(2); got.agent != "cto" {
				t.Errorf("%s was asked, want cto", got.agent)
			}
			k.finish()
		})
		t.Run(name+"/people", func(t *testing.T) {
			k := newTalkOn(t, newMemory(), surfacing, onStepClock).begin()
			k.say(core.TaskMessage{AskID: "a1"})
			k.question()
			k.clock.Advance(stdtime.Hour)
			k.Close()
			k.store.asRead()
			k.again()
			k.sync()
			k.clock.Step(step)
			k.clock.Advance(stdtime.Hour)
			if _, err := k.answerPeople(k.question().ID, `1`); err != nil {
				t.Fatal(err)
			}
			k.answeredWith(1)
			k.clock.Advance(119 * stdtime.Minute) // of two hours, none has passed yet
			k.sync()
			if got, err := k.FindExecution(t.Context(), k.exec.ID); err != nil || got.Status != core.ExecutionRunning {
				t.Fatalf("the execution is %s: %+v, %v", got.Status, got.Error, err)
			}
			k.clock.Advance(stdtime.Minute)
			if got := k.wait(k.exec.ID); got.Error == nil || got.Error.Code != core.CodeTimeout {
				t.Errorf("the execution is %s: %+v", got.Status, got.Error)
			}
		})
	}
}
