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

func session(id, user string) *core.SessionRecord {
	return &core.SessionRecord{
		UserSession: core.UserSession{
			ID: id, Kind: core.SessionBrowser, User: user, Name: "Ann", Method: core.SignInSSO, Groups: []string{"devs"},
			CreatedAt: start, LastUsedAt: start, ExpiresAt: start.Add(time.Hour),
		},
		MAC: []byte("0123456789abcdef"), IDToken: []byte("sealed"),
	}
}

func testSession(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	r := session(ownID(core.PrefixSession, start, 1), "ann")
	_, err := s.FindSession(ctx, r.ID)
	wantCode(t, err, core.CodeNotFound)
	mustUpdate(t, s, func(tx core.Tx) error {
		if err := tx.PutSession(r); err != nil {
			return err
		}
		got, err := tx.FindSession(r.ID)
		if !reflect.DeepEqual(got, r) {
			t.Errorf("in the transaction: %+v", got)
		}
		return err
	})
	if got, err := s.FindSession(ctx, r.ID); err != nil || !reflect.DeepEqual(got, r) {
		t.Fatalf("got %+v, %v, want %+v", got, err, r)
	}
	mustUpdate(t, s, func(tx core.Tx) error { return tx.DeleteSession(r.ID) })
	mustUpdate(t, s, func(tx core.Tx) error { return tx.DeleteSession(r.ID) }) // an unknown one is no error
	_, err = s.FindSession(ctx, r.ID)
	wantCode(t, err, core.CodeNotFound)
	for name, r := range map[string]*core.SessionRecord{"ErrIDRequired": session("", "ann"), "ErrUserRequired": session("sess_1", "")} {
		t.Run(name, func(t *testing.T) {
			wantCode(t, s.Update(ctx, func(tx core.Tx) error { return tx.PutSession(r) }), core.CodeValidation)
		})
	}
}

func testSessionListsEqualModel(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	rnd := rand.New(rand.NewPCG(15, 3))
	model := map[string]*core.SessionRecord{}
	for i := range 200 {
		id := ownID(core.PrefixSession, start.Add(time.Duration(rnd.IntN(60))*time.Millisecond), 1)
		if rnd.IntN(4) == 0 {
			delete(model, id)
			mustUpdate(t, s, func(tx core.Tx) error { return tx.DeleteSession(id) })
			continue
		}
		r := session(id, fmt.Sprintf("user%d", i%3))
		model[id] = r
		mustUpdate(t, s, func(tx core.Tx) error { return tx.PutSession(r) })
	}
	for _, user := range []string{"", "user1", "user9"} {
		f := core.SessionFilter{User: user}
		want := selectIDs(model, func(r *core.SessionRecord) bool { return either(user, r.User) })
		list := listOf(s.FindSessions, func(p core.Page) core.SessionFilter { f.Page = p; return f },
			func(r *core.SessionRecord) string { return r.ID })
		wantList(t, fmt.Sprintf("%+v", f), list, want, 7)
	}
}
