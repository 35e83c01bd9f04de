package memory_test

import (
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/storetest"
	"github.com/wardroom/wardroom/sdk/wire"
)

// What is forgotten by a commit whose answer is lost is not in the index any more.
func TestForgetInDoubt(t *testing.T) {
	storetest.EachDoubt(t, func(t *testing.T, d storetest.Doubt) {
		r := newRig(t, "")
		r.keep(core.Experience{Experience: wire.Experience{ExecutionID: "exec_1", Objective: "anemone"}})
		if got := r.found(core.ExperienceFilter{Query: "anemone"}); got != "anemone" {
			t.Fatalf("found %q", got)
		}
		_ = d.Change(r.store.Memory, r.clock, func() error { _, err := r.ForgetExecution(t.Context(), "exec_1"); return err })
		_, info, err := r.FindExperiences(t.Context(), core.ExperienceFilter{Query: "anemone"})
		if err != nil || info.Total != 0 {
			t.Errorf("the index has %d, %v", info.Total, err)
		}
	})
}

// A decision that is made by a commit whose answer is lost is not made again by its caller.
func TestDecisionInDoubt(t *testing.T) {
	r := newRig(t, "")
	if err := r.store.Losing(r.clock, time.Millisecond, func() error {
		_, err := r.AddDecision(t.Context(), core.Decision{Decision: wire.Decision{ExecutionID: "exec_1", Category: "design", Summary: "Use Go."}})
		return err
	}); err != nil {
		t.Error(err)
	}
}
