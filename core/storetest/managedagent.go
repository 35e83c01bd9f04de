package storetest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store"
)

func testManagedAgent(t *testing.T, open Opener) {
	dir := t.TempDir()
	s := open(t, store.Options{Path: dir})
	record := &core.ManagedAgentRecord{
		ManagedAgent: core.ManagedAgent{ID: "magent_1", Type: "claude", Status: core.ManagedReady, Runtime: "local"},
		Handle:       json.RawMessage(`{"id":"magent_1","data":"aGk="}`), Wanted: true,
		Spec: core.ManagedAgentSpec{Type: "claude", Env: map[string]string{"TOKEN": "canary"}},
	}
	mustUpdate(t, s, func(tx core.Tx) error {
		if err := tx.PutManagedAgent(record); err != nil {
			return err
		}
		if err := tx.PutRuntimePosition(core.RuntimePosition{Runtime: "old", Seq: 8}); err != nil {
			return err
		}
		return tx.PutRuntimePosition(core.RuntimePosition{Runtime: "local", Seq: 7, Log: "log-1"})
	})
	all, err := s.AllManagedAgents(ctx)
	if err != nil || len(all) != 1 || all[0].Type != "claude" || !all[0].Wanted {
		t.Fatalf("managed agents: %+v, %v", all, err)
	}
	if encoded, _ := json.Marshal(all[0]); strings.Contains(string(encoded), "canary") {
		t.Error("a secret of the environment was stored")
	}
	if at, err := s.RuntimePositions(ctx); err != nil || len(at) != 2 ||
		at["local"] != (core.RuntimePosition{Runtime: "local", Seq: 7, Log: "log-1"}) || at["old"] != (core.RuntimePosition{Runtime: "old", Seq: 8}) {
		t.Fatalf("positions: %v, %v", at, err)
	}
	mustUpdate(t, s, func(tx core.Tx) error { return tx.DeleteManagedAgent("magent_1") })
	if all, err := s.AllManagedAgents(ctx); err != nil || len(all) != 0 {
		t.Fatalf("managed agents: %+v, %v", all, err)
	}
	wantCode(t, s.Update(ctx, func(tx core.Tx) error { return tx.PutManagedAgent(&core.ManagedAgentRecord{}) }), core.CodeValidation)
	wantCode(t, s.Update(ctx, func(tx core.Tx) error { return tx.PutRuntimePosition(core.RuntimePosition{}) }), core.CodeValidation)
}
