package access_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/access"
	"github.com/wardroom/wardroom/core/coretest"
)

func (s *fakeStore) FindSession(_ context.Context, id string) (*core.SessionRecord, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return (&fakeTx{sessions: s.sessions}).FindSession(id)
}

func (s *fakeStore) FindSessions(_ context.Context, f core.SessionFilter) ([]*core.SessionRecord, core.PageInfo, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*core.SessionRecord
	for _, r := range s.sessions {
		if f.User == "" || r.User == f.User {
			list = append(list, r)
		}
	}
	return list, core.PageInfo{Total: len(list)}, nil
}

func (t *fakeTx) FindSession(id string) (*core.SessionRecord, error) {
	if id == t.broken {
		return nil, fmt.Errorf("stored session: %w", core.ErrUnreadable)
	}
	if r := t.sessions[id]; r != nil {
		return r, nil
	}
	return nil, core.NotFound("session", id)
}
func (t *fakeTx) PutSession(r *core.SessionRecord) error { t.sessions[r.ID] = r; return nil }
func (t *fakeTx) DeleteSession(id string) error {
	if _, err := t.FindSession(id); core.ErrorCode(err) != core.CodeNotFound && err != nil {
		return err
	}
	delete(t.sessions, id)
	return nil
}

type people struct {
	*rig
	limits  atomic.Pointer[access.SessionLimits] // the service reads them at any time
	secure  bool
	noSSO   bool
	issuer  string
	changes atomic.Int64
}

func newPeople(t *testing.T) *people {
	t.Helper()
	p := &people{}
	p.limits.Store(&access.SessionLimits{Idle: time.Hour, MaxAge: 12 * time.Hour, MaxConcurrent: 3})
	p.rig = &rig{tb: t, store: &fakeStore{keys: map[string]*core.APIKeyRecord{}, sessions: map[string]*core.SessionRecord{}}, clock: coretest.NewClock()}
	p.restart()
	return p
}

// restart makes the service anew on the same store.
func (p *people) restart() {
	p.tb.Helper()
	p.Service = access.New(access.Options{
		Store: p.store, Clock: p.clock, IDs: core.NewIDs(p.clock), Pepper: [32]byte{1}, Changed: func() { p.changes.Add(1) },
		Sessions: &access.SessionOptions{
			Limits: func() access.SessionLimits { return *p.limits.Load() }, Secure: p.secure, SSO: !p.noSSO, Issuer: p.issuer,
			Scopes: func(context.Context, core.Principal) ([]string, bool) { return []string{core.ScopeRead}, false },
		},
	})
	if err := p.Open(p.tb.Context()); err != nil {
		p.tb.Fatal(err)
	}
	p.tb.Cleanup(p.Close)
}

func (p *people) begin(user string, kind core.UserSessionKind) *core.NewSession {
	p.tb.Helper()
	s, err := p.CreateSession(p.tb.Context(), core.SessionSpec{Kind: kind, User: user, Method: core.SignInSSO, IDToken: "id-token-of-" + user})
	if err != nil {
		p.tb.Fatal(err)
	}
	p.clock.Advance(2 * time.Second)
	return s
}

// browse authenticates a request of a browser at http://127.0.0.1:8080.
func (p *people) browse(method, cookie string, header ...string) (core.Principal, error) {
	p.tb.Helper()
	r := httptest.NewRequest(method, "/api/session", http.NoBody)
	r.Host, r.RemoteAddr = "127.0.0.1:8080", "10.0.0.1:1"
	r.Header.Set("Cookie", "wardroom-session-8080="+cookie)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return p.Authenticate(r)
}

