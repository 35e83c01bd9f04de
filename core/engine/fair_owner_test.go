package engine_test

import (
	"fmt"
	"testing"
	stdtime "time"

	"github.com/wardroom/wardroom/core"
)

// startFor starts an execution for somebody.
func (r *rig) startFor(who, pattern string) (*core.Execution, error) {
	p := core.Principal{Kind: core.PrincipalAPIKey, ID: who, Name: who}
	return r.Start(core.WithPrincipal(r.tb.Context(), p), core.ExecuteRequest{Pattern: pattern})
}

// A flood of one caller, over however many patterns and however old, delays another's executions by a turn, of the same
// pattern and of others; and the patterns of one caller take turns as before.
func TestFloodOfOneCaller(t *testing.T) {
	for _, limit := range []string{"agents", "slots"} {
		t.Run(limit, func(t *testing.T) {
			r := newRig(t)
			agents := 1
			if limit == "slots" {
				r.config.MaxActive, agents = 1, 100
			}
			r.open()
			const patterns = 20
			for i := range patterns {
				r.pattern(fmt.Sprint("p", i), core.Step{})
			}
			owners := map[string]string{}
			start := func(who, pattern string) {
				t.Helper()
				e, err := r.startFor(who, pattern)
				if err != nil {
					t.Fatal(err)
				}
				owners[e.ID] = who
			}
			for i := range 10 * patterns {
				start("flood", fmt.Sprint("p", i%patterns))
			}
			r.clock.Advance(2 * stdtime.Minute)
			for range 10 {
				start("ann", "p0")
			}
			r.agents.add("a", agents)
			line := r.taskByTask()
			served, byPattern := map[string]int{}, map[string]int{}
			for range 20 {
				task := line()
				served[owners[task.ExecutionID]]++
				if owners[task.ExecutionID] == "flood" {
					byPattern[task.PatternName]++
				}
			}
			if served["ann"] < 9 || served["ann"] > 11 {
				t.Errorf("served %v, want the same of both", served)
			}
			for name, n := range byPattern {
				if n > 2 {
					t.Errorf("%d of the pattern %s of one caller, want turns: %v", n, name, byPattern)
				}
			}
			start("bob", "p1")
			for i := 0; owners[line().ExecutionID] != "bob"; i++ {
				if i > 3 {
					t.Fatal("one execution waits for a flood of another caller")
				}
			}
		})
	}
}

// A caller with as many executions as one may have gets no other until one is over, and others do.
func TestExecutionsOfOneCaller(t *testing.T) {
	r := newRig(t)
	r.config.MaxActivePerOwner = 2
	r.open()
	r.pattern("p", core.Step{})
	for range 2 {
		if _, err := r.startFor("ann", "p"); err != nil {
			t.Fatal(err)
		}
	}
	_, err := r.startFor("ann", "p")
	if e := core.AsError(err); e == nil || e.Code != core.CodeRateLimited || e.Details["limit"] != int64(2) || e.Details["retryAfter"] == nil {
		t.Fatalf("%v", err)
	}
	if _, err := r.startFor("bob", "p"); err != nil {
		t.Error(err)
	}
	for range 3 { // nobody said who they are
		r.start("p")
	}
	r.agents.add("a", 1)
	line := r.taskByTask()
	for range 2 {
		line()
	}
	deadline := func() bool { _, err := r.startFor("ann", "p"); return err == nil }
	for range 100 {
		if deadline() {
			return
		}
		line()
	}
	t.Error("there is no room though executions are over")
}
