package access_test

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/access"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeStore keeps keys in memory; reads counts looks at it.
type fakeStore struct {
	access.Store
	mu    sync.Mutex
	keys  map[string]*core.APIKeyRecord
	reads int
	fails error

	sessions map[string]*core.SessionRecord
	broken   string // id of a record that cannot be read
}

type fakeTx struct {
	core.Tx
	keys  map[string]*core.APIKeyRecord
	after []func()

	sessions map[string]*core.SessionRecord
	broken   string
}

func (s *fakeStore) Update(_ context.Context, fn func(tx core.Tx) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails != nil {
		return s.fails
	}
	tx := &fakeTx{keys: maps.Clone(s.keys), sessions: maps.Clone(s.sessions), broken: s.broken}
	if err := fn(tx); err != nil {
		return err
	}
	s.keys, s.sessions = tx.keys, tx.sessions
	for _, f := range tx.after {
		f()
	}
	return nil
}

func (s *fakeStore) FindAPIKey(_ context.Context, id string) (*core.APIKeyRecord, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	return (&fakeTx{keys: s.keys, broken: s.broken}).FindAPIKey(id)
}

func (s *fakeStore) FindAPIKeys(context.Context, core.APIKeyFilter) ([]*core.APIKeyRecord, core.PageInfo, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.keys)), core.PageInfo{Total: len(s.keys)}, nil
}

func (t *fakeTx) FindAPIKey(id string) (*core.APIKeyRecord, error) {
	if id == t.broken {
		return nil, fmt.Errorf("stored key: %w", core.ErrUnreadable)
	}
	if k := t.keys[id]; k != nil {
		return k, nil
	}
	return nil, core.NotFound("API key", id)
}

func (t *fakeTx) APIKeyNamed(name string) (*core.APIKeyRecord, error) {
	for _, k := range t.keys {
		if k.Name == name {
			return k, nil
		}
	}
	return nil, nil
}

func (t *fakeTx) PutAPIKey(k *core.APIKeyRecord) error { t.keys[k.ID] = k; return nil }
func (t *fakeTx) DeleteAPIKey(id string) error         { delete(t.keys, id); return nil }
func (t *fakeTx) AfterCommit(fn func())                { t.after = append(t.after, fn) }
func (t *fakeTx) ClaimIdempotency(*core.IdempotencyClaim, string, time.Time) error {
	return nil
}

type rig struct {
	*access.Service
	tb    testing.TB
	store *fakeStore
	clock *coretest.Clock
}

func newRig(tb testing.TB, change ...func(*access.Options)) *rig {
	r := &rig{tb: tb, store: &fakeStore{keys: map[string]*core.APIKeyRecord{}}, clock: coretest.NewClock()}
	o := access.Options{
		Store: r.store, Clock: r.clock, IDs: core.NewIDs(r.clock), Pepper: [32]byte{1},
		KnownRole: func(name string) bool { return name == "operator" || name == "admin" },
	}
	for _, f := range change {
		f(&o)
	}
	r.Service = access.New(o)
	return r
}

func (r *rig) create(spec core.APIKeySpec) *core.NewAPIKey {
	r.tb.Helper()
	k, err := r.CreateKey(r.tb.Context(), spec)
	if err != nil {
		r.tb.Fatal(err)
	}
	return k
}

// try authenticates from an address.
func (r *rig) try(from, header string) (core.Principal, error) {
	req := httptest.NewRequest("GET", "/", nil)
	req.RemoteAddr = from
	if header != "" {
		req.Header.Set("Authorization", header)
	}
	return r.Authenticate(req)
}

func (r *rig) wants(key string, want core.Code) core.Principal {
	r.tb.Helper()
	p, err := r.try("10.0.0.1:1000", "Bearer "+key)
	if core.ErrorCode(err) != want {
		r.tb.Fatalf("%v, want %q", err, want)
	}
	return p
}

