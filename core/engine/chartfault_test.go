package engine_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	stdtime "time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

// A flat pattern may have been stored before an org chart of the name that it runs as a step.
func TestFlatPatternRunsNoChart(t *testing.T) {
	r := newRig(t)
	r.agents.add("a", 1)
	r.chart("chart", crew("a"), assign("a"))
	r.pattern("outer", core.Step{ID: "one", Compose: &core.Composition{Name: "chart"}})
	r.open()
	for _, requires := range []bool{false, true} {
		_, err := r.Start(t.Context(), core.ExecuteRequest{Pattern: "outer", RequireAgents: requires})
		if core.ErrorCode(err) != core.CodeValidation || !strings.Contains(err.Error(), "org chart") {
			t.Errorf("agents required %t: got %v", requires, err)
		}
	}
}

// The result of a step made of steps is left out of the journal when it is long, and still is what is best known
// after a restart.
func TestLongResultOutlivesRestart(t *testing.T) {
	k := newTalk(t, func(c *core.Chart) {
		c.Escalation.Default = core.BehaviorBestEffort
		c.Steps = []*core.ChartStep{parallel(assign("dev"), assign("dev")), assign("dev")}
		numberSteps(c.Steps, "")
	}).begin()
	long := `"` + strings.Repeat("x", 10<<10) + `"`
	for _, step := range []string{"0.0", "0.1", "1"} {
		coretest.WaitFor(t, "the task of step "+step, func() bool {
			held := k.agents.held()
			return len(held) == 1 && held[0].task.Step == step
		})
		k.task = k.agents.held()[0].task
		if step != "1" {
			k.agents.report("dev", k.task, long, nil)
		}
	}
	k.restart()
	k.say(core.TaskMessage{AskID: "one", MessageType: "question", Content: json.RawMessage(`"what now"`)})
	if e := k.wait(k.exec.ID); e.Status != core.ExecutionCompleted || string(e.Result) != "["+long+","+long+"]" {
		t.Errorf("got %s with a result of %d bytes: %.40s", e.Status, len(e.Result), e.Result)
	}
}

// An execution that ends while it takes up tasks gives back no slot that it did not take.
func TestEndWhileTakenUpGivesBackItsOwnSlots(t *testing.T) {
	store := newMemory()
	shape := func() *rig {
		r := newRig(t)
		r.store = store
		r.config.TaskRetries = 0
		r.chart("pair", crew("x", "y"), parallel(assign("x"), assign("y")))
		return r
	}
	r := shape()
	r.agents.add("a", 1)
	r.agents.add("b", 1)
	r.open()
	id := r.start("pair").ID
	r.agents.await(t, 2)
	r.Close()
	for _, gone := range []string{"a", "b"} {
		again := shape()
		again.store = store.upTo(id, len(store.events[id]))
		kept := map[string]string{"a": "b", "b": "a"}[gone]
		again.agents.add(kept, 0) // its one slot is the task's
		again.open()
		if e := again.wait(id); e.Status != core.ExecutionFailed {
			t.Fatalf("%s gone: got %s", gone, e.Status)
		}
		coretest.WaitFor(t, "no slots beyond those taken", func() bool { return again.Stats().Active == 0 })
		adopted := 0
		for _, h := range again.agents.held() {
			if h.agent == kept {
				adopted++
			}
		}
		if free := again.agents.free(kept); free != len(again.agents.adopted)-adopted {
			t.Errorf("%s gone: %s has %d free slots, %d tasks were adopted", gone, kept, free, len(again.agents.adopted))
		}
		again.Close()
	}
}

// Nothing is journaled after the end of an execution, which the loss of one agent may be in several ways.
func TestNothingAfterTheEnd(t *testing.T) {
	k := newTalk(t, func(c *core.Chart) {
		c.Escalation.OnMaxDepth, c.Escalation.MaxDepth = core.BehaviorFail, 0
		c.Roles[1].Min = 0 // served by dev's agent, which has two slots
		c.Roles[1].Capabilities = []string{"dev"}
		c.Steps = []*core.ChartStep{parallel(assign("dev"), assign("lead"), assign("ceo"))}
		numberSteps(c.Steps, "")
	})
	k.agents.add("dev", 2)
	k.exec = k.start("chart")
	held := k.agents.await(t, 3)
	for _, h := range held {
		if h.agent == "ceo" {
			k.say(core.TaskMessage{AskID: "one", AgentID: "ceo", TaskID: h.task.ID, MessageType: "question", To: "lead", Content: json.RawMessage(`"well"`)})
		}
	}
	k.waitEvents(core.EventMessageSent, 1)
	k.agents.lose("dev")
	k.wait(k.exec.ID)
	types := k.store.types(k.exec.ID)
	if last := types[len(types)-1]; last != core.EventExecutionFailed {
		t.Errorf("the journal ends with %s: %v", last, types)
	}
}