func TestSessionLife(t *testing.T) {
	p := newPeople(t)
	s := p.begin("ann", core.SessionBrowser)
	who, err := p.browse("GET", s.Token)
	if err != nil || who.ID != "ann" || who.SessionID != s.ID || who.Kind != core.PrincipalUser || !slices.Equal(who.Scopes, []string{"read"}) || !who.Expires.Equal(s.ExpiresAt) {
		t.Fatalf("%+v, %v", who, err)
	}
	rec := p.store.sessions[s.ID]
	if text := fmt.Sprintf("%+v %s", rec, rec.IDToken); strings.Contains(text, s.Token[31:63]) || strings.Contains(text, "id-token-of") {
		t.Error("the store has a secret in clear")
	}
	// It outlives a restart; what was used before is known to the minute.
	p.Close()
	p.restart()
	if _, err := p.browse("GET", s.Token); err != nil {
		t.Fatalf("after a restart: %v", err)
	}
	// Use prolongs it, up to its age.
	for range 20 {
		p.clock.Advance(50 * time.Minute)
		_, err = p.browse("GET", s.Token)
		if err != nil {
			break
		}
	}
	if core.ErrorCode(err) != core.CodeUnauthorized || p.clock.Now().Before(s.ExpiresAt) {
		t.Errorf("at %s: %v", p.clock.Now(), err)
	}
	// What is not used ends, and what goes on for it is looked at again.
	idle, before := p.begin("ann", core.SessionBrowser), p.changes.Load()
	p.clock.Advance(time.Hour)
	if _, err := p.browse("GET", idle.Token); core.ErrorCode(err) != core.CodeUnauthorized {
		t.Errorf("idle: %v", err)
	}
	if _, err := p.Refresh(t.Context(), core.Principal{SessionID: idle.ID}); core.ErrorCode(err) != core.CodeUnauthorized {
		t.Errorf("refreshed: %v", err)
	}
	coretest.WaitFor(t, "the end of what is idle", func() bool { p.clock.Advance(time.Minute); return len(p.stored()) == 0 && p.changes.Load() > before })
	// A command line has no such end.
	cli := p.begin("ann", core.SessionCLI)
	p.clock.Advance(11 * time.Hour)
	p.wants(cli.Token, "")
	p.clock.Advance(time.Hour)
	p.wants(cli.Token, core.CodeUnauthorized)
}

func (p *people) stored() map[string]*core.SessionRecord {
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	return maps.Clone(p.store.sessions)
}

// A clock that is set back does not prolong a session, over a start neither, and one that goes forward beyond its end ends it, as it
// does behind a suspension of the machine, in which no time passes but by the wall clock.
func TestSessionClock(t *testing.T) {
	p := newPeople(t)
	p.Close()
	p.clock = coretest.NewStepClock()
	p.restart()
	s, began := new(core.NewSession), core.Principal{}
	signIn := func() {
		t.Helper()
		var err error
		s = p.begin("ann", core.SessionBrowser)
		if began, err = p.browse("GET", s.Token); err != nil {
			t.Fatal(err)
		}
	}
	signIn()
	good := func(want core.Code) {
		t.Helper()
		if _, err := p.browse("GET", s.Token); core.ErrorCode(err) != want {
			t.Errorf("%v, want %q", err, want)
		}
		if _, err := p.Refresh(t.Context(), began); core.ErrorCode(err) != want { // what was opened by it goes on as long
			t.Errorf("%v, want %q", err, want)
		}
	}
	for _, step := range []time.Duration{50 * time.Minute, -48 * time.Hour} {
		p.clock.Step(step)
		good("")
	}
	p.clock.Advance(time.Hour)
	good(core.CodeUnauthorized)
	for _, kind := range []core.UserSessionKind{core.SessionBrowser, core.SessionCLI} {
		suspended := p.begin("ann", kind)
		p.clock.Step(24 * time.Hour)
		if _, err := p.Refresh(t.Context(), core.Principal{SessionID: suspended.ID}); core.ErrorCode(err) != core.CodeUnauthorized {
			t.Errorf("%s: behind a suspension of the machine: %v", kind, err)
		}
	}
	p.limits.Store(&access.SessionLimits{Idle: 12 * time.Hour, MaxAge: 12 * time.Hour, MaxConcurrent: 3})
	signIn()
	p.clock.Step(-1000 * time.Hour)
	p.Close()
	p.restart()
	good("")
	p.clock.Advance(12 * time.Hour)
	good(core.CodeUnauthorized)
	signIn()
	p.clock.Advance(11 * time.Hour)
	good("")
	p.Close() // which stores when it was used last
	p.clock.Step(-1000 * time.Hour)
	p.restart()
	good("")
	p.clock.Advance(time.Hour)
	good(core.CodeUnauthorized)
	signIn()
	p.clock.Advance(11 * time.Hour)
	good("")
	p.clock.Step(-1000 * time.Hour)
	p.clock.Advance(2 * time.Second)
	good("") // the last use is before the sign-in by the wall clock
	p.Close()
	p.restart()
	good("")
	p.clock.Advance(time.Hour)
	good(core.CodeUnauthorized)
}

