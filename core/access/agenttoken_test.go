package access_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/access"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/storetest"
)

// tokenRig keeps registration tokens in a store in memory.
type tokenRig struct {
	*access.AgentTokens
	t       *testing.T
	store   *storetest.Memory
	clock   *coretest.Clock
	auth    *access.AgentAuth
	changed int
}

func newTokenRig(t *testing.T, change ...func(*access.AgentOptions)) *tokenRig {
	r := &tokenRig{t: t, store: storetest.NewMemory(t), clock: coretest.NewClock()}
	r.AgentTokens = access.NewAgentTokens(access.TokenOptions{
		Store: r.store, Clock: r.clock, IDs: core.NewIDs(r.clock), Pepper: [32]byte{1}, Changed: func() { r.changed++ },
	})
	o := access.AgentOptions{Tokens: r.AgentTokens, Clock: r.clock, Method: access.AgentByToken, Required: true}
	for _, f := range change {
		f(&o)
	}
	r.auth = access.NewAgentAuth(o)
	return r
}

func (r *tokenRig) create(spec core.AgentTokenSpec) *core.NewAgentToken {
	r.t.Helper()
	token, err := r.CreateAgentToken(r.t.Context(), spec)
	if err != nil {
		r.t.Fatal(err)
	}
	return token
}

// connect authenticates an agent that shows a credential.
func (r *tokenRig) connect(credential string) (core.Principal, error) {
	req := httptest.NewRequest(http.MethodGet, "/api/agents/connect", http.NoBody)
	if credential != "" {
		req.Header.Set("Authorization", "Bearer "+credential)
	}
	return r.auth.Authenticate(req)
}

// register does what the registry does when an agent registers.
func (r *tokenRig) register(credential string, comesBack bool, offer core.AgentOffer) error {
	r.t.Helper()
	p, err := r.connect(credential)
	if err == nil {
		err = r.CheckAgent(r.t.Context(), p, offer)
	}
	if err != nil {
		return err
	}
	return r.store.Update(r.t.Context(), func(tx core.Tx) error { return r.AdmitAgent(tx, p, comesBack) })
}

func TestAgentToken(t *testing.T) {
	r := newTokenRig(t)
	token := r.create(core.AgentTokenSpec{Capabilities: []string{"triage", "code-*"}, Names: []string{"worker-*", "lead"}, Uses: 2, Life: time.Hour})
	if !strings.HasPrefix(token.Token, "wra_") || token.Status != "active" {
		t.Errorf("%+v", token)
	}
	if text := r.dump(); strings.Contains(text, token.Token) || strings.Contains(text, token.Token[31:63]) {
		t.Error("the store holds the secret")
	}
	good := core.AgentOffer{Name: "worker-1", Capabilities: []string{"code-review", "triage"}}
	for name, offer := range map[string]core.AgentOffer{
		"Name": {Name: "other", Capabilities: []string{"triage"}}, "Capability": {Name: "lead", Capabilities: []string{"triage", "deploy"}},
		"Prefix": {Name: "lead", Capabilities: []string{"code"}}, "Threads": {Name: "lead", Capabilities: []string{"triage"}, Threads: true},
	} {
		if err := r.register(token.Token, false, offer); core.ErrorCode(err) != core.CodeForbidden {
			t.Errorf("%s: %v", name, err)
		}
	}
	for range 2 {
		if err := r.register(token.Token, false, good); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.register(token.Token, false, good); core.ErrorCode(err) != core.CodeUnauthorized || !strings.Contains(err.Error(), "2 times") {
		t.Errorf("a third use: %v", err)
	}
	if err := r.register(token.Token, true, good); err != nil {
		t.Errorf("one that comes back: %v", err)
	}
	if got, err := r.FindAgentToken(t.Context(), token.ID); err != nil || got.Used != 2 || got.Status != "exhausted" || got.LastUsedAt == nil {
		t.Errorf("%+v %v", got, err)
	}
	p, err := r.connect(token.Token)
	if err != nil || p.Kind != core.PrincipalAgent || p.ID != token.ID || len(p.Scopes) > 0 {
		t.Errorf("%+v %v", p, err)
	}
	r.clock.Advance(time.Hour)
	if err := r.register(token.Token, true, good); err != nil {
		t.Errorf("one that comes back after the expiry: %v", err)
	}
	if err := r.Refresh(t.Context(), p); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := r.RevokeAgentToken(t.Context(), token.ID); err != nil {
			t.Fatal(err)
		}
	}
	if r.changed != 1 {
		t.Errorf("changed %d times", r.changed)
	}
	if err := r.Refresh(t.Context(), p); core.ErrorCode(err) != core.CodeUnauthorized {
		t.Errorf("revoked: %v", err)
	}
	if err := r.register(token.Token, true, good); core.ErrorCode(err) != core.CodeUnauthorized {
		t.Errorf("revoked: %v", err)
	}
	if err := r.RevokeAgentToken(t.Context(), "atok_1"); core.ErrorCode(err) != core.CodeNotFound {
		t.Error(err)
	}
}

