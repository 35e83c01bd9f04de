package sso_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/internal/claims"
	"github.com/wardroom/wardroom/core/sso"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// provider answers as a provider does, and as none should. The real one is in the tests of appliance.
type provider struct {
	*httptest.Server
	asked    atomic.Int32
	away     atomic.Bool
	hold     chan struct{} // what asks for the metadata waits for it; nil: it does not
	metadata func(m map[string]any)
	claims   claims.Claims // of the next ID token; the nonce is filled in unless there is one
	userinfo string
	nonce    string
}

type rig struct {
	*sso.Service
	t        *testing.T
	clock    *coretest.Clock
	provider *provider
}

func newRig(t *testing.T, change ...func(o *sso.Options)) *rig {
	t.Helper()
	p := &provider{claims: claims.Claims{"sub": "ann", "name": "Ann", "groups": []any{"devs"}, "roles": []any{}}}
	p.Server = httptest.NewServer(http.HandlerFunc(p.serve))
	transport := &http.Transport{}
	r := &rig{t: t, clock: coretest.NewClock(), provider: p}
	o := sso.Options{
		Kind: "oidc", Issuer: p.URL, ClientID: "wardroom", ClientSecret: "sekret", GroupsClaim: "groups", RolesClaim: "roles", Key: [32]byte{1},
		Verifier: func(string, string, []string) (sso.Verifier, error) { return verifier{p}, nil },
		Client:   &http.Client{Transport: transport}, Clock: r.clock, Logger: hclog.NewNullLogger(),
	}
	for _, f := range change {
		f(&o)
	}
	var err error
	if r.Service, err = sso.New(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); transport.CloseIdleConnections(); p.Close() })
	return r
}

// verifier takes any token for what the provider wanted to say.
type verifier struct{ p *provider }

func (v verifier) VerifyID(context.Context, string) (claims.Claims, error) {
	c := claims.Claims{"nonce": v.p.nonce}
	for name, value := range v.p.claims {
		c[name] = value
	}
	return c, nil
}
func (verifier) Close() {}

func (p *provider) serve(w http.ResponseWriter, r *http.Request) {
	if p.away.Load() {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		p.asked.Add(1)
		if p.hold != nil {
			<-p.hold
		}
		m := map[string]any{
			"issuer": p.URL, "authorization_endpoint": p.URL + "/auth", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys",
			"userinfo_endpoint": p.URL + "/me", "end_session_endpoint": p.URL + "/end?a=b",
		}
		if p.metadata != nil {
			p.metadata(m)
		}
		_ = json.NewEncoder(w).Encode(m)
	case "/token":
		_, _ = w.Write([]byte(`{"access_token":"at","token_type":"Bearer","id_token":"h.p.s"}`))
	case "/me":
		_, _ = w.Write([]byte(p.userinfo))
	}
}

// answer begins a sign-in and returns what the browser comes back with.
func (r *rig) answer() (query map[string]string, kept string) {
	r.t.Helper()
	a, err := r.Begin(r.t.Context(), "https://wardroom.example/auth/callback", "/console/")
	if err != nil {
		r.t.Fatal(err)
	}
	to, err := url.Parse(a.Location)
	if err != nil {
		r.t.Fatal(err)
	}
	q := to.Query()
	if q.Get("code_challenge_method") != "S256" || q.Get("code_challenge") == "" || q.Get("state") != a.State || len(a.State) != 43 || q.Get("redirect_uri") != "https://wardroom.example/auth/callback" ||
		!strings.Contains(q.Get("scope"), "openid") || strings.Contains(a.Kept, a.State) {
		r.t.Fatalf("%s", a.Location)
	}
	r.provider.nonce = q.Get("nonce")
	return map[string]string{"state": a.State, "code": "c"}, a.Kept
}

func (r *rig) finish() (*core.SignedIn, core.Code) {
	r.t.Helper()
	query, kept := r.answer()
	who, err := r.Finish(r.t.Context(), query, kept)
	return who, core.ErrorCode(err)
}