// Agents that were asked for before a restart, and never heard of, are stopped with the execution.
func TestSpawnsUnheardOfAreStopped(t *testing.T) {
	r := newRig(t)
	r.roles = newSpawner()
	roles := crew("x")
	roles[0].Managed, roles[0].AgentTypes = true, []string{"claude"}
	r.chart("managed", roles, assign("x"))
	r.open()
	id := r.start("managed").ID
	coretest.WaitFor(t, "a spawn", func() bool { return len(r.roles.specs()) == 1 })
	r.roles.roleMu.Lock()
	r.roles.cannot = "the runtime is away"
	r.roles.roleMu.Unlock()
	r.restart()
	if _, err := r.Cancel(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	if stopped := r.roles.stoppedExecutions(); !slices.Contains(stopped, id) {
		t.Errorf("executions whose agents were stopped: %v", stopped)
	}
}

// A task that no agent takes ends the execution with a reason.
func TestTaskTooLong(t *testing.T) {
	long := json.RawMessage(`"` + strings.Repeat("x", 5<<20) + `"`)
	r := newRig(t)
	r.agents.add("a", 2)
	r.agents.answer = func(string, core.Task) (string, *core.TaskError) { return string(long), nil }
	r.chart("long", []core.Role{{Key: "a", Min: 1}}, parallel(assign("a"), assign("a")), review("a"))
	r.open()
	e := r.wait(r.start("long").ID)
	if e.Error == nil || e.Error.Code != core.CodeValidation || !strings.Contains(e.Error.Message, "step 1") {
		t.Errorf("got %s, %+v", e.Status, e.Error)
	}
}

// What an execution asks people is open no longer than it can go on.
func TestQuestionsOfInterruptedExecution(t *testing.T) {
	k := newTalk(t, func(c *core.Chart) { c.Escalation.Default = core.BehaviorSurface }).begin()
	k.say(core.TaskMessage{AskID: "one"})
	q := k.question()
	k.Close()
	delete(k.shelf, "chart")
	k.open()
	if e := k.wait(k.exec.ID); e.Error == nil || e.Error.Code != core.CodeInterrupted {
		t.Fatalf("got %s, %+v", e.Status, e.Error)
	}
	if _, err := k.answerPeople(q.ID, `"yes"`); core.ErrorCode(err) != core.CodeConflict {
		t.Errorf("an answer got %v", err)
	}
}

// Agents hear nothing of messages once their execution is over.
func TestNoMessagesAfterTheEnd(t *testing.T) {
	k := newTalk(t, nil).begin()
	k.store.setRefuse(errReadOnly)
	k.say(core.TaskMessage{AskID: "first", MessageType: "feedback"})
	coretest.WaitFor(t, "the store to refuse", func() bool { return k.store.refusals() > 0 })
	k.say(core.TaskMessage{AskID: "second"}) // in one change with the end
	k.agents.report("dev", k.task, `{}`, nil)
	k.store.setRefuse(nil)
	coretest.WaitFor(t, "the end", func() bool {
		k.clock.Advance(200 * stdtime.Millisecond)
		return k.Stats().Active == 0
	})
	if e := k.wait(k.exec.ID); e.Status != core.ExecutionCompleted || k.store.count(e.ID, core.EventMessageSent) != 2 {
		t.Fatalf("got %s, %v", e.Status, k.store.types(e.ID))
	}
	k.Close() // and with it what it does after the end
	k.agents.mu.Lock()
	defer k.agents.mu.Unlock()
	if len(k.agents.asked) != 1 {
		t.Errorf("agents were asked %+v", k.agents.asked)
	}
}

// The error of a refused approval is bounded, however much the agent says.
func TestLongRefusal(t *testing.T) {
	r := newRig(t)
	r.agents.add("a", 2)
	r.agents.answer = func(_ string, task core.Task) (string, *core.TaskError) {
		return `{"verdict":"reject","feedback":"` + strings.Repeat("no ", 100_000) + `"}`, nil
	}
	r.chart("gate", crew("a", "b"), assign("a"), approve("b", core.OnRejectFail, 0))
	r.open()
	e := r.wait(r.start("gate").ID)
	if e.Error == nil || e.Error.Code != core.CodeApprovalRejected || !strings.Contains(e.Error.Message, ": no no") {
		t.Fatalf("got %s, %.200v", e.Status, e.Error)
	}
	if raw, err := json.Marshal(e.Error); err != nil || len(raw) > 10_000 {
		t.Errorf("the error is %d bytes long, %v", len(raw), err)
	}
}

// An execution that cannot have all its agents fails when that is known, not at its deadline.
func TestOneOfTwoCannotBeSpawned(t *testing.T) {
	r := newRig(t)
	s := r.spawns()
	r.open()
	r.chart("p", []core.Role{{Key: "a", Min: 2, Managed: true, AgentTypes: []string{"claude"}}}, assign("a"))
	id := r.start("p").ID
	coretest.WaitFor(t, "two spawns", func() bool { return len(s.specs()) == 2 })
	s.ready(s.specs()[0])
	s.fail(s.specs()[1], core.Errorf(core.CodeConflict, "claude needs a login"))
	if e := r.wait(id); e.Error == nil || !strings.Contains(e.Error.Message, "claude needs a login") {
		t.Errorf("got %s, %+v", e.Status, e.Error)
	}
}