// A session of a browser is none of a command line, nor the other way round.
func TestSessionKinds(t *testing.T) {
	p := newPeople(t)
	browser, cli := p.begin("ann", core.SessionBrowser), p.begin("ann", core.SessionCLI)
	p.wants(cli.Token, "")
	p.wants(browser.Token, core.CodeUnauthorized)
	if _, err := p.browse("GET", cli.Token); core.ErrorCode(err) != core.CodeUnauthorized {
		t.Errorf("the token of a command line as a cookie: %v", err)
	}
	if p.CookieSession(browser.Token) != browser.ID || p.CookieSession(cli.Token) != "" || p.CookieSession(browser.Token[:len(browser.Token)-40]+strings.Repeat("a", 40)) != "" {
		t.Error("cookies are told apart badly")
	}
}

func TestMaxConcurrent(t *testing.T) {
	p := newPeople(t)
	first, second, third := p.begin("ann", core.SessionBrowser), p.begin("ann", core.SessionBrowser), p.begin("ann", core.SessionCLI)
	other := p.begin("bob", core.SessionBrowser)
	if _, err := p.browse("GET", first.Token); err != nil { // now the second is the one that was not used for longest
		t.Fatal(err)
	}
	before := p.changes.Load()
	fourth := p.begin("ann", core.SessionBrowser)
	for token, want := range map[string]core.Code{first.Token: "", second.Token: core.CodeUnauthorized, fourth.Token: "", other.Token: ""} {
		if _, err := p.browse("GET", token); core.ErrorCode(err) != want {
			t.Errorf("%v, want %q", err, want)
		}
	}
	p.wants(third.Token, "")
	if p.changes.Load() == before || len(p.stored()) != 4 {
		t.Errorf("%d changes, %d stored", p.changes.Load()-before, len(p.stored()))
	}
}