func TestFinish(t *testing.T) {
	r := newRig(t)
	who, code := r.finish()
	if code != "" || who.User != "ann" || who.Name != "Ann" || who.ReturnTo != "/console/" || who.IDToken != "h.p.s" || strings.Join(who.Groups, " ") != "devs" {
		t.Fatalf("%+v, %s", who, code)
	}
	query, kept := r.answer()
	r.provider.nonce = "another"
	if _, err := r.Finish(t.Context(), query, kept); core.ErrorCode(err) != core.CodeUnauthorized {
		t.Errorf("another nonce: %v", err)
	}
	query, kept = r.answer()
	r.clock.Advance(core.SignInLife)
	if _, err := r.Finish(t.Context(), query, kept); core.ErrorCode(err) != core.CodeUnauthorized {
		t.Errorf("late: %v", err)
	}
	query, kept = r.answer()
	query["error"] = "access_denied"
	if _, err := r.Finish(t.Context(), query, kept); core.ErrorCode(err) != core.CodeForbidden {
		t.Errorf("denied: %v", err)
	}
	query, kept = r.answer()
	other := newRig(t, func(o *sso.Options) { o.Key = [32]byte{2} })
	if _, err := other.Finish(t.Context(), query, kept); core.ErrorCode(err) != core.CodeUnauthorized {
		t.Errorf("sealed by another server: %v", err)
	}
	r.provider.claims["sub"] = "system"
	if _, code := r.finish(); code != core.CodeForbidden {
		t.Errorf("a reserved name: %s", code)
	}
	if got := r.End(t.Context(), "id", "https://wardroom.example"); got != r.provider.URL+"/end?a=b&client_id=wardroom&id_token_hint=id&post_logout_redirect_uri=https%3A%2F%2Fwardroom.example" {
		t.Error(got)
	}
}

// One client that answers any number of attempts of its own makes no answer of others good a second time.
func TestFloodOfAnswers(t *testing.T) {
	r := newRig(t)
	type answer struct {
		query       map[string]string
		kept, nonce string
	}
	var others []answer
	for range 20 {
		query, kept := r.answer()
		if _, err := r.Finish(t.Context(), query, kept); err != nil {
			t.Fatal(err)
		}
		others = append(others, answer{query, kept, r.provider.nonce})
	}
	query, kept := r.answer()
	query["error"] = "of_mine"
	if _, err := r.Finish(t.Context(), query, kept); err == nil {
		t.Fatal("let in")
	}
	if failed, good := r.InVain(); failed != 1 || good != len(others) {
		t.Fatalf("%d in vain, %d others", failed, good)
	}
	now := r.clock.Now()
	for i := range 51_000 {
		r.AnswerInVain(strconv.Itoa(i), now.Add(core.SignInLife-time.Second), now)
	}
	for _, other := range others {
		r.provider.nonce = other.nonce
		if _, err := r.Finish(t.Context(), other.query, other.kept); core.ErrorCode(err) != core.CodeUnauthorized {
			t.Fatalf("a second time: %v", err)
		}
	}
	// Nor does it keep people from signing in.
	if _, code := r.finish(); code != "" {
		t.Errorf("another person: %s", code)
	}
}

// Groups that the ID token lacks are looked for where the provider tells of the user; who it tells of has to be the same.
func TestUserinfo(t *testing.T) {
	r := newRig(t)
	r.provider.claims = claims.Claims{"sub": "ann"}
	for text, want := range map[string]core.Code{
		`{"sub":"ann","groups":["ops"],"name":"Ann"}`: "", `{"sub":"bob","groups":["ops"]}`: core.CodeUnauthorized,
		`{"sub":"ann","groups":"x","groups":"y"}`: core.CodeUnauthorized, `{"sub":"ann","groups":7}`: core.CodeUnauthorized, `no json`: core.CodeUnauthorized,
		`{"sub":"ann","pad":"` + strings.Repeat("x", 2<<20) + `"}`: core.CodeInternal,
	} {
		r.provider.userinfo = text
		who, code := r.finish()
		if code != want || want == "" && strings.Join(who.Groups, " ") != "ops" {
			t.Errorf("%.60s: %+v, %s", text, who, code)
		}
	}
}

// Somebody of whom the ID token has all but a name to show signs in, whatever becomes of the question for that.
func TestUserinfoForNameAlone(t *testing.T) {
	r := newRig(t)
	r.provider.claims = claims.Claims{"sub": "ann", "groups": []any{"devs"}, "roles": []any{}}
	for text, want := range map[string]string{
		`{"sub":"ann","name":"Ann"}`: "Ann", `h.p.s`: "ann", `{"sub":"bob","name":"Bob"}`: "", `{"sub":"ann","name":"Ann","pad":"` + strings.Repeat("x", 2<<20) + `"}`: "ann",
	} {
		r.provider.userinfo = text
		who, code := r.finish()
		if want == "" && code != core.CodeUnauthorized || want != "" && (code != "" || who.Name != want || strings.Join(who.Groups, " ") != "devs") {
			t.Errorf("%.60s: %+v, %s", text, who, code)
		}
	}
}

// A person named by an e-mail address that looks like another one is not let in, as with any other claim.
func TestNamesThatLookLikeOthers(t *testing.T) {
	r := newRig(t, func(o *sso.Options) { o.UserClaim = "email" })
	r.provider.claims["email_verified"] = true
	for email, want := range map[string]core.Code{
		"ann@example.com": "", "ann@example.com\u200b": core.CodeUnauthorized, " ann@example.com": core.CodeUnauthorized, "ann\u202e@example.com": core.CodeUnauthorized,
	} {
		r.provider.claims["email"] = email
		if who, code := r.finish(); code != want {
			t.Errorf("%q: %+v, %s", email, who, code)
		}
	}
}

