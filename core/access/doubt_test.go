package access_test

import (
	"context"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/access"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/storetest"
)

// A key that is made, rotated or revoked by a commit whose answer is lost counts as it is stored.
func TestKeyInDoubt(t *testing.T) {
	storetest.EachDoubt(t, func(t *testing.T, d storetest.Doubt) {
		store, clock, changes := storetest.NewMemory(t), coretest.NewClock(), 0
		s := access.New(access.Options{Store: store, Clock: clock, IDs: core.NewIDs(clock), Changed: func() { changes++ }})
		defer s.Close()
		r, as := &rig{Service: s, tb: t, clock: clock}, core.WithPrincipal(t.Context(), core.System)
		var made, rotated *core.NewAPIKey
		_ = d.Change(store, clock, func() (err error) {
			made, err = s.CreateKey(as, core.APIKeySpec{Name: "ci", Scopes: []string{core.ScopeRead}})
			return err
		})
		if made == nil { // its secret is lost
			list, _, err := s.FindKeys(t.Context(), core.APIKeyFilter{})
			if err != nil || len(list) != 1 {
				t.Fatalf("it is made, and the list has %d, %v", len(list), err)
			}
			var renewed error
			if made, renewed = s.RotateKey(as, list[0].ID, 0); renewed != nil {
				t.Fatal(renewed)
			}
		}
		if _, err := r.try("10.0.0.1:1", "Bearer "+made.Key); err != nil {
			t.Fatal(err)
		}
		_ = d.Change(store, clock, func() (err error) {
			rotated, err = s.RotateKey(as, made.ID, 0)
			return err
		})
		if _, err := r.try("10.0.0.1:1", "Bearer "+made.Key); core.ErrorCode(err) != core.CodeUnauthorized {
			t.Errorf("the former secret: %v", err)
		}
		if rotated == nil {
			var err error
			if rotated, err = s.RotateKey(as, made.ID, 0); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := r.try("10.0.0.1:1", "Bearer "+rotated.Key); err != nil {
			t.Errorf("the new secret: %v", err)
		}
		changes = 0
		_ = d.Change(store, clock, func() error { return s.RevokeKey(as, made.ID) })
		if _, err := r.try("10.0.0.1:1", "Bearer "+rotated.Key); core.ErrorCode(err) != core.CodeUnauthorized || changes != 1 {
			t.Errorf("a key that was revoked: %v, after %d changes", err, changes)
		}
	})
}

// A session that begins or ends by a commit whose answer is lost is as it is stored.
func TestSessionInDoubt(t *testing.T) {
	storetest.EachDoubt(t, func(t *testing.T, d storetest.Doubt) {
		store, clock, changes := storetest.NewMemory(t), coretest.NewClock(), 0
		limits := access.SessionLimits{Idle: 24 * time.Hour, MaxAge: 240 * time.Hour, MaxConcurrent: 1}
		s := access.New(access.Options{Store: store, Clock: clock, IDs: core.NewIDs(clock), Changed: func() { changes++ }, Sessions: &access.SessionOptions{
			Limits: func() access.SessionLimits { return limits }, SSO: true,
			Scopes: func(context.Context, core.Principal) ([]string, bool) { return nil, false },
		}})
		defer s.Close()
		if err := s.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		spec := core.SessionSpec{Kind: core.SessionBrowser, User: "ann", Method: core.SignInSSO}
		former, err := s.CreateSession(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		_ = d.Change(store, clock, func() error { _, err := s.CreateSession(t.Context(), spec); return err })
		if s.CookieSession(former.Token) != "" || changes != 1 {
			t.Errorf("the one that another took the place of is live, after %d changes", changes)
		}
		list, _, err := s.FindSessions(t.Context(), core.SessionFilter{})
		if err != nil || len(list) != 1 || list[0].ID == former.ID {
			t.Fatalf("the list has %+v, %v", list, err)
		}
		_ = d.Change(store, clock, func() error { _, err := s.RevokeSession(t.Context(), list[0].ID); return err })
		if _, err := s.FindSession(t.Context(), list[0].ID); core.ErrorCode(err) != core.CodeNotFound || changes != 2 {
			t.Errorf("one that was withdrawn: %v, after %d changes", err, changes)
		}
	})
}

// What agents do that connected with a token ends with it, though the answer of the commit that revoked it was lost.
func TestAgentTokenInDoubt(t *testing.T) {
	storetest.EachDoubt(t, func(t *testing.T, d storetest.Doubt) {
		r := newTokenRig(t)
		_ = d.Change(r.store, r.clock, func() error {
			_, err := r.CreateAgentToken(t.Context(), core.AgentTokenSpec{Capabilities: []string{"*"}})
			return err
		})
		list, _, err := r.FindAgentTokens(t.Context(), core.AgentTokenFilter{})
		if err != nil || len(list) != 1 {
			t.Fatalf("the list has %d, %v", len(list), err)
		}
		_ = d.Change(r.store, r.clock, func() error { return r.RevokeAgentToken(t.Context(), list[0].ID) })
		if r.changed != 1 {
			t.Errorf("it was revoked, with %d changes", r.changed)
		}
	})
}
