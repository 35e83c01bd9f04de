package storetest

import (
	"reflect"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store"
)

func agentToken(id, by string) *core.AgentTokenRecord {
	expires := start.Add(core.DefaultKeyLife)
	return &core.AgentTokenRecord{
		AgentToken: core.AgentToken{ID: id, Capabilities: []string{"triage"}, Uses: 2, CreatedBy: by, CreatedAt: start, ExpiresAt: &expires},
		MAC:        []byte("0123456789abcdef"),
	}
}

func testAgentToken(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	first, second := agentToken(ownID(core.PrefixToken, start, 1), "ann"), agentToken(ownID(core.PrefixToken, start, 2), "bob")
	_, err := s.FindAgentToken(ctx, first.ID)
	wantCode(t, err, core.CodeNotFound)
	for _, k := range []*core.AgentTokenRecord{first, second} {
		mustUpdate(t, s, func(tx core.Tx) error { return tx.PutAgentToken(k) })
	}
	used := *first
	used.Used = 1
	mustUpdate(t, s, func(tx core.Tx) error {
		got, err := tx.FindAgentToken(first.ID)
		if !reflect.DeepEqual(got, first) {
			t.Errorf("in the transaction: %+v, %v", got, err)
		}
		return tx.PutAgentToken(&used)
	})
	if got, err := s.FindAgentToken(ctx, first.ID); err != nil || !reflect.DeepEqual(got, &used) {
		t.Fatalf("got %+v, %v, want %+v", got, err, used)
	}
	for by, want := range map[string][]string{"": {second.ID, first.ID}, "ann": {first.ID}, "eve": nil} {
		list, info, err := s.FindAgentTokens(ctx, core.AgentTokenFilter{CreatedBy: by})
		var ids []string
		for _, k := range list {
			ids = append(ids, k.ID)
		}
		if err != nil || !reflect.DeepEqual(ids, want) || info.Total != len(want) {
			t.Errorf("by %q: %v, %+v, %v", by, ids, info, err)
		}
	}
	for range 2 { // an unknown one is no error
		mustUpdate(t, s, func(tx core.Tx) error { return tx.DeleteAgentToken(first.ID) })
	}
	_, err = s.FindAgentToken(ctx, first.ID)
	wantCode(t, err, core.CodeNotFound)
	wantCode(t, s.Update(ctx, func(tx core.Tx) error { return tx.PutAgentToken(agentToken("", "a")) }), core.CodeValidation)
}
