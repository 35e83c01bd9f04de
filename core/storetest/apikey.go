package storetest

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store"
)

func apiKey(id, name, owner string) *core.APIKeyRecord {
	expires := start.Add(core.DefaultKeyLife)
	return &core.APIKeyRecord{
		APIKey: core.APIKey{
			ID: id, Name: name, Owner: owner, Scopes: []string{core.ScopeRead}, CreatedBy: "admin", CreatedAt: start, ExpiresAt: &expires,
		},
		Hashes: []core.KeyHash{{MAC: []byte("0123456789abcdef")}},
	}
}

func testAPIKey(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	k := apiKey(ownID(core.PrefixAPIKey, start, 1), "ci", "ann")
	_, err := s.FindAPIKey(ctx, k.ID)
	wantCode(t, err, core.CodeNotFound)
	mustUpdate(t, s, func(tx core.Tx) error {
		if got, err := tx.APIKeyNamed("ci"); got != nil || err != nil {
			t.Errorf("before the put: %+v, %v", got, err)
		}
		if err := tx.PutAPIKey(k); err != nil {
			return err
		}
		if got, err := tx.APIKeyNamed("ci"); err != nil || !reflect.DeepEqual(got, k) {
			t.Errorf("by its name in the transaction: %+v, %v", got, err)
		}
		got, err := tx.FindAPIKey(k.ID)
		if !reflect.DeepEqual(got, k) {
			t.Errorf("in the transaction: %+v", got)
		}
		return err
	})
	if got, err := s.FindAPIKey(ctx, k.ID); err != nil || !reflect.DeepEqual(got, k) {
		t.Fatalf("got %+v, %v, want %+v", got, err, k)
	}
	// Another takes the name over, and the first one's end does not take it away.
	second := apiKey(ownID(core.PrefixAPIKey, start, 2), "ci", "bob")
	mustUpdate(t, s, func(tx core.Tx) error { return tx.PutAPIKey(second) })
	mustUpdate(t, s, func(tx core.Tx) error { return tx.DeleteAPIKey(k.ID) })
	mustUpdate(t, s, func(tx core.Tx) error { return tx.DeleteAPIKey(k.ID) }) // an unknown one is no error
	mustUpdate(t, s, func(tx core.Tx) error {
		got, err := tx.APIKeyNamed("ci")
		if err != nil || got == nil || got.ID != second.ID {
			t.Errorf("by its name: %+v, %v, want %s", got, err, second.ID)
		}
		return nil
	})
	renamed := *second
	renamed.Name = "other"
	for name, k := range map[string]*core.APIKeyRecord{
		"ErrIDRequired": apiKey("", "a", "a"), "ErrNameRequired": apiKey("key_1", "", "a"), "ErrOwnerRequired": apiKey("key_1", "a", ""),
		"ErrRenamed": &renamed,
	} {
		t.Run(name, func(t *testing.T) {
			wantCode(t, s.Update(ctx, func(tx core.Tx) error { return tx.PutAPIKey(k) }), core.CodeValidation)
		})
	}
}

func testAPIKeyListsEqualModel(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	rnd := rand.New(rand.NewPCG(15, 1))
	model := map[string]*core.APIKeyRecord{}
	for i := range 200 {
		id := ownID(core.PrefixAPIKey, start.Add(time.Duration(rnd.IntN(60))*time.Millisecond), 1)
		if rnd.IntN(4) == 0 {
			delete(model, id)
			mustUpdate(t, s, func(tx core.Tx) error { return tx.DeleteAPIKey(id) })
			continue
		}
		k := apiKey(id, "key of "+id, fmt.Sprintf("owner%d", i%3))
		k.CreatedBy = fmt.Sprintf("maker%d", i%2)
		model[id] = k
		mustUpdate(t, s, func(tx core.Tx) error { return tx.PutAPIKey(k) })
	}
	for _, owner := range []string{"", "owner1", "owner9"} {
		for _, by := range []string{"", "maker1", "maker9"} {
			f := core.APIKeyFilter{Owner: owner, CreatedBy: by}
			want := selectIDs(model, func(k *core.APIKeyRecord) bool { return either(owner, k.Owner) && either(by, k.CreatedBy) })
			list := listOf(s.FindAPIKeys, func(p core.Page) core.APIKeyFilter { f.Page = p; return f },
				func(k *core.APIKeyRecord) string { return k.ID })
			wantList(t, fmt.Sprintf("%+v", f), list, want, 7)
		}
	}
}
