package threads_test

import (
	"errors"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

// What is to be written along with a thread is, or there is none, and no execution for it either.
func TestAlong(t *testing.T) {
	r := newRig(t, coretest.NewClock()).open()
	spec := core.ThreadSpec{ExecutionID: core.NewExecution, AgentType: "claude", Objective: "x"}
	broken := errors.New("no")
	if _, err := r.SpawnThread(core.WithAlong(t.Context(), func(core.Tx, core.RunRef) error { return broken }), spec); !errors.Is(err, broken) {
		t.Fatalf("%v, want %v", err, broken)
	}
	if _, info, err := r.FindThreads(t.Context(), core.ThreadFilter{}); err != nil || info.Total != 0 {
		t.Errorf("%d threads, %v", info.Total, err)
	}
	var along core.RunRef
	thread, err := r.SpawnThread(core.WithAlong(t.Context(), func(_ core.Tx, ref core.RunRef) error {
		along = ref
		return nil
	}), spec)
	if err != nil || along.ThreadID != thread.ID || along.ExecutionID != thread.ExecutionID {
		t.Errorf("%+v, %+v, %v", thread, along, err)
	}
	spec.AgentType = ""
	if err := r.CheckSpec(t.Context(), spec); core.ErrorCode(err) != core.CodeValidation {
		t.Errorf("%v", err)
	}
}
