package engine_test

import (
	"fmt"
	"slices"
	"testing"
	stdtime "time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

// waiting waits until what is stored of the execution says what it waits for.
func (r *rig) waiting(id string, reason core.WaitReason) *core.Execution {
	r.tb.Helper()
	var exec *core.Execution
	coretest.WaitFor(r.tb, fmt.Sprintf("%s to wait for %q", id, reason), func() bool {
		var err error
		if exec, err = r.store.FindExecution(r.tb.Context(), id); err != nil {
			return false
		}
		return exec.Waiting == nil && reason == "" || exec.Waiting != nil && exec.Waiting.For == reason
	})
	return exec
}

// oneSlot lets one execution run at a time.
func oneSlot(r *rig) { r.config.MaxActive = 1 }

// An execution that waits for people gives back its slot and the agents that do nothing for it, keeps the task that
// asks, and goes on when it has its answer and a slot again.
func TestWaitForPeopleHoldsNothing(t *testing.T) {
	k := newTalkOn(t, newMemory(), surfacing, oneSlot).begin()
	k.pattern("flat", core.Step{Need: core.TaskNeed{Capabilities: []string{"lead"}}})
	other := k.start("flat")
	k.say(core.TaskMessage{AskID: "a1"})
	q := k.question()
	asked := k.waiting(k.exec.ID, core.WaitForPeople)
	if asked.Status != core.ExecutionRunning || !asked.Waiting.Since.Equal(q.CreatedAt) {
		t.Errorf("what waits is %s since %s", asked.Status, asked.Waiting.Since)
	}
	tasks := k.agents.await(t, 2) // dev's, and the other's at lead, which serves a role of the first
	if tasks[1].agent != "lead" || tasks[1].task.ExecutionID != other.ID {
		t.Fatalf("the freed slot and agent went to %+v", tasks[1])
	}
	coretest.WaitFor(t, "the figures of one that is parked", func() bool {
		s := k.Stats()
		return s.Running == 1 && s.Parked == 1 && s.Active == 2 && s.Queued == 1
	})
	coretest.WaitFor(t, "idle agents to be free", func() bool { return k.agents.free("cto") == 1 && k.agents.free("ceo") == 1 })
	if k.agents.free("dev") != 0 {
		t.Error("dev, which has a task, is free")
	}

	third := k.start("flat")
	if _, err := k.answerPeople(q.ID, `"left"`); err != nil {
		t.Fatal(err)
	}
	k.waiting(k.exec.ID, core.WaitForSlot)
	coretest.WaitFor(t, "both to stand in line", func() bool { return k.Stats().Waiting == 2 }) // it is stored before that
	k.agents.mu.Lock()
	early := len(k.agents.replies)
	k.agents.mu.Unlock()
	if early != 0 {
		t.Error("the asker goes on without a slot")
	}
	k.agents.report("lead", tasks[1].task, `1`, nil)
	k.wait(other.ID)
	if back := k.answeredWith(1); back.agent != "dev" || string(back.reply.Content) != `"left"` {
		t.Errorf("dev got %+v", back)
	}
	k.waiting(k.exec.ID, "")
	if e, _ := k.store.FindExecution(t.Context(), third.ID); e.Status != core.ExecutionPending {
		t.Errorf("the younger execution, which came before the answer, is %s", e.Status)
	}
	done := k.finish()
	if done.Waiting != nil {
		t.Errorf("it is over and waits for %s", done.Waiting.For)
	}
	h := k.agents.await(t, 1)[0]
	k.agents.report(h.agent, h.task, `1`, nil)
	k.wait(third.ID)
	coretest.WaitFor(t, "every slot to be free", func() bool { s := k.Stats(); return s.Running == 0 && s.Parked == 0 })
	for _, id := range []string{"dev", "lead", "cto", "ceo"} {
		coretest.WaitFor(t, id+" to be free", func() bool { return k.agents.free(id) == 1 })
	}
}

// Wherever the process is killed, between a question and the end, the execution takes up at the restart what it held,
// and no more; its answer, once acknowledged, reaches the asker.
func TestWaitForPeopleAcrossRestarts(t *testing.T) {
	for _, at := range []string{"asked", "answered"} {
		t.Run(at, func(t *testing.T) {
			k := newTalkOn(t, newMemory(), surfacing, oneSlot).begin()
			k.pattern("flat", core.Step{Need: core.TaskNeed{Capabilities: []string{"lead"}}})
			k.say(core.TaskMessage{AskID: "a1"})
			q := k.question()
			k.waiting(k.exec.ID, core.WaitForPeople)
			other := k.start("flat")
			k.agents.await(t, 2)
			answer := func() {
				t.Helper()
				if _, err := k.answerPeople(q.ID, `"left"`); err != nil {
					t.Fatal(err)
				}
			}
			if at == "answered" {
				answer()
				k.waiting(k.exec.ID, core.WaitForSlot)
			}
			// As the agents' registry is after a start: nobody has anything reserved.
			k.Close()
			k.agents.mu.Lock()
			k.agents.inbox = nil
			for id, n := range k.agents.sizes {
				k.agents.slots[id] = n
			}
			k.agents.mu.Unlock()
			k.open()
			coretest.WaitFor(t, "one of two to run after the restart", func() bool { s := k.Stats(); return s.Running == 1 && s.Active == 2 })
			coretest.WaitFor(t, "it to be parked", func() bool { return k.Stats().Parked == 1 })
			if k.agents.free("cto") != 1 || k.agents.free("ceo") != 1 {
				t.Error("the restart took agents for roles that nothing waits for")
			}
			if at == "asked" {
				answer()
			}
			k.waiting(k.exec.ID, core.WaitForSlot)
			for _, h := range k.agents.await(t, 2) {
				if h.task.ExecutionID == other.ID {
					k.agents.report(h.agent, h.task, `1`, nil)
				}
			}
			k.wait(other.ID)
			if back := k.answeredWith(1); back.agent != "dev" || string(back.reply.Content) != `"left"` {
				t.Errorf("dev got %+v", back)
			}
			k.finish()
		})
	}
}

// One waits for the agent that the other's question keeps, with the one slot that the other needs to go on.
func TestWaitersDoNotWaitForEachOther(t *testing.T) {
	for _, kind := range []string{"chart", "flat"} {
		t.Run(kind, func(t *testing.T) {
			r := newRig(t)
			r.config.MaxActive = 1
			r.open()
			asker := r.chart("asker", []core.Role{{Key: "x", Capabilities: []string{"x"}, Min: 1}}, assign("x"))
			asker.chart.(*chartPlan).chart.Escalation.Default = core.BehaviorSurface
			if kind == "chart" {
				r.chart("needs", []core.Role{{Key: "x", Capabilities: []string{"x"}}, {Key: "y", Capabilities: []string{"y"}}}, assign("y"), assign("x"))
			} else {
				r.pattern("needs", core.Step{ID: "y", Need: core.TaskNeed{Capabilities: []string{"y"}}},
					core.Step{ID: "x", Need: core.TaskNeed{Capabilities: []string{"x"}}})
			}
			r.agents.offer("x", 1, "x")
			r.agents.offer("y", 1, "y")
			first := r.start("asker")
			h := r.agents.await(t, 1)[0]
			r.MessageReceived(core.TaskMessage{
				AgentID: "x", TaskID: h.task.ID, AskID: "1", Kind: core.QuestionMessage, MessageType: "question", Content: rawText(`"?"`),
			})
			r.waiting(first.ID, core.WaitForPeople)
			second := r.start("needs")
			for _, h := range r.agents.await(t, 2) {
				if h.agent == "y" {
					r.agents.report("y", h.task, `1`, nil)
				}
			}
			if kind == "chart" {
				r.waiting(second.ID, core.WaitForAgents)
			}
			coretest.WaitFor(t, "the slot to be free", func() bool { return r.Stats().Running == 0 })
			list, _, err := r.FindQuestions(t.Context(), core.QuestionFilter{ExecutionID: first.ID})
			if err != nil || len(list) != 1 {
				t.Fatal(list, err)
			}
			if _, err := r.AnswerQuestion(t.Context(), "", list[0].ID, rawText(`1`)); err != nil {
				t.Fatal(err)
			}
			r.waiting(first.ID, "")
			r.agents.report("x", h.task, `1`, nil)
			if got := r.wait(first.ID); got.Status != core.ExecutionCompleted {
				t.Fatalf("the first is %s", got.Status)
			}
			coretest.WaitFor(t, "x to have the second's task", func() bool {
				return slices.ContainsFunc(r.agents.held(), func(h handed) bool { return h.task.ExecutionID == second.ID })
			})
			for _, h := range r.agents.held() {
				r.agents.report(h.agent, h.task, `1`, nil)
			}
			if got := r.wait(second.ID); got.Status != core.ExecutionCompleted {
				t.Fatalf("the second is %s", got.Status)
			}
		})
	}
}

// An asker that goes on without its answer is not held up, and counts among those that run.
func TestAskerGoesOnByItself(t *testing.T) {
	k := newTalkOn(t, newMemory(), surfacing, oneSlot).begin()
	k.pattern("flat", core.Step{Need: core.TaskNeed{Capabilities: []string{"lead"}}})
	k.say(core.TaskMessage{AskID: "a1"})
	k.waiting(k.exec.ID, core.WaitForPeople)
	other := k.start("flat")
	held := k.agents.await(t, 2)
	k.MessageWithdrawn("dev", k.task.ID, "a1")
	k.waiting(k.exec.ID, "")
	coretest.WaitFor(t, "both to run", func() bool { s := k.Stats(); return s.Running == 2 && s.Parked == 0 })
	k.finish()
	k.agents.report("lead", held[1].task, `1`, nil)
	k.wait(other.ID)
	coretest.WaitFor(t, "every slot to be free", func() bool { return k.Stats().Running == 0 })
}

// Steps after the question find agents for roles whose agents were given back.
func TestStepsAfterAQuestion(t *testing.T) {
	shape := func(c *core.Chart) {
		surfacing(c)
		c.Steps = append(c.Steps, &core.ChartStep{Path: "1", Kind: core.KindAssign, Name: "check", Role: "lead"})
	}
	k := newTalkOn(t, newMemory(), shape, oneSlot).begin()
	k.say(core.TaskMessage{AskID: "a1"})
	k.waiting(k.exec.ID, core.WaitForPeople)
	coretest.WaitFor(t, "lead to be free", func() bool { return k.agents.free("lead") == 1 })
	// Dev finishes without the answer: the next step needs a slot and lead.
	k.agents.report("dev", k.task, `"done"`, nil)
	k.clock.Advance(stdtime.Second)
	coretest.WaitFor(t, "lead to have the next step", func() bool {
		return slices.ContainsFunc(k.agents.held(), func(h handed) bool { return h.agent == "lead" })
	})
	k.waiting(k.exec.ID, "")
	for _, h := range k.agents.held() {
		if h.agent == "lead" {
			k.agents.report("lead", h.task, `"fine"`, nil)
		}
	}
	if got := k.wait(k.exec.ID); got.Status != core.ExecutionCompleted {
		t.Errorf("got %s %+v", got.Status, got.Error)
	}
}