func TestKeyLife(t *testing.T) {
	r := newRig(t)
	k := r.create(core.APIKeySpec{Name: "ci", Owner: "ann", Scopes: []string{"read", "execute", "read"}})
	if !strings.HasPrefix(k.Key, "wr_") || len(k.Key) != 69 || k.Status != wire.APIKeyActive || k.ExpiresAt.Sub(k.CreatedAt) != core.DefaultKeyLife ||
		!slices.Equal(k.Scopes, []string{"read", "execute"}) {
		t.Fatalf("%+v", k)
	}
	p := r.wants(k.Key, "")
	if p.ID != "ann" || p.Name != "ci" || p.KeyID != k.ID || p.Kind != core.PrincipalAPIKey || !p.Expires.Equal(*k.ExpiresAt) {
		t.Errorf("%+v", p)
	}
	if strings.Contains(fmt.Sprintf("%+v", r.store.keys[k.ID]), k.Key[30:62]) {
		t.Error("the secret is in the store")
	}
	if got, err := r.FindKey(t.Context(), k.ID); err != nil || got.LastUsedAt == nil {
		t.Errorf("%+v, %v", got, err)
	}
	// Both secrets are valid for the overlap.
	next, err := r.RotateKey(t.Context(), k.ID, time.Hour)
	if err != nil || next.Key == k.Key || next.FormerUntil == nil {
		t.Fatalf("%+v, %v", next, err)
	}
	r.wants(k.Key, "")
	r.wants(next.Key, "")
	r.clock.Advance(time.Hour)
	r.wants(k.Key, core.CodeUnauthorized)
	r.wants(next.Key, "")
	// Without overlap the former one ends at once.
	third, err := r.RotateKey(t.Context(), k.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	r.wants(next.Key, core.CodeUnauthorized)
	r.wants(third.Key, "")
	if err := r.RevokeKey(t.Context(), k.ID); err != nil {
		t.Fatal(err)
	}
	r.wants(third.Key, core.CodeUnauthorized)
	if _, err := r.Refresh(t.Context(), p); core.ErrorCode(err) != core.CodeUnauthorized {
		t.Errorf("refreshed: %v", err)
	}
	if _, err := r.RotateKey(t.Context(), k.ID, 0); core.ErrorCode(err) != core.CodeConflict {
		t.Errorf("rotated after its end: %v", err)
	}
	// Its name is free again, and an expired key is over.
	again := r.create(core.APIKeySpec{Name: "ci2", Scopes: []string{"admin"}, Life: time.Hour})
	r.wants(again.Key, "")
	r.clock.Advance(time.Hour)
	r.wants(again.Key, core.CodeUnauthorized)
}

func TestRotateTwiceWithinOverlap(t *testing.T) {
	r := newRig(t)
	k := r.create(core.APIKeySpec{Name: "ci", Scopes: []string{"read"}})
	second, err := r.RotateKey(t.Context(), k.ID, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	// A longer overlap of a later rotation does not prolong the former secret's.
	if _, err := r.RotateKey(t.Context(), k.ID, 10*time.Hour); err != nil {
		t.Fatal(err)
	}
	r.clock.Advance(time.Hour)
	r.wants(k.Key, core.CodeUnauthorized)
	r.wants(second.Key, "")
}

// Whatever is wrong with a credential, the answer is the same; only the lack of one has an answer of its own.
func TestRefusedAlike(t *testing.T) {
	r := newRig(t)
	k := r.create(core.APIKeySpec{Name: "ci", Scopes: []string{"read"}, Life: time.Hour})
	other := r.create(core.APIKeySpec{Name: "other", Scopes: []string{"read"}})
	expired := r.create(core.APIKeySpec{Name: "old", Scopes: []string{"read"}, Life: time.Minute})
	r.clock.Advance(time.Minute)
	if err := r.RevokeKey(t.Context(), other.ID); err != nil {
		t.Fatal(err)
	}
	stranger := newRig(t).create(core.APIKeySpec{Name: "x", Scopes: []string{"read"}}) // well-formed, unknown here
	_, first := r.try("10.0.0.9:1", "Bearer nonsense")
	for name, header := range map[string]string{
		"Expired": "Bearer " + expired.Key, "Revoked": "Bearer " + other.Key, "Unknown": "Bearer " + stranger.Key, "Basic": "Basic " + k.Key,
		"Cut": "Bearer " + k.Key[:68], "Longer": "Bearer " + k.Key + "0", "Typo": "Bearer " + strings.Replace(k.Key, k.Key[40:41], "-", 1), "Scheme": "Bearer",
		"JWT": "Bearer a.b.c", "Space": "Bearer  " + k.Key,
	} {
		_, err := r.try("10.0.0.9:1", header)
		if core.ErrorCode(err) != core.CodeUnauthorized || err.Error() != first.Error() {
			t.Errorf("%s: %v, want %v", name, err, first)
		}
	}
	if _, err := r.try("10.0.0.9:1", ""); core.AsError(err).Details["reason"] != "missing" {
		t.Errorf("%v", err)
	}
	twice := httptest.NewRequest("GET", "/", nil)
	twice.Header["Authorization"] = []string{"Bearer " + k.Key, "Bearer " + k.Key}
	if _, err := r.Authenticate(twice); core.ErrorCode(err) != core.CodeUnauthorized {
		t.Errorf("two credentials: %v", err)
	}
}

// An address that tries too often gets 429, does not reach the store any more, and bothers nobody with a good key.
func TestFlood(t *testing.T) {
	r := newRig(t)
	good := r.create(core.APIKeySpec{Name: "good", Scopes: []string{"read"}})
	r.wants(good.Key, "")
	stranger := newRig(t)
	for i := range 20 {
		key := stranger.create(core.APIKeySpec{Name: fmt.Sprint(i), Scopes: []string{"read"}}).Key
		r.wants(key, core.CodeUnauthorized)
	}
	reads := r.store.reads
	for i := range 50 {
		key := stranger.create(core.APIKeySpec{Name: fmt.Sprint("more", i), Scopes: []string{"read"}}).Key
		_, err := r.try("10.0.0.1:7", "Bearer "+key)
		if e := core.AsError(err); e.Code != core.CodeRateLimited || e.Details["retryAfter"] != 60 {
			t.Fatalf("%v %v", err, e.Details)
		}
	}
	if r.store.reads != reads {
		t.Errorf("%d looks at the store", r.store.reads-reads)
	}
	r.wants(good.Key, "")
	if _, err := r.try("10.0.0.2:7", "Bearer x"); core.ErrorCode(err) != core.CodeUnauthorized {
		t.Errorf("another address: %v", err)
	}
	// Addresses of one IPv6 network are one.
	for i := range 21 {
		_, err := r.try(fmt.Sprintf("[2001:db8::%d]:1", i), "Bearer x")
		if want := core.CodeUnauthorized; i < 20 && core.ErrorCode(err) != want {
			t.Errorf("%d: %v", i, err)
		} else if i == 20 && core.ErrorCode(err) != core.CodeRateLimited {
			t.Errorf("%d: %v", i, err)
		}
	}
	r.clock.Advance(time.Minute)
	r.wants("x", core.CodeUnauthorized)
	// Memory is bounded however many addresses there are.
	for i := range 30_000 {
		_, _ = r.try(fmt.Sprintf("10.%d.%d.%d:1", i>>16, i>>8&255, i&255), "Bearer x")
	}
	if n := r.Addresses(); n > 10_000 {
		t.Errorf("%d addresses are kept", n)
	}
}

// A key counts as revoked from the commit on, though it was being read meanwhile.
func TestRevokedWhileUsed(t *testing.T) {
	r := newRig(t)
	for i := range 20 {
		k := r.create(core.APIKeySpec{Name: fmt.Sprint(i), Scopes: []string{"read"}})
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 20 {
					_, _ = r.try("10.0.0.1:1", "Bearer "+k.Key)
				}
			})
		}
		if err := r.RevokeKey(t.Context(), k.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := r.try("10.0.1.1:1", "Bearer "+k.Key); err == nil {
			t.Fatal("accepted after its revocation")
		}
		wg.Wait()
		if _, err := r.try("10.0.1.1:1", "Bearer "+k.Key); err == nil {
			t.Fatal("accepted after its revocation")
		}
	}
}

