package engine_test

import (
	"encoding/json"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

// The inputs of a batch count for who started it, from the start to the end of the batch and over a restart; a batch that does
// not fit is refused in whole.
func TestBatchesOfOneCaller(t *testing.T) {
	r := newRig(t)
	r.config.MaxActivePerOwner = 4
	r.agents.add("a", 1)
	r.open()
	r.pattern("p", core.Step{})
	batch := func(who string, n int) (*core.Batch, error) {
		ctx := core.WithPrincipal(t.Context(), core.Principal{Kind: core.PrincipalAPIKey, ID: who, Name: who})
		req := core.BatchRequest{Pattern: "p", Concurrency: 1}
		for range n {
			req.Inputs = append(req.Inputs, json.RawMessage(`{"text":"x"}`))
		}
		return r.StartBatch(ctx, req)
	}
	full := func(when string, err error) {
		t.Helper()
		if e := core.AsError(err); e == nil || e.Code != core.CodeRateLimited || e.Details["limit"] != int64(4) ||
			e.Details["setting"] != "security.rateLimit.open.executions" {
			t.Errorf("%s: %v", when, err)
		}
	}
	_, err := batch("ann", 5)
	full("more inputs than one may have", err)
	b, err := batch("ann", 3)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = r.startFor("ann", "p"); err != nil {
		t.Errorf("there is room for one: %v", err)
	}
	_, err = r.startFor("ann", "p")
	full("beside a batch", err)
	_, err = batch("ann", 1)
	full("a batch beside a batch", err)
	if _, err = batch("bob", 4); err != nil {
		t.Errorf("another caller: %v", err)
	}
	if _, err = r.CancelBatch(t.Context(), b.ID); err != nil {
		t.Fatal(err)
	}
	coretest.WaitFor(t, "room for the caller", func() bool {
		_, err := batch("ann", 3)
		return err == nil
	})
}
