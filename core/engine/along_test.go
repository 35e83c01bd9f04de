package engine_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/wardroom/wardroom/core"
)

// What is to be written along with the start of an execution is, or nothing is started.
func TestAlong(t *testing.T) {
	r := newRig(t)
	r.agents.add("a", 1)
	r.agents.echo()
	r.open()
	r.pattern("p", core.Step{})
	req := core.ExecuteRequest{Pattern: "p", Input: json.RawMessage(`{"text":"a"}`)}
	broken := errors.New("no")
	var refused core.RunRef
	if _, err := r.Start(core.WithAlong(t.Context(), func(_ core.Tx, ref core.RunRef) error {
		refused = ref
		return broken
	}), req); !errors.Is(err, broken) {
		t.Fatalf("%v, want %v", err, broken)
	}
	if e, err := r.FindExecution(t.Context(), refused.ExecutionID); core.ErrorCode(err) != core.CodeNotFound {
		t.Errorf("%+v, %v", e, err)
	}
	var along core.RunRef
	exec, err := r.Start(core.WithAlong(t.Context(), func(_ core.Tx, ref core.RunRef) error {
		along = ref
		return nil
	}), req)
	if err != nil || along.ExecutionID != exec.ID || along.ThreadID != "" {
		t.Fatalf("%+v, %+v, %v", exec, along, err)
	}
	r.wait(exec.ID) // the place that the first one took is free again
	if err := r.Engine.CheckRequest(t.Context(), core.ExecuteRequest{Pattern: "p"}); err != nil {
		t.Errorf("an input that is not known yet: %v", err)
	}
	if err := r.Engine.CheckRequest(t.Context(), core.ExecuteRequest{Pattern: "nowhere"}); core.ErrorCode(err) != core.CodeNotFound {
		t.Errorf("%v", err)
	}
}