func TestCreateRefuses(t *testing.T) {
	r := newRig(t)
	r.create(core.APIKeySpec{Name: "taken", Scopes: []string{"read"}})
	read := []string{"read"}
	for name, tt := range map[string]struct {
		spec core.APIKeySpec
		want core.Code
	}{
		"Name": {core.APIKeySpec{Scopes: read}, core.CodeValidation}, "Control": {core.APIKeySpec{Name: "a\nb", Scopes: read}, core.CodeValidation},
		"Reserved": {core.APIKeySpec{Name: "system", Scopes: read}, core.CodeValidation}, "ReservedOwner": {core.APIKeySpec{Name: "a", Owner: "anonymous", Scopes: read}, core.CodeValidation},
		"NoScope": {core.APIKeySpec{Name: "a"}, core.CodeValidation}, "Scope": {core.APIKeySpec{Name: "a", Scopes: []string{"execution:read"}}, core.CodeValidation},
		"Any": {core.APIKeySpec{Name: "a", Scopes: []string{"any"}}, core.CodeValidation}, "Role": {core.APIKeySpec{Name: "a", Scopes: read, Roles: []string{"root"}}, core.CodeValidation},
		"Life": {core.APIKeySpec{Name: "a", Scopes: read, Life: time.Second}, core.CodeValidation}, "Both": {core.APIKeySpec{Name: "a", Scopes: read, Life: time.Hour, Never: true}, core.CodeValidation},
		"Taken": {core.APIKeySpec{Name: "taken", Scopes: read}, core.CodeConflict},
	} {
		if _, err := r.CreateKey(t.Context(), tt.spec); core.ErrorCode(err) != tt.want {
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
	}
	if len(r.store.keys) != 1 {
		t.Errorf("%d keys", len(r.store.keys))
	}
	for want, spec := range map[string]core.APIKeySpec{
		`not "exec"`: {Name: "a", Scopes: []string{"read", "exec"}},
		`not "root"`: {Name: "a", Scopes: read, Roles: []string{"root"}},
	} {
		if _, err := r.CreateKey(t.Context(), spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %s: %v", want, err)
		}
	}
}

// Nobody makes or takes over a key that can do more than their own.
func TestNoEscalation(t *testing.T) {
	r := newRig(t)
	other := r.create(core.APIKeySpec{Name: "boss", Scopes: []string{"admin"}})
	ann := core.WithPrincipal(t.Context(), core.Principal{Kind: core.PrincipalAPIKey, ID: "ann", Scopes: []string{"read"}})
	for name, spec := range map[string]core.APIKeySpec{
		"Scope": {Name: "a", Owner: "ann", Scopes: []string{"execute"}}, "Admin": {Name: "a", Owner: "ann", Scopes: []string{"admin"}},
		"Owner": {Name: "a", Scopes: []string{"read"}}, "Role": {Name: "a", Owner: "ann", Scopes: []string{"read"}, Roles: []string{"operator"}},
	} {
		if _, err := r.CreateKey(ann, spec); core.ErrorCode(err) != core.CodeForbidden {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := r.RotateKey(ann, other.ID, 0); core.ErrorCode(err) != core.CodeForbidden {
		t.Errorf("rotated the key of another: %v", err)
	}
	r.wants(other.Key, "")
	if _, err := r.CreateKey(ann, core.APIKeySpec{Name: "mine", Owner: "ann", Scopes: []string{"agents:read"}}); err != nil {
		t.Errorf("less of their own: %v", err)
	}
}

// Who is an administrator by nothing but a default, which everybody has, makes keys for themselves without admin.
func TestNoEscalationByDefault(t *testing.T) {
	r := newRig(t, func(o *access.Options) {
		o.MayGrant = func(_ context.Context, p core.Principal) bool { return !p.ScopesByDefault }
		o.Bound = func(name string) bool { return name == "ci" }
	})
	bob := core.WithPrincipal(t.Context(), core.Principal{Kind: core.PrincipalUser, ID: "bob", Name: "ci", Scopes: []string{"admin"}, ScopesByDefault: true})
	boss := r.create(core.APIKeySpec{Name: "boss", Scopes: []string{"admin"}, Roles: []string{"admin"}})
	for name, spec := range map[string]core.APIKeySpec{
		"admin": {Name: "a", Owner: "bob", Scopes: []string{"admin"}}, "somebody else": {Name: "a", Owner: "boss", Scopes: []string{"read"}},
		"a role":                        {Name: "a", Owner: "bob", Scopes: []string{"read"}, Roles: []string{"operator"}},
		"the name of a service account": {Name: "ci", Owner: "bob", Scopes: []string{"read"}},
	} {
		if _, err := r.CreateKey(bob, spec); core.ErrorCode(err) != core.CodeForbidden {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := r.RotateKey(bob, boss.ID, 0); core.ErrorCode(err) != core.CodeForbidden {
		t.Errorf("rotated the key of another: %v", err)
	}
	if _, err := r.CreateKey(bob, core.APIKeySpec{Name: "mine", Owner: "bob", Scopes: []string{"execute"}}); err != nil {
		t.Errorf("one of their own: %v", err)
	}
	root := core.WithPrincipal(t.Context(), core.Principal{Kind: core.PrincipalAPIKey, ID: "root", Scopes: []string{"admin"}})
	if _, err := r.CreateKey(root, core.APIKeySpec{Name: "next", Owner: "ann", Scopes: []string{"admin"}}); err != nil {
		t.Errorf("an administrator: %v", err)
	}
}

// Whoever is no administrator gets no key with a role by the way of its scopes.
func TestNoEscalationByFit(t *testing.T) {
	r := newRig(t, func(o *access.Options) {
		o.FitKey = func(spec core.APIKeySpec) ([]string, string) {
			if len(spec.Roles) > 0 {
				return nil, ""
			}
			return []string{"execute"}, "operator"
		}
	})
	of := func(by core.Principal) (*core.NewAPIKey, error) {
		by.Kind, by.ID = core.PrincipalAPIKey, "ann"
		return r.CreateKey(core.WithPrincipal(t.Context(), by), core.APIKeySpec{Name: "by " + strings.Join(append(by.Roles, by.Scopes...), " "), Owner: "ann", Scopes: []string{"execute"}})
	}
	k, err := of(core.Principal{Scopes: []string{"execute"}})
	if err != nil || len(k.Roles) > 0 || !strings.Contains(k.Warning, "execute") {
		t.Errorf("by one without the role: %+v, %v", k, err)
	}
	for name, by := range map[string]core.Principal{
		"by one who has the role": {Scopes: []string{"execute"}, Roles: []string{"operator"}}, "by an administrator": {Scopes: []string{"admin"}},
	} {
		if k, err := of(by); err != nil || !slices.Equal(k.Roles, []string{"operator"}) || k.Warning != "" {
			t.Errorf("%s: %+v, %v", name, k, err)
		}
	}
}

func TestFirstKey(t *testing.T) {
	r := newRig(t)
	broken := errors.New("disk full")
	if err := r.CreateFirstKey(t.Context(), "admin", func(string) error { return broken }); !errors.Is(err, broken) || len(r.store.keys) != 0 {
		t.Fatalf("%v, %d keys", err, len(r.store.keys))
	}
	var key string
	keep := func(k string) error { key = k; return nil }
	if err := r.CreateFirstKey(t.Context(), "admin", keep); err != nil {
		t.Fatal(err)
	}
	if p := r.wants(key, ""); !slices.Equal(p.Scopes, []string{"admin"}) || !slices.Equal(p.Roles, []string{"admin"}) {
		t.Errorf("%+v", p)
	}
	first := key
	if err := r.CreateFirstKey(t.Context(), "admin", keep); err != nil || key != first {
		t.Errorf("a second first key: %v", err)
	}
}

// Last uses are written once a minute, in one transaction, and at the end.
func TestLastUse(t *testing.T) {
	r := newRig(t)
	if err := r.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	k := r.create(core.APIKeySpec{Name: "ci", Scopes: []string{"read"}})
	r.wants(k.Key, "")
	if r.store.keys[k.ID].LastUsedAt != nil {
		t.Error("written at once")
	}
	r.Close()
	r.Close()
	if at := r.store.keys[k.ID].LastUsedAt; at == nil || !at.Equal(r.clock.Now().Truncate(time.Minute)) {
		t.Errorf("%v", at)
	}
}

// A key that cannot be read any more keeps the last uses of the others from nothing.
func TestLastUseBesideBroken(t *testing.T) {
	r := newRig(t)
	if err := r.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	well, broken := r.create(core.APIKeySpec{Name: "ci", Scopes: []string{"read"}}), r.create(core.APIKeySpec{Name: "cd", Scopes: []string{"read"}})
	r.wants(well.Key, "")
	r.wants(broken.Key, "")
	r.store.broken = broken.ID
	r.Close()
	if r.store.keys[well.ID].LastUsedAt == nil {
		t.Error("the last use of a key that is well was not written")
	}
}

func FuzzAuthenticate(f *testing.F) {
	r := newRig(f)
	k := r.create(core.APIKeySpec{Name: "ci", Scopes: []string{"read"}})
	for _, seed := range []string{"", "Bearer", "Bearer wr_", "bearer " + k.Key[:50], "Bearer " + k.Key + "x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		req := httptest.NewRequest("GET", "/", nil)
		req.Header = http.Header{"Authorization": {header}}
		if p, err := r.Authenticate(req); err == nil && !strings.HasSuffix(header, k.Key) {
			t.Fatalf("%q is %+v", header, p)
		}
		r.clock.Advance(time.Minute)
	})
}

func BenchmarkAuthenticate(b *testing.B) {
	r := newRig(b)
	k := r.create(core.APIKeySpec{Name: "ci", Scopes: []string{"read"}})
	req := httptest.NewRequest("GET", "/", nil)
	req.Header.Set("Authorization", "Bearer "+k.Key)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Authenticate(req); err != nil {
			b.Fatal(err)
		}
	}
}

// A flood of bad credentials locks out nobody with a good one behind the same address, though it was not seen before.
func TestFloodBehindOneAddress(t *testing.T) {
	r := newRig(t)
	good := r.create(core.APIKeySpec{Name: "good", Scopes: []string{"read"}})
	tokens := access.New(access.Options{
		Store: r.store, Clock: r.clock, IDs: core.NewIDs(r.clock), Pepper: [32]byte{1},
		Tokens: func(_ context.Context, token string) (core.Principal, error) {
			if token != "good.good.good" {
				return core.Principal{}, errors.New("bad")
			}
			return core.Principal{Kind: core.PrincipalUser, ID: "ann", Expires: r.clock.Now().Add(time.Hour)}, nil
		},
	})
	try := func(token string) error {
		req := httptest.NewRequest("GET", "/", nil)
		req.Header.Set("Authorization", "Bearer "+token)
		_, err := tokens.Authenticate(req)
		return err
	}
	for range 25 {
		_ = try("bad.bad.bad")
	}
	if err := try(good.Key); err != nil { // this service has not seen it yet
		t.Errorf("a key: %v", err)
	}
	if err := try("good.good.good"); err != nil {
		t.Errorf("a token among a few: %v", err)
	}
	for range 50 {
		_ = try("bad.bad.bad")
	}
	if err := try("bad.bad.worse"); core.ErrorCode(err) != core.CodeRateLimited {
		t.Errorf("one too many: %v", err)
	}
	if err := try("good.good.good"); err != nil {
		t.Errorf("a token that was accepted before: %v", err)
	}
}

// Keys that are over are bounded, however fast they come.
func TestRevokedAreBounded(t *testing.T) {
	r := newRig(t)
	for i := range 1300 {
		k := r.create(core.APIKeySpec{Name: fmt.Sprint(i), Scopes: []string{"read"}})
		r.clock.Advance(time.Second)
		if err := r.RevokeKey(t.Context(), k.ID); err != nil {
			t.Fatal(err)
		}
	}
	r.create(core.APIKeySpec{Name: "left", Scopes: []string{"read"}})
	if n := len(r.store.keys); n < 1000 || n > 1110 {
		t.Errorf("%d keys are kept", n)
	}
	named := map[string]bool{}
	for _, k := range r.store.keys {
		named[k.Name] = true
	}
	if named["0"] || !named["1299"] || !named["left"] {
		t.Error("others than the oldest are gone")
	}
}

// How long a wrong key takes to be refused does not tell how much of its secret is right. The medians may differ by what a busy
// machine does to them.
func TestTimingOfComparison(t *testing.T) {
	n := 0
	r := newRig(t, func(o *access.Options) { // an address of its own for each: none fails too often
		o.Origin = func(*http.Request) netip.Addr {
			n++
			return netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)})
		}
	})
	key := r.create(core.APIKeySpec{Name: "ci", Scopes: []string{"read"}}).Key
	r.wants(key, "")
	body := key[:strings.LastIndexByte(key, '_')]
	secret := strings.LastIndexByte(body, '_') + 1
	forged := func(at int) string {
		b := []byte(body)
		if b[at]++; !strings.ContainsRune(base62, rune(b[at])) {
			b[at] = '0'
		}
		sum := crc32.ChecksumIEEE(b)
		end := make([]byte, 6)
		for i := range end {
			end[5-i] = base62[sum%62]
			sum /= 62
		}
		return string(b) + "_" + string(end)
	}
	cases := []string{forged(secret), forged(len(body) - 1)} // the first, and the last character is wrong
	took := make([][]time.Duration, len(cases))
	for range 5000 {
		for i, key := range cases {
			req := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
			req.Header.Set("Authorization", "Bearer "+key)
			began := time.Now()
			_, err := r.Authenticate(req)
			took[i] = append(took[i], time.Since(began))
			if core.ErrorCode(err) != core.CodeUnauthorized {
				t.Fatalf("%s: %v", key, err)
			}
		}
	}
	for i := range took {
		slices.Sort(took[i])
	}
	if a, b := took[0][2500], took[1][2500]; float64(a)/float64(b) < .8 || float64(a)/float64(b) > 1.25 {
		t.Errorf("the medians are %v and %v", a, b)
	}
}

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// The keys that are there at the start cost no look at the store, and those that are revoked afterwards are refused all the same.
func TestKeysAreReadAtTheStart(t *testing.T) {
	r := newRig(t)
	keep, gone := r.create(core.APIKeySpec{Name: "keep", Scopes: []string{"read"}}), r.create(core.APIKeySpec{Name: "gone", Scopes: []string{"read"}})
	again := &rig{tb: t, store: r.store, clock: r.clock}
	again.Service = access.New(access.Options{Store: r.store, Clock: r.clock, IDs: core.NewIDs(r.clock), Pepper: [32]byte{1}})
	if err := again.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	reads := r.store.reads
	again.wants(keep.Key, "")
	again.wants(gone.Key, "")
	if r.store.reads != reads {
		t.Errorf("%d looks at the store", r.store.reads-reads)
	}
	if err := again.RevokeKey(t.Context(), gone.ID); err != nil {
		t.Fatal(err)
	}
	again.wants(gone.Key, core.CodeUnauthorized)
	again.wants(keep.Key, "")
}
