package engine_test

import (
	"encoding/json"
	"testing"

	"github.com/wardroom/wardroom/core"
)

// A pattern that names who may run it runs for nobody as long as nobody can be told to be one of them.
func TestGuardedPattern(t *testing.T) {
	r := newRig(t)
	r.agents.add("a", 1)
	r.agents.echo()
	r.open()
	r.pattern("p", core.Step{})
	r.shelf["p"].def.Guard = &core.Guard{Users: []string{"ann"}}
	ctx := core.WithPrincipal(t.Context(), core.Anonymous)
	_, err := r.Start(ctx, core.ExecuteRequest{Pattern: "p"})
	wantForbidden(t, err)
	_, err = r.StartBatch(ctx, core.BatchRequest{Pattern: "p", Inputs: []json.RawMessage{[]byte(`{"text":"a"}`)}})
	wantForbidden(t, err)
	r.pattern("outer", core.Step{Compose: &core.Composition{Name: "p"}})
	_, err = r.Start(ctx, core.ExecuteRequest{Pattern: "outer"})
	wantForbidden(t, err)
	if _, err := r.Start(t.Context(), core.ExecuteRequest{Pattern: "p", Input: json.RawMessage(`{"text":"a"}`)}); err != nil {
		t.Errorf("Wardroom itself goes on with what was begun: %v", err)
	}
}

func wantForbidden(t *testing.T, err error) {
	t.Helper()
	if e := core.AsError(err); err == nil || e.Code != core.CodeForbidden || e.Details["action"] != "executions.create" {
		t.Errorf("%v, want FORBIDDEN", err)
	}
}