// damagedTokens is a store in which the record of a token cannot be read.
type damagedTokens struct {
	*storetest.Memory
	id string
}

func (s *damagedTokens) FindAgentToken(ctx context.Context, id string) (*core.AgentTokenRecord, error) {
	if id == s.id {
		return nil, core.Errorf(core.CodeInternal, "the stored agent token cannot be read").WithCause(core.ErrUnreadable)
	}
	return s.Memory.FindAgentToken(ctx, id)
}

func (s *damagedTokens) Update(ctx context.Context, fn func(tx core.Tx) error) error {
	return s.Memory.Update(ctx, func(tx core.Tx) error { return fn(damagedTx{tx, ctx, s}) })
}

type damagedTx struct {
	core.Tx
	ctx   context.Context
	store *damagedTokens
}

func (t damagedTx) FindAgentToken(id string) (*core.AgentTokenRecord, error) {
	if id == t.store.id {
		return t.store.FindAgentToken(t.ctx, id)
	}
	return t.Tx.FindAgentToken(id)
}

// The agents of a token that is revoked are sent away where its record cannot be read any more as well, and no sooner.
func TestAgentTokenRevokedBroken(t *testing.T) {
	store := &damagedTokens{Memory: storetest.NewMemory(t)}
	clock, changed := coretest.NewClock(), 0
	tokens := access.NewAgentTokens(access.TokenOptions{Store: store, Clock: clock, IDs: core.NewIDs(clock), Changed: func() { changed++ }})
	token, err := tokens.CreateAgentToken(t.Context(), core.AgentTokenSpec{Capabilities: []string{"*"}})
	if err != nil {
		t.Fatal(err)
	}
	store.id = token.ID
	agent := core.Principal{Kind: core.PrincipalAgent, ID: token.ID, KeyID: token.ID}
	if err := tokens.Refresh(t.Context(), agent); core.ErrorCode(err) != core.CodeInternal {
		t.Errorf("before: %v", err)
	}
	if err := tokens.RevokeAgentToken(t.Context(), token.ID); !errors.Is(err, core.ErrUnreadable) || changed != 1 {
		t.Errorf("the record says nothing of it, but %v, and %d changes", err, changed)
	}
	if err := tokens.Refresh(t.Context(), agent); core.ErrorCode(err) != core.CodeUnauthorized {
		t.Errorf("an agent of it goes on: %v", err)
	}
}

func TestAgentTokenExpires(t *testing.T) {
	r := newTokenRig(t)
	token := r.create(core.AgentTokenSpec{Capabilities: []string{"*"}, Life: time.Hour})
	anything := core.AgentOffer{Name: "any", Capabilities: []string{"x"}, Threads: true}
	if err := r.register(token.Token, false, anything); err != nil {
		t.Fatal(err)
	}
	r.clock.Advance(time.Hour)
	if err := r.register(token.Token, false, anything); core.ErrorCode(err) != core.CodeUnauthorized || !strings.Contains(err.Error(), "expired") {
		t.Error(err)
	}
	// What an agent may come back with is kept, what nobody used goes, and what was revoked.
	unused := r.create(core.AgentTokenSpec{Capabilities: []string{"a"}, Life: time.Hour})
	revoked := r.create(core.AgentTokenSpec{Capabilities: []string{"a"}, Never: true})
	if err := r.RevokeAgentToken(t.Context(), revoked.ID); err != nil {
		t.Fatal(err)
	}
	r.clock.Advance(40 * 24 * time.Hour)
	r.Purge(t.Context())
	list, _, err := r.FindAgentTokens(t.Context(), core.AgentTokenFilter{})
	if err != nil || len(list) != 1 || list[0].ID != token.ID {
		t.Errorf("%+v, not %s alone (%s was never used): %v", list, token.ID, unused.ID, err)
	}
}

func (r *tokenRig) dump() string {
	list, _, err := r.store.FindAgentTokens(r.t.Context(), core.AgentTokenFilter{})
	if err != nil {
		r.t.Fatal(err)
	}
	var all strings.Builder
	for _, k := range list {
		all.WriteString(k.ID + string(k.MAC) + strings.Join(k.Capabilities, " "))
	}
	return all.String()
}

