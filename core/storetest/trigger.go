package storetest

import (
	"reflect"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store"
	"github.com/wardroom/wardroom/sdk/wire"
)

func testTrigger(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	r := &core.TriggerRecord{
		Trigger: core.Trigger{
			ID: ownID(core.PrefixTrigger, start, 1), Name: "on-push", Scheme: wire.SchemeGitHub, Enabled: true, Events: []string{"push"},
			Mapping: map[string]string{"a": "$.b"}, RatePerMinute: 60, Target: core.Target{Execution: &core.ExecutionTarget{Pattern: "p"}},
			Runs: []core.TriggerRun{{At: start, Outcome: wire.TriggerStarted}}, CreatedBy: "ann", CreatedAt: start, UpdatedAt: start,
			Principal: core.PrincipalRecord{Kind: core.PrincipalAPIKey, ID: "ann"},
		},
		Sealed: []byte{1, 2}, SealedEnv: []byte{3},
	}
	mustUpdate(t, s, func(tx core.Tx) error {
		if _, err := tx.FindTriggerRecord(r.ID); core.ErrorCode(err) != core.CodeNotFound {
			t.Errorf("before the put: %v", err)
		}
		if err := tx.PutTrigger(r); err != nil {
			return err
		}
		got, err := tx.FindTriggerRecord(r.ID)
		if !reflect.DeepEqual(got, r) {
			t.Errorf("in the transaction: %+v", got)
		}
		return err
	})
	if list, err := s.AllTriggers(ctx); err != nil || len(list) != 1 || !reflect.DeepEqual(list[0], r) {
		t.Fatalf("%+v, %v", list, err)
	}
	mustUpdate(t, s, func(tx core.Tx) error { return tx.DeleteTrigger(r.ID) })
	mustUpdate(t, s, func(tx core.Tx) error { return tx.DeleteTrigger(r.ID) }) // an unknown one is no error
	if list, err := s.AllTriggers(ctx); err != nil || len(list) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
}