func TestHostedDomain(t *testing.T) {
	r := newRig(t, func(o *sso.Options) { o.Kind, o.HostedDomain = "google", "example.com" })
	for domain, want := range map[any]core.Code{"example.com": "", "Example.COM": "", "evil.example": core.CodeForbidden, nil: core.CodeForbidden, 7: core.CodeForbidden, "": core.CodeForbidden} {
		r.provider.claims["hd"] = domain
		if _, code := r.finish(); code != want {
			t.Errorf("%v: %s", domain, code)
		}
	}
	a, err := r.Begin(t.Context(), "https://wardroom.example/auth/callback", "")
	if err != nil || !strings.Contains(a.Location, "hd=example.com") {
		t.Errorf("%+v, %v", a, err)
	}
}

// What a provider says of itself is not believed where it could lead elsewhere.
func TestMetadata(t *testing.T) {
	for name, change := range map[string]func(m map[string]any){
		"AnotherIssuer": func(m map[string]any) { m["issuer"] = "https://evil.example" },
		"NoToken":       func(m map[string]any) { delete(m, "token_endpoint") },
		"PlainHTTP":     func(m map[string]any) { m["token_endpoint"] = "http://id.example/token" },
		"Script":        func(m map[string]any) { m["authorization_endpoint"] = "javascript:alert(1)" },
		"NoPKCE":        func(m map[string]any) { m["code_challenge_methods_supported"] = []string{"plain"} },
		"Types":         func(m map[string]any) { m["jwks_uri"] = 7 },
		"Huge":          func(m map[string]any) { m["pad"] = strings.Repeat("x", 2<<20) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.provider.metadata = change
			if _, err := r.Begin(t.Context(), "https://wardroom.example/auth/callback", ""); core.ErrorCode(err) != core.CodeInternal || !core.AsError(err).Unavailable {
				t.Errorf("%v", err)
			}
		})
	}
}

// A provider on another machine does not have the server call what listens on loopback here.
func TestMetadataLeadsToThisMachine(t *testing.T) {
	for _, endpoint := range []string{"token_endpoint", "jwks_uri", "userinfo_endpoint"} {
		t.Run(endpoint, func(t *testing.T) {
			asked := atomic.Bool{}
			inner := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				asked.Store(true)
				_, _ = w.Write([]byte(`{"access_token":"at","token_type":"Bearer","id_token":"h.p.s"}`))
			}))
			defer inner.Close()
			p := &provider{claims: claims.Claims{"sub": "ann"}}
			p.Server = httptest.NewTLSServer(http.HandlerFunc(p.serve))
			defer p.Close()
			p.metadata = func(m map[string]any) { m[endpoint] = inner.URL + "/" }
			r := newRig(t, func(o *sso.Options) {
				o.Issuer, o.Client = p.URL, p.Client()
				o.Verifier = func(_, keySet string, _ []string) (sso.Verifier, error) {
					if strings.HasPrefix(keySet, inner.URL) {
						asked.Store(true)
					}
					return verifier{p}, nil
				}
			})
			if a, err := r.Begin(t.Context(), "https://wardroom.example/auth/callback", ""); err == nil {
				to, _ := url.Parse(a.Location)
				p.nonce = to.Query().Get("nonce")
				_, _ = r.Finish(t.Context(), map[string]string{"state": a.State, "code": "c"}, a.Kept)
			}
			if asked.Load() {
				t.Error("it was called")
			}
		})
	}
}

// A provider that is away is asked again after a pause that grows, and what is known of it is good for a day.
func TestProviderAway(t *testing.T) {
	r := newRig(t)
	begin := func() error {
		_, err := r.Begin(t.Context(), "https://wardroom.example/auth/callback", "")
		return err
	}
	r.provider.away.Store(true)
	for range 10 {
		if err := begin(); core.ErrorCode(err) != core.CodeInternal || !core.AsError(err).Unavailable {
			t.Fatalf("%v", err)
		}
	}
	if _, failed := r.State(); failed == nil {
		t.Error("health does not know")
	}
	r.provider.away.Store(false)
	if err := begin(); err == nil {
		t.Error("asked without a pause")
	}
	r.clock.Advance(time.Minute)
	for range 10 {
		if err := begin(); err != nil {
			t.Fatal(err)
		}
	}
	if got := r.provider.asked.Load(); got != 1 {
		t.Errorf("asked %d times", got)
	}
	r.provider.away.Store(true)
	r.clock.Advance(23 * time.Hour)
	if err := begin(); err != nil {
		t.Errorf("what is known: %v", err)
	}
	r.clock.Advance(time.Hour)
	if err := begin(); err == nil {
		t.Error("what is known after a day")
	}
	r.provider.away.Store(false)
	r.clock.Advance(time.Minute)
	if err := errors.Join(begin(), begin()); err != nil {
		t.Error(err)
	}
}