func TestAgentTokenRefuses(t *testing.T) {
	r := newTokenRig(t)
	ok := []string{"a"}
	for name, spec := range map[string]core.AgentTokenSpec{
		"NoCapability": {}, "Empty": {Capabilities: []string{""}}, "Space": {Capabilities: []string{"a b"}}, "Star": {Capabilities: []string{"a*b"}},
		"Control": {Capabilities: ok, Names: []string{"a\x1b[31m"}}, "Uses": {Capabilities: ok, Uses: -1}, "Life": {Capabilities: ok, Life: time.Second},
		"Both": {Capabilities: ok, Life: time.Hour, Never: true}, "Long": {Capabilities: []string{strings.Repeat("a", 129)}},
		"Many": {Capabilities: slices.Repeat(ok, 65)},
	} {
		if _, err := r.CreateAgentToken(t.Context(), spec); core.ErrorCode(err) != core.CodeValidation {
			t.Errorf("%s: %v", name, err)
		}
	}
	reader := core.WithPrincipal(t.Context(), core.Principal{Kind: core.PrincipalAPIKey, ID: "ann", Scopes: []string{"read"}})
	if _, err := r.CreateAgentToken(reader, core.AgentTokenSpec{Capabilities: ok}); core.ErrorCode(err) != core.CodeForbidden {
		t.Errorf("from one who may not connect agents: %v", err)
	}
}

// What agents have to show, by the method.
func TestAgentMethods(t *testing.T) {
	cert := core.Principal{Kind: core.PrincipalClient, ID: "host-1", Name: "host-1", Scopes: []string{"admin"}}
	for _, tt := range []struct {
		name             string
		method           access.AgentMethod
		required, others bool
		certificate      bool
		token, other     bool
		want             core.Code
		kind             core.PrincipalKind
	}{
		{name: "Nothing", method: access.AgentByToken, required: true, want: core.CodeUnauthorized},
		{name: "Other", method: access.AgentByToken, required: true, other: true, want: core.CodeUnauthorized},
		{name: "Token", method: access.AgentByToken, required: true, token: true, kind: core.PrincipalAgent},
		{name: "OtherToo", method: access.AgentByToken, other: true, kind: core.PrincipalAPIKey},
		{name: "TokenToo", method: access.AgentByToken, token: true, kind: core.PrincipalAgent},
		{name: "MTLS", method: access.AgentByMTLS, certificate: true, kind: core.PrincipalAgent},
		{name: "MTLSWithout", method: access.AgentByMTLS, token: true, want: core.CodeUnauthorized},
		{name: "Both", method: access.AgentByBoth, certificate: true, token: true, kind: core.PrincipalAgent},
		{name: "BothWithoutToken", method: access.AgentByBoth, certificate: true, want: core.CodeUnauthorized},
		{name: "BothWithOther", method: access.AgentByBoth, certificate: true, other: true, want: core.CodeUnauthorized},
		{name: "BothWithoutCertificate", method: access.AgentByBoth, token: true, want: core.CodeUnauthorized},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newTokenRig(t, func(o *access.AgentOptions) {
				o.Method, o.Required = tt.method, tt.required
				o.Certificate = func(*http.Request) (core.Principal, bool) { return cert, tt.certificate }
				o.Others = func(*http.Request) (core.Principal, error) { return core.Principal{Kind: core.PrincipalAPIKey}, nil }
			})
			credential := ""
			switch {
			case tt.token:
				credential = r.create(core.AgentTokenSpec{Capabilities: []string{"a"}}).Token
			case tt.other:
				credential = "wr_something"
			}
			p, err := r.connect(credential)
			if core.ErrorCode(err) != tt.want || p.Kind != tt.kind || slices.Contains(p.Scopes, "admin") {
				t.Errorf("%+v, %v", p, err)
			}
		})
	}
}

// An agent with a certificate alone stays until that ends, whatever becomes of tokens.
func TestRefreshOfCertificate(t *testing.T) {
	r := newTokenRig(t)
	p := core.Principal{Kind: core.PrincipalAgent, ID: "host-1", Name: "host-1", Expires: r.clock.Now().Add(time.Hour)}
	if err := r.Refresh(t.Context(), p); err != nil {
		t.Error(err)
	}
	r.clock.Advance(time.Hour)
	if err := r.Refresh(t.Context(), p); core.ErrorCode(err) != core.CodeUnauthorized {
		t.Errorf("after its end: %v", err)
	}
}

// Bad tokens of an address are told to wait, and a good one behind the same address is not.
func TestAgentTokenFlood(t *testing.T) {
	r := newTokenRig(t)
	token := r.create(core.AgentTokenSpec{Capabilities: []string{"a"}}).Token
	other := "x"
	if token[40:41] == other {
		other = "y"
	}
	bad := token[:40] + other + token[41:]
	for i := range 25 {
		want := core.CodeUnauthorized
		if i >= 20 {
			want = core.CodeRateLimited
		}
		if _, err := r.connect(bad); core.ErrorCode(err) != want {
			t.Fatalf("%d: %v", i, err)
		}
	}
	if _, err := r.connect(token); err != nil {
		t.Error(err)
	}
}
