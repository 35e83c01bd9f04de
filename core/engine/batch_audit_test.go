package engine_test

import (
	"crypto/ed25519"
	"encoding/json"
	"slices"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/audit"
	"github.com/wardroom/wardroom/core/engine"
	"github.com/wardroom/wardroom/core/store"
	kvmemory "github.com/wardroom/wardroom/core/store/kv/memory"
	"github.com/wardroom/wardroom/sdk/wire"
)

// The audit record of a batch names it, and one that is refused once its inputs are stored has none.
func TestBatchAudit(t *testing.T) {
	r := newRig(t)
	r.pattern("p", core.Step{})
	trail := audit.New(audit.Options{Clock: r.clock, IDs: r.ids, Key: ed25519.NewKeyFromSeed(make([]byte, 32)),
		Config: audit.Config{Enabled: true, Level: audit.Verbose, Events: wire.AuditCategories}})
	s, err := store.OpenOn(t.Context(), kvmemory.New(), store.Options{Clock: r.clock, Audit: trail.Hook})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	trail.Open(s, nil)
	defer trail.Close()
	r.Engine = engine.New(engine.Options{Store: s, Patterns: r.shelf, Agents: r.agents, Streams: noStreams{}, Clock: r.clock, IDs: r.ids,
		Logger: hclog.NewNullLogger(), Config: r.config})
	r.agents.setSink(r.Engine)
	if err := r.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ask := func() (*core.Batch, error) { // as core/api does
		ctx := core.WithAuditIntent(t.Context(), &core.AuditIntent{IDPrefix: core.PrefixBatch, AuditEntry: core.AuditEntry{
			Category: wire.AuditExecutions, Action: "executions.create", Outcome: wire.AuditSuccess,
			Actor: wire.AuditActor{Type: "user", ID: "ann"}, Resource: wire.AuditResource{Type: "batches"},
		}})
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
	var named []string
	err = s.AuditRows(t.Context(), 1, false, func(row core.AuditRow) (bool, error) {
		var record struct {
			Action   string
			Resource wire.AuditResource
		}
		err := json.Unmarshal(row.Record, &record)
		if record.Action == "executions.create" {
			named = append(named, record.Resource.ID)
		}
		return true, err
	})
	if err != nil || !slices.Equal(named, []string{b.ID}) {
		t.Errorf("records of %q, want one of %s; %v", named, b.ID, err)
	}
}