// An answer of the provider that its reader panics at fails the sign-in, and nothing else: the next try may go well.
func TestProviderPanics(t *testing.T) {
	panics := true
	r := newRig(t, func(o *sso.Options) {
		read := o.Verifier
		o.Verifier = func(issuer, keySet string, algorithms []string) (sso.Verifier, error) {
			if panics {
				panic("out of bounds")
			}
			return read(issuer, keySet, algorithms)
		}
	})
	begin := func() error {
		_, err := r.Begin(t.Context(), "https://wardroom.example/auth/callback", "")
		return err
	}
	if err := begin(); !core.AsError(err).Unavailable {
		t.Errorf("the sign-in: %v", err)
	}
	if _, failed := r.State(); failed == nil {
		t.Error("health does not know")
	}
	panics = false
	r.clock.Advance(time.Minute)
	if err := begin(); err != nil {
		t.Error(err)
	}
}

// A caller who waits for a provider that does not answer may leave at any time, is not asked for once more each, and does not hold up the
// end of the server.
func TestProviderHangs(t *testing.T) {
	r := newRig(t)
	r.provider.hold = make(chan struct{})
	defer close(r.provider.hold)
	const people = 20
	ctx, leave := context.WithCancel(t.Context())
	over := make(chan error, people)
	for range people {
		go func() {
			_, err := r.Begin(ctx, "https://wardroom.example/auth/callback", "")
			over <- err
		}()
	}
	within := func(what string, done <-chan error) {
		t.Helper()
		select {
		case err := <-done:
			if !core.AsError(err).Unavailable {
				t.Fatalf("%s: %v", what, err)
			}
		case <-time.After(5 * time.Second):
			t.Fatalf("%s is not over", what)
		}
	}
	leave()
	for range people {
		within("a sign-in whose browser left", over)
	}
	go func() {
		_, err := r.Begin(t.Context(), "https://wardroom.example/auth/callback", "")
		over <- err
	}()
	closed := make(chan struct{})
	go func() { r.Close(); close(closed) }()
	within("the sign-in of a server that ends", over)
	<-closed
	if got := r.provider.asked.Load(); got > 1 {
		t.Errorf("asked %d times at once", got)
	}
}

func TestLocalPath(t *testing.T) {
	for path, want := range map[string]bool{
		"/": true, "/console/": true, "/console/#/executions?a=b&c=%2F%2Fevil": true, "/a//b": true, "/authority": true, "/auth/cli?code=BCDF-GHJK": true,
		"": false, "console": false, "//evil.example": false, `/\evil.example`: false, "/\t/evil.example": false, "/a\nb": false, "https://evil.example": false,
		"javascript:alert(1)": false, "/auth/login": false, "/auth/logout?x": false, "/auth/callback": false, "/lab/auth/login": false, "/lab/auth/logout?x": false, "/lab/auth/cli?code=x": true, "/a\u00a0b": false, "/\xff": false,
		"/" + strings.Repeat("a", 1024): false,
		// Who else it could lead to: users in addresses, slashes that only look like some, letters that a browser leaves out; behind
		// the first slash those that it does not leave out are a part of the path.
		"https://wardroom.example@evil.example/": false, "//wardroom.example@evil.example": false, "@evil.example": false, "/@evil.example": true,
		"\uff0f\uff0fevil.example": false, "/\uff0fevil.example": true, "/\u2028/evil.example": false, "/\u200b/evil.example": true, "/\x00/evil.example": false,
		"/\r/evil.example": false, "/\x7f": false, "///evil.example": false, `\\evil.example`: false, "/.\t./evil.example": false, " //evil.example": false,
	} {
		if got := sso.LocalPath(path); got != map[bool]string{true: path}[want] {
			t.Errorf("%q: %q", path, got)
		}
	}
}

// Whatever it lets through, a browser takes for a path of the site that it is at.
func FuzzLocalPath(f *testing.F) {
	for _, seed := range []string{"/", "//x", `/\x`, "/%2f/x", "/.//x", "/a?b#c"} {
		f.Add(seed)
	}
	base, err := url.Parse("https://wardroom.example/auth/callback")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		path := sso.LocalPath(text)
		if path == "" {
			return
		}
		if to, err := base.Parse(path); err == nil && to.Host != base.Host {
			t.Fatalf("%q leads to %s", text, to)
		}
	})
}
