package engine_test

import (
	"encoding/json"
	"testing"
	stdtime "time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

// With fewer agents than a step needs nothing is handed out, and the end says how many there were.
func TestTooFewAgentsGetNothing(t *testing.T) {
	for _, batch := range []bool{false, true} {
		r := newRig(t)
		r.agents.add("a", 5)
		r.agents.add("b", 5)
		r.open()
		r.pattern("p", core.Step{Min: 3})
		var id string
		if batch {
			b, err := r.StartBatch(t.Context(), core.BatchRequest{Pattern: "p", Inputs: []json.RawMessage{[]byte(`{"text":"x"}`)}})
			if err != nil {
				t.Fatal(err)
			}
			coretest.WaitFor(t, "the item", func() bool {
				got, _ := r.FindBatch(t.Context(), b.ID)
				if len(got.Results) == 1 {
					id = got.Results[0].ExecutionID
				}
				return id != ""
			})
		} else {
			id = r.start("p").ID
		}
		r.agents.open("a", 6) // a pass of the scheduler, and still not enough
		coretest.WaitFor(t, "the timer", func() bool { return r.clock.Pending() > 0 })
		if n := len(r.agents.held()); n != 0 {
			t.Fatalf("batch %t: %d tasks were handed out", batch, n)
		}
		r.clock.Advance(5 * stdtime.Minute)
		got := r.wait(id)
		if got.Error == nil || got.Error.Code != core.CodeNoAgents || got.StartedAt != nil ||
			got.Error.Details["required"] != 3 || got.Error.Details["available"] != 2 {
			t.Errorf("batch %t: it ended with %+v", batch, got.Error)
		}
	}
}

// It begins once there are enough, be they busy.
func TestEnoughAgentsBegin(t *testing.T) {
	r := newRig(t)
	r.agents.add("a", 5)
	r.open()
	r.pattern("p", core.Step{Min: 2, WaitForAll: true})
	exec := r.start("p")
	r.agents.add("b", 0)
	held := r.agents.await(t, 1)
	r.agents.echo()
	r.agents.open("b", 1)
	r.agents.report(held[0].agent, held[0].task, `1`, nil)
	if got := r.wait(exec.ID); got.Status != core.ExecutionCompleted || len(got.Agents) != 2 {
		t.Errorf("it is %s: %+v", got.Status, got.Error)
	}
}

// A caller who waits hears at once that the last agent that could do it is gone for good; others wait on.
func TestLastAgentLostWhileACallerWaits(t *testing.T) {
	for name, c := range map[string]struct {
		chart bool
		out   bool // the task is out at the agent that is lost
	}{"pending": {}, "at work": {out: true}, "chart pending": {chart: true}, "chart at work": {chart: true, out: true}} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			slots := 0
			if c.out {
				slots = 1
			}
			r.agents.add("a", slots)
			r.open()
			r.pattern("p", core.Step{})
			if c.chart {
				r.chart("p", crew("a"), many(1, "a")...)
			}
			req := core.ExecuteRequest{Pattern: "p", Input: json.RawMessage(`{"text":"x"}`)}
			async := r.startWith(req)
			if c.out {
				r.agents.await(t, 1)
				r.agents.open("a", 1)
			}
			req.RequireAgents = true
			sync := r.startWith(req)
			if c.out {
				r.agents.await(t, 2)
			}
			r.agents.lose("a")
			got := r.wait(sync.ID)
			if got.Status != core.ExecutionFailed || got.Error.Code != core.CodeNoAgents || got.Error.Details["available"] != 0 {
				t.Errorf("the caller who waits gets %s %+v", got.Status, got.Error)
			}
			if other, _ := r.FindExecution(t.Context(), async.ID); other.Status.Terminal() {
				t.Errorf("the other one is %s: %+v", other.Status, other.Error)
			}
		})
	}
}