// A session that another one replaces makes the room that the other one needs.
func TestReplacedMakesRoom(t *testing.T) {
	p := newPeople(t)
	p.limits.Store(&access.SessionLimits{Idle: time.Hour, MaxAge: 12 * time.Hour, MaxConcurrent: 2})
	elsewhere, here := p.begin("ann", core.SessionBrowser), p.begin("ann", core.SessionBrowser)
	next, err := p.CreateSession(t.Context(), core.SessionSpec{Kind: core.SessionBrowser, User: "ann", Method: core.SignInSSO, Replaces: here.ID})
	if err != nil {
		t.Fatal(err)
	}
	for token, want := range map[string]core.Code{elsewhere.Token: "", here.Token: core.CodeUnauthorized, next.Token: ""} {
		if _, err := p.browse("GET", token); core.ErrorCode(err) != want {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// Nobody takes over a session that somebody else put into their browser, and one that ends is over for all requests.
func TestSessionEnds(t *testing.T) {
	p := newPeople(t)
	s := p.begin("ann", core.SessionBrowser)
	next, err := p.CreateSession(t.Context(), core.SessionSpec{Kind: core.SessionBrowser, User: "bob", Method: core.SignInSSO, Replaces: p.CookieSession(s.Token)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.browse("GET", s.Token); core.ErrorCode(err) != core.CodeUnauthorized {
		t.Errorf("the session from before the sign-in: %v", err)
	}
	if next.ID == s.ID || next.Token == s.Token {
		t.Error("the sign-in kept the session")
	}
	if token, err := p.RevokeSession(t.Context(), next.ID); err != nil || token != "" {
		t.Errorf("%q, %v", token, err)
	}
	if _, err := p.browse("GET", next.Token); core.ErrorCode(err) != core.CodeUnauthorized {
		t.Errorf("revoked: %v", err)
	}
	if _, err := p.RevokeSession(t.Context(), next.ID); core.ErrorCode(err) != core.CodeNotFound {
		t.Errorf("revoked twice: %v", err)
	}
	last := p.begin("ann", core.SessionBrowser)
	if token, err := p.RevokeSession(t.Context(), last.ID); err != nil || token != "id-token-of-ann" {
		t.Errorf("%q, %v", token, err)
	}
}

// A session that cannot be read any more keeps the last uses of the others from nothing, nor anybody from signing in.
func TestSessionBesideBroken(t *testing.T) {
	p := newPeople(t)
	broken, well := p.begin("ann", core.SessionBrowser), p.begin("ann", core.SessionBrowser)
	for _, s := range []*core.NewSession{broken, well} {
		if _, err := p.browse("GET", s.Token); err != nil {
			t.Fatal(err)
		}
	}
	p.store.broken = broken.ID
	p.limits.Store(&access.SessionLimits{Idle: time.Hour, MaxAge: 12 * time.Hour, MaxConcurrent: 2})
	p.begin("ann", core.SessionBrowser) // in the place of the broken one
	p.Close()
	if rec := p.store.sessions[well.ID]; rec == nil || rec.LastUsedAt.Equal(rec.CreatedAt) {
		t.Errorf("%+v", rec)
	}
	p.restart()
	p.clock.Advance(13 * time.Hour)
	coretest.WaitFor(t, "what is over to go", func() bool {
		p.clock.Advance(time.Minute)
		p.store.mu.Lock()
		defer p.store.mu.Unlock()
		return len(p.store.sessions) == 1
	})
}

// Whoever signs out is signed out, and a key that is revoked opens nothing, where the record cannot be read any more as well.
func TestRevokedBroken(t *testing.T) {
	p := newPeople(t)
	s := p.begin("ann", core.SessionBrowser)
	k := p.create(core.APIKeySpec{Name: "k", Scopes: []string{core.ScopeRead}})
	began := p.wants(k.Key, "")
	p.store.broken = s.ID
	before := p.changes.Load()
	if token, err := p.RevokeSession(t.Context(), s.ID); err != nil || token != "" {
		t.Errorf("%q, %v", token, err)
	}
	if _, err := p.browse("GET", s.Token); core.ErrorCode(err) != core.CodeUnauthorized || p.changes.Load() == before {
		t.Errorf("signed out: %v, %d changes", err, p.changes.Load()-before)
	}
	p.store.broken, before = k.ID, p.changes.Load()
	if err := p.RevokeKey(t.Context(), k.ID); !errors.Is(err, core.ErrUnreadable) {
		t.Errorf("the record says nothing of it, but %v", err)
	}
	if _, err := p.try("10.0.0.1:1", "Bearer "+k.Key); err == nil || p.changes.Load() == before {
		t.Errorf("revoked: %v, %d changes", err, p.changes.Load()-before)
	}
	if _, err := p.Refresh(t.Context(), began); core.ErrorCode(err) != core.CodeUnauthorized {
		t.Errorf("what was begun with it goes on: %v", err)
	}
}

// What a browser sends by itself is not enough.
func TestCSRF(t *testing.T) {
	p := newPeople(t)
	s := p.begin("ann", core.SessionBrowser)
	good := p.CSRFToken(s.ID)
	other := p.begin("bob", core.SessionBrowser)
	for name, tt := range map[string]struct {
		method string
		header []string
		want   core.Code
	}{
		"Read":               {"GET", nil, ""},
		"ReadOfSite":         {"GET", []string{"Sec-Fetch-Site", "same-origin"}, ""},
		"ReadTyped":          {"GET", []string{"Sec-Fetch-Site", "none"}, ""},
		"ReadOfOtherSite":    {"GET", []string{"Sec-Fetch-Site", "cross-site"}, core.CodeForbidden},
		"ReadOfSubdomain":    {"GET", []string{"Sec-Fetch-Site", "same-site"}, core.CodeForbidden},
		"ReadOfOtherOrigin":  {"GET", []string{"Origin", "http://127.0.0.1:9999"}, core.CodeForbidden},
		"Change":             {"POST", []string{"X-CSRF-Token", good, "Origin", "http://127.0.0.1:8080", "Sec-Fetch-Site", "same-origin"}, ""},
		"ChangeNoToken":      {"POST", []string{"Origin", "http://127.0.0.1:8080"}, core.CodeForbidden},
		"ChangeOthersToken":  {"DELETE", []string{"X-CSRF-Token", p.CSRFToken(other.ID)}, core.CodeForbidden},
		"ChangeEmptyToken":   {"PUT", []string{"X-CSRF-Token", ""}, core.CodeForbidden},
		"ChangeOfOtherSite":  {"POST", []string{"X-CSRF-Token", good, "Sec-Fetch-Site", "cross-site"}, core.CodeForbidden},
		"ChangeNullOrigin":   {"POST", []string{"X-CSRF-Token", good, "Origin", "null"}, core.CodeForbidden},
		"Socket":             {"GET", []string{"Upgrade", "websocket", "Origin", "http://127.0.0.1:8080"}, ""},
		"SocketNoOrigin":     {"GET", []string{"Upgrade", "websocket"}, core.CodeForbidden},
		"SocketOfOtherHost":  {"GET", []string{"Upgrade", "websocket", "Origin", "http://evil.example"}, core.CodeForbidden},
		"SocketOtherPort":    {"GET", []string{"Upgrade", "websocket", "Origin", "http://127.0.0.1:1"}, core.CodeForbidden},
		"BearerGoesFirst":    {"POST", []string{"Authorization", "Bearer wr_nonsense"}, core.CodeUnauthorized},
		"CookieTwiceIsNone":  {"GET", []string{"Cookie", "wardroom-session-8080=" + s.Token + "; wardroom-session-8080=" + other.Token}, core.CodeUnauthorized},
		"CookieOfOtherPort":  {"GET", []string{"Cookie", "wardroom-session-8081=" + s.Token}, core.CodeUnauthorized},
		"SecureNameOverHTTP": {"GET", []string{"Cookie", "__Host-wardroom-session=" + s.Token}, core.CodeUnauthorized},
	} {
		if _, err := p.browse(tt.method, s.Token, tt.header...); core.ErrorCode(err) != tt.want {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
	// Over https the cookie has the prefix of its host, an origin of plain http is another site, and a name is as good as loopback.
	p.secure = true
	p.Close()
	p.restart()
	r := httptest.NewRequest("GET", "/", http.NoBody)
	r.Host = "wardroom.example"
	r.Header.Set("Cookie", "__Host-wardroom-session="+s.Token)
	if _, err := p.Authenticate(r); err != nil {
		t.Errorf("secure: %v", err)
	}
	r.Header.Set("Origin", "http://wardroom.example")
	if _, err := p.Authenticate(r); core.ErrorCode(err) != core.CodeForbidden {
		t.Errorf("an origin of plain http: %v", err)
	}
	if _, err := p.browse("GET", s.Token); core.ErrorCode(err) != core.CodeUnauthorized {
		t.Errorf("the name for loopback over https: %v", err)
	}
}

// A certificate speaks for programs and for pages of the site itself: others, listed ones too, have the browser send it.
func TestForeignPageWithCertificate(t *testing.T) {
	r := newRig(t, func(o *access.Options) {
		o.Certificate = func(*http.Request) (core.Principal, bool) {
			return core.Principal{Kind: core.PrincipalClient, ID: "alice"}, true
		}
	})
	key := r.create(core.APIKeySpec{Name: "page", Scopes: []string{core.ScopeRead}})
	for _, tt := range []struct {
		name, origin, site, bearer string
		want                       core.Code
		who                        string
	}{
		{"Program", "", "", "", "", "alice"},
		{"OwnPage", "https://Wardroom.example", "", "", "", "alice"},
		{"ListedPage", "https://page.example", "", "", core.CodeForbidden, ""},
		{"ListedPageWithKey", "https://page.example", "", key.Key, "", "page"},
		{"PlainPage", "http://wardroom.example", "", "", core.CodeForbidden, ""},
		{"OtherPort", "https://wardroom.example:8443", "", "", core.CodeForbidden, ""},
		{"Opaque", "null", "", "", core.CodeForbidden, ""},
		{"OwnImage", "", "same-origin", "", "", "alice"},
		{"TypedAddress", "", "none", "", "", "alice"},
		{"ImageOfOtherSite", "", "cross-site", "", core.CodeForbidden, ""},
		{"ImageOfNeighbour", "", "same-site", "", core.CodeForbidden, ""},
	} {
		req := httptest.NewRequest("POST", "https://wardroom.example/api/patterns/a/execute", http.NoBody)
		if tt.origin != "" {
			req.Header.Set("Origin", tt.origin)
		}
		if tt.site != "" {
			req.Header.Set("Sec-Fetch-Site", tt.site)
		}
		if tt.bearer != "" {
			req.Header.Set("Authorization", "Bearer "+tt.bearer)
		}
		if p, err := r.Authenticate(req); core.ErrorCode(err) != tt.want || p.ID != tt.who {
			t.Errorf("%s: %q, %v; want %q, %q", tt.name, p.ID, err, tt.who, tt.want)
		}
	}
}

// Sessions that were opened at an identity provider end with the way to sign in there.
func TestNoSSOAnyMore(t *testing.T) {
	p := newPeople(t)
	s, cli := p.begin("ann", core.SessionBrowser), p.begin("ann", core.SessionCLI)
	p.noSSO = true
	p.Close()
	p.restart()
	if _, err := p.browse("GET", s.Token); core.ErrorCode(err) != core.CodeUnauthorized {
		t.Errorf("%v", err)
	}
	p.wants(cli.Token, core.CodeUnauthorized)
}

// What a person opened at one identity provider is over when another one is configured. What a former version kept says nothing of it.
func TestAnotherProvider(t *testing.T) {
	p := newPeople(t)
	unknown := p.begin("eve", core.SessionBrowser)
	at := func(issuer string) {
		p.issuer = issuer
		p.Close()
		p.restart()
	}
	at("https://a.example")
	s, cli := p.begin("ann", core.SessionBrowser), p.begin("ann", core.SessionCLI)
	for issuer, want := range map[string]core.Code{"https://a.example": "", "https://b.example": core.CodeUnauthorized} {
		at(issuer)
		if _, err := p.browse("GET", s.Token); core.ErrorCode(err) != want {
			t.Errorf("at %s: %v", issuer, err)
		}
		p.wants(cli.Token, want)
		if _, err := p.browse("GET", unknown.Token); err != nil {
			t.Errorf("at %s: %v", issuer, err)
		}
	}
}

// A session that was opened with an API key ends with it, and can do what it can.
func TestKeySession(t *testing.T) {
	p := newPeople(t)
	k := p.create(core.APIKeySpec{Name: "ann's", Owner: "ann", Scopes: []string{"execute"}, Life: time.Minute})
	s, err := p.CreateSession(t.Context(), core.SessionSpec{Kind: core.SessionBrowser, User: "ann", Method: core.SignInAPIKey, KeyID: k.ID})
	if err != nil || s.ExpiresAt.Sub(p.clock.Now()) > time.Minute {
		t.Fatalf("%+v, %v", s, err)
	}
	who, err := p.browse("GET", s.Token)
	if err != nil || who.KeyID != k.ID || who.ID != "ann" || !slices.Equal(who.Scopes, []string{"execute"}) || who.SessionID != s.ID {
		t.Fatalf("%+v, %v", who, err)
	}
	if err := p.RevokeKey(t.Context(), k.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := p.browse("GET", s.Token); core.ErrorCode(err) != core.CodeUnauthorized {
		t.Errorf("after the key's end: %v", err)
	}
	if _, err := p.Refresh(t.Context(), who); core.ErrorCode(err) != core.CodeUnauthorized {
		t.Errorf("refreshed after the key's end: %v", err)
	}
}

// What one secret of a key began ends with it: at once after a rotation without overlap, with the overlap after another. What the
// secret that took its place began goes on, and so does what is known of the key alone, such as who made a schedule.
func TestFormerSecretEndsWhatItBegan(t *testing.T) {
	p := newPeople(t)
	k := p.create(core.APIKeySpec{Name: "ci", Owner: "ann", Scopes: []string{"execute"}})
	type begun struct {
		who   core.Principal
		token string
	}
	begin := func(key string) begun {
		t.Helper()
		who := p.wants(key, "")
		s, err := p.CreateSession(t.Context(), core.SessionSpec{
			Kind: core.SessionBrowser, User: who.ID, Method: core.SignInAPIKey, KeyID: who.KeyID, KeySecret: who.KeySecret,
		})
		if err != nil {
			t.Fatal(err)
		}
		return begun{who, s.Token}
	}
	wants := func(when string, b begun, want core.Code) {
		t.Helper()
		if _, err := p.Refresh(t.Context(), b.who); core.ErrorCode(err) != want {
			t.Errorf("%s, a stream: %v, want %q", when, err, want)
		}
		if _, err := p.browse("GET", b.token); core.ErrorCode(err) != want {
			t.Errorf("%s, a session: %v, want %q", when, err, want)
		}
	}
	first := begin(k.Key)
	second, err := p.RotateKey(t.Context(), k.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	wants("after a rotation without overlap", first, core.CodeUnauthorized)
	next := begin(second.Key)
	third, err := p.RotateKey(t.Context(), k.ID, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	wants("within the overlap", next, "")
	late := begin(second.Key)
	if !late.who.Expires.Equal(*third.FormerUntil) {
		t.Errorf("by a secret that is good until %v: until %v", third.FormerUntil, late.who.Expires)
	}
	last := begin(third.Key)
	if n := p.EndedSecrets(); n != 0 {
		t.Errorf("within the overlap %d secrets ended", n)
	}
	p.clock.Advance(time.Minute)
	if n := p.EndedSecrets(); n != 1 {
		t.Errorf("after the overlap %d secrets ended", n)
	}
	p.clock.Advance(-time.Minute)
	p.restart()
	p.clock.Advance(time.Minute)
	wants("after the overlap", next, core.CodeUnauthorized)
	wants("after the overlap, begun in it", late, core.CodeUnauthorized)
	wants("by the secret of now", last, "")
	if _, err := p.Refresh(t.Context(), core.Principal{Kind: core.PrincipalAPIKey, ID: "ann", KeyID: k.ID}); err != nil {
		t.Errorf("of the key alone: %v", err)
	}
}

func TestGrant(t *testing.T) {
	p := newPeople(t)
	ann := p.begin("ann", core.SessionBrowser)
	as := func(id string) context.Context {
		return core.WithPrincipal(t.Context(), core.Principal{Kind: core.PrincipalUser, ID: "ann", SessionID: id})
	}
	const verifier = "0123456789012345678901234567890123456789012"
	sum := sha256.Sum256([]byte(verifier))
	begin := func(port int) *core.Grant {
		t.Helper()
		g, err := p.BeginGrant(t.Context(), core.GrantSpec{Challenge: base64.RawURLEncoding.EncodeToString(sum[:]), Port: port, Address: "10.0.0.7", Client: "lap\x1btop"})
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	redeem := func(g *core.Grant, verifier, code string) (*core.NewSession, core.Code) {
		t.Helper()
		p.clock.Advance(core.GrantInterval)
		s, err := p.RedeemGrant(t.Context(), g.DeviceCode, verifier, code)
		return s, core.ErrorCode(err)
	}
	g := begin(0)
	if shown, err := p.FindGrant(t.Context(), strings.ToLower(g.UserCode)); err != nil || shown.DeviceCode != "" || shown.Client != "laptop" {
		t.Errorf("%+v, %v", shown, err)
	}
	if _, code := redeem(g, verifier, ""); code != core.CodeConflict {
		t.Errorf("before the approval: %s", code)
	}
	if _, err := p.RedeemGrant(t.Context(), g.DeviceCode, verifier, ""); core.ErrorCode(err) != core.CodeRateLimited {
		t.Errorf("too often: %v", err)
	}
	cli := p.begin("ann", core.SessionCLI)
	if _, err := p.DecideGrant(as(cli.ID), g.UserCode, true); core.ErrorCode(err) != core.CodeForbidden {
		t.Errorf("approved by a command line: %v", err)
	}
	if _, err := p.DecideGrant(as(ann.ID), g.UserCode, true); err != nil {
		t.Fatal(err)
	}
	if _, err := p.DecideGrant(as(ann.ID), g.UserCode, true); core.ErrorCode(err) != core.CodeNotFound {
		t.Errorf("approved twice: %v", err)
	}
	s, code := redeem(g, verifier, "")
	if code != "" || s.User != "ann" || s.Kind != core.SessionCLI || s.Address != "10.0.0.7" {
		t.Fatalf("%+v, %s", s, code)
	}
	p.wants(s.Token, "")
	if _, code := redeem(g, verifier, ""); code != core.CodeNotFound {
		t.Errorf("redeemed twice: %s", code)
	}
	// With a port the code that goes through the browser is needed: whoever lured somebody into approving does not get it.
	g = begin(4321)
	secret, err := p.DecideGrant(as(ann.ID), g.UserCode, true)
	if err != nil || secret == "" {
		t.Fatalf("%q, %v", secret, err)
	}
	if _, code := redeem(g, verifier, ""); code != core.CodeNotFound {
		t.Errorf("without the code: %s", code)
	}
	// Another verifier is a theft: the login is over.
	g = begin(0)
	if _, code := redeem(g, strings.Repeat("x", 43), ""); code != core.CodeNotFound {
		t.Errorf("another verifier: %s", code)
	}
	if _, code := redeem(g, verifier, ""); code != core.CodeNotFound {
		t.Errorf("after another verifier: %s", code)
	}
	// Refused, late, and approved by somebody who signed out since.
	g = begin(0)
	if _, err := p.DecideGrant(as(ann.ID), g.UserCode, false); err != nil {
		t.Fatal(err)
	}
	if _, code := redeem(g, verifier, ""); code != core.CodeForbidden {
		t.Errorf("refused: %s", code)
	}
	g = begin(0)
	if _, err := p.DecideGrant(as(ann.ID), g.UserCode, true); err != nil {
		t.Fatal(err)
	}
	if _, err := p.RevokeSession(t.Context(), ann.ID); err != nil {
		t.Fatal(err)
	}
	if _, code := redeem(g, verifier, ""); code != core.CodeNotFound {
		t.Errorf("approved by a session that ended: %s", code)
	}
	g = begin(0)
	p.clock.Advance(core.GrantLife)
	if _, err := p.FindGrant(t.Context(), g.UserCode); core.ErrorCode(err) != core.CodeNotFound {
		t.Errorf("late: %v", err)
	}
	// However many are begun, few wait.
	for i := range 30 {
		_, err := p.BeginGrant(t.Context(), core.GrantSpec{Challenge: base64.RawURLEncoding.EncodeToString(sum[:]), Address: "10.0.0.8"})
		if (core.ErrorCode(err) == core.CodeRateLimited) != (i >= 20) {
			t.Fatalf("%d: %v", i, err)
		}
	}
	if _, err := p.BeginGrant(t.Context(), core.GrantSpec{Challenge: "short"}); core.ErrorCode(err) != core.CodeValidation {
		t.Errorf("a challenge that is none: %v", err)
	}
}
