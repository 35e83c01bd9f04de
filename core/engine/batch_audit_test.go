package engine_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/engine"
	"github.com/wardroom/wardroom/core/storetest"
)

// The audit record of a batch names it, and one that is refused once its inputs are stored has none.
func TestBatchAudit(t *testing.T) {
	r := newRig(t)
	r.pattern("p", core.Step{})
	var named []string // by the records of requests
	s := storetest.OpenAudited(t, "", r.clock, func(ctx context.Context, tx core.AuditTx) error {
		if intent := core.AuditIntentFrom(ctx); intent != nil && !intent.Recorded.Load() { // as core/audit does
			id := tx.FirstID(intent.IDPrefix)
			tx.AfterCommit(func() {
				intent.Recorded.Store(true)
				named = append(named, id)
			})
		}
		return nil
	})
	r.Engine = engine.New(engine.Options{Store: s, Patterns: r.shelf, Agents: r.agents, Streams: noStreams{}, Clock: r.clock, IDs: r.ids,
		Logger: hclog.NewNullLogger(), Config: r.config})
	r.agents.setSink(r.Engine)
	if err := r.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	ask := func() (*core.Batch, error) { // as core/api does
		ctx := core.WithAuditIntent(t.Context(), &core.AuditIntent{IDPrefix: core.PrefixBatch})
		return r.StartBatch(core.WithIdempotency(ctx, &core.IdempotencyClaim{Scope: "s", Key: "k"}),
			core.BatchRequest{Pattern: "p", Inputs: []json.RawMessage{[]byte(`{"text":"1"}`)}})
	}
	b, err := ask()
	if err != nil {
		t.Fatal(err)
	}
	if _, err = ask(); err == nil {
		t.Fatal("the key was taken twice")
	}
	r.Close()
	if !slices.Equal(named, []string{b.ID}) {
		t.Errorf("records of %q, want one of %s", named, b.ID)
	}
}
