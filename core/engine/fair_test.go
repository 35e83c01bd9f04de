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

// taskByTask returns a function that answers the one task that is out and returns it.
func (r *rig) taskByTask() func() core.Task {
	last := ""
	return func() core.Task {
		r.tb.Helper()
		var h handed
		coretest.WaitFor(r.tb, "the next task", func() bool {
			for _, h = range r.agents.held() {
				if h.task.ID != last {
					return true
				}
			}
			return false
		})
		last = h.task.ID
		r.agents.report(h.agent, h.task, `1`, nil)
		return h.task
	}
}

// A flood of one pattern, however old, delays another's single execution by a task or two, and a second flood's share
// is the same as its own.
func TestFloodOfOnePattern(t *testing.T) {
	for _, limit := range []string{"agents", "slots"} {
		t.Run(limit, func(t *testing.T) {
			r := newRig(t)
			agents := 1
			if limit == "slots" {
				r.config.MaxActive, agents = 1, 100
			}
			r.open()
			for _, name := range []string{"flood", "other", "single"} {
				r.pattern(name, core.Step{})
			}
			for range 200 {
				r.start("flood")
			}
			r.clock.Advance(2 * stdtime.Minute)
			for range 100 {
				r.start("other")
			}
			r.agents.add("a", agents)
			line := r.taskByTask()
			next := func() string { return line().PatternName }
			served := map[string]int{}
			for range 20 {
				served[next()]++
			}
			if served["other"] < 8 || served["other"] > 12 {
				t.Errorf("served %v, want the same of both", served)
			}
			single := r.start("single")
			for i := 0; next() != "single"; i++ {
				if i > 3 {
					t.Fatal("one execution waits for a flood of others")
				}
			}
			if got := r.wait(single.ID); got.Status != core.ExecutionCompleted {
				t.Errorf("got %s", got.Status)
			}
		})
	}
}

// Priority goes before turns, and age before priority, as without them.
func TestTurnsKeepPriority(t *testing.T) {
	r := newRig(t).open()
	for _, name := range []string{"a", "b", "c"} {
		r.pattern(name, core.Step{})
	}
	start := func(name string, priority core.Priority) {
		r.startWith(core.ExecuteRequest{Pattern: name, Options: core.ExecuteOptions{Priority: priority}})
	}
	start("c", core.PriorityLow)
	r.clock.Advance(3 * stdtime.Minute) // six times what raises it by one
	start("a", core.PriorityNormal)
	start("a", core.PriorityHigh)
	start("b", core.PriorityNormal)
	start("a", core.PriorityHigh)
	r.agents.add("x", 1)
	var got []string
	line := r.taskByTask()
	for range 5 {
		task := line()
		got = append(got, task.PatternName+" "+string(task.Priority))
	}
	if want := "c low, a high, a high, a normal, b normal"; strings.Join(got, ", ") != want {
		t.Errorf("got %s, want %s", strings.Join(got, ", "), want)
	}
}

// A pattern that fills the queue does not keep others out, and a refusal names the limit.
func TestQueueKeepsAShare(t *testing.T) {
	r := newRig(t)
	r.config.MaxQueued = 20
	r.open()
	for i := range 4 {
		r.pattern(fmt.Sprint("p", i), core.Step{})
	}
	refused := func(pattern string, input string) *core.Error {
		t.Helper()
		_, err := r.Start(t.Context(), core.ExecuteRequest{Pattern: pattern, Input: json.RawMessage(input)})
		if core.ErrorCode(err) != core.CodeRateLimited {
			t.Fatalf("%s: %v", pattern, err)
		}
		return core.AsError(err)
	}
	for range 18 {
		r.start("p0")
	}
	err := refused("p0", `{}`)
	if err.Details["setting"] != "engine.maxQueued" || err.Details["limit"] != int64(18) || err.Details["pattern"] != "p0" || err.Details["retryAfter"] == nil ||
		!strings.Contains(err.Message, "engine.maxQueued") || !strings.Contains(err.Message, "18 of them of pattern p0") {
		t.Errorf("refused with %v %v", err, err.Details)
	}
	r.start("p1")
	refused("p1", `{}`)
	r.start("p2")
	if err = refused("p3", `{}`); err.Details["limit"] != int64(20) || err.Details["pattern"] != nil {
		t.Errorf("refused with %v %v", err, err.Details)
	}
	c := r.config
	c.MaxQueued, c.MaxQueuedBytes = 1000, 1000
	r.ApplyConfig(c)
	text := func(n int) string { return `{"text":"` + strings.Repeat("x", n) + `"}` }
	refused("p0", text(600)) // 400 are there, or nearly
	r.startWith(core.ExecuteRequest{Pattern: "p3", Input: json.RawMessage(text(620))})
	if err = refused("p3", text(20)); err.Details["setting"] != "engine.maxQueuedBytes" || err.Details["pattern"] != "p3" {
		t.Errorf("refused with %v %v", err, err.Details)
	}
}
