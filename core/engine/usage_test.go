package engine_test

import (
	"encoding/json"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/wire"
)

// What turns of agents used is summed, those that failed included, and a restart loses none of it.
func TestUsageOfExecution(t *testing.T) {
	r := newRig(t).open()
	r.chart("p", crew("a"), assign("a"), assign("a"))
	r.agents.add("x", 1)
	exec := r.start("p")
	cost := 0.5
	var last handed
	report := func(usage *wire.Usage, err *core.TaskError) {
		t.Helper()
		// A report is settled before its agent gives the task back.
		var h handed
		coretest.WaitFor(t, "the next task at the agent", func() bool {
			held := r.agents.held()
			if len(held) != 1 || held[0].task.ID == last.task.ID && held[0].task.Attempt == last.task.Attempt {
				return false
			}
			h = held[0]
			return true
		})
		last = h
		settled := make(chan struct{})
		out := core.TaskReport{
			AgentID: h.agent, TaskID: h.task.ID, ExecutionID: h.task.ExecutionID, Attempt: h.task.Attempt, Err: err, Usage: usage,
			Settled: func() { close(settled) },
		}
		if err == nil {
			out.Result = json.RawMessage(`"done"`)
		}
		r.TaskReported(out)
		<-settled
	}
	report(&wire.Usage{InputTokens: 1, Requests: 1}, &core.TaskError{Code: "AGENT_ERROR", Message: "slow down", Retryable: true})
	report(&wire.Usage{InputTokens: 10, OutputTokens: 2, Requests: 1, CostUSD: &cost, Model: "m"}, nil)
	r.restart()
	report(nil, nil)
	got := r.wait(exec.ID)
	want := wire.Usage{InputTokens: 11, OutputTokens: 2, Requests: 2, Model: "m"}
	if u := got.Workflow.Usage; u == nil || *u.CostUSD != cost {
		t.Fatalf("used %+v", u)
	} else if u := *u; u.InputTokens != want.InputTokens || u.OutputTokens != want.OutputTokens || u.Requests != want.Requests || u.Model != want.Model {
		t.Errorf("used %+v, want %+v", u, want)
	}
	timeline, err := r.Timeline(t.Context(), exec.ID)
	if err != nil {
		t.Fatal(err)
	}
	var sum wire.Usage
	for i := range timeline.Entries {
		sum.Add(timeline.Entries[i].Usage)
	}
	if sum.InputTokens != 11 {
		t.Errorf("the timeline tells of %+v", sum)
	}
}

// Turns that agents have for messages of other roles count too, once each, over a restart.
func TestUsageOfMessages(t *testing.T) {
	k := newTalk(t, nil).begin()
	k.say(core.TaskMessage{AskID: "a1"})
	asked := k.askedOf(1)
	used := func(agent string, tokens int64) {
		k.MessageUsed(k.exec.ID, agent, asked.message.MessageID, &wire.Usage{InputTokens: tokens, Requests: 1})
	}
	used("lead", 5)
	used("lead", 5) // the same turn
	used("cto", 2)  // which was asked later
	k.waitEvents(core.EventMessageUsed, 2)
	k.restart()
	used("lead", 5)
	k.answer("lead", asked.message.MessageID, `"left"`)
	k.waitEvents(core.EventMessageReplied, 1)
	k.sync()
	if n := k.store.count(k.exec.ID, core.EventMessageUsed); n != 2 {
		t.Errorf("%d turns count", n)
	}
	timeline, err := k.Timeline(t.Context(), k.exec.ID)
	if err != nil {
		t.Fatal(err)
	}
	var sum wire.Usage
	for i := range timeline.Entries {
		sum.Add(timeline.Entries[i].Usage)
	}
	if u := k.finish().Workflow.Usage; u == nil || u.InputTokens != 7 || u.Requests != 2 || sum.InputTokens != 7 {
		t.Errorf("used %+v; the timeline tells of %+v", u, sum)
	}
}
