package api_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/api"
	"github.com/wardroom/wardroom/sdk/wire"
)

// fakeSignIn is an identity provider, its sessions and the logins of command lines. Its one session is sess_1 of ann.
type fakeSignIn struct {
	created []core.SessionSpec
	ended   []string
	finish  error
	decided []bool
	ends    string
	grants  map[string]*core.Grant
}

func signIn(f *fakeSignIn) api.SignIn {
	return api.SignIn{Sessions: f, Grants: f, Provider: f, APIKeys: true, SignedIn: func(r *http.Request) (core.Principal, error) {
		if c, err := r.Cookie(core.SessionCookie(false, r.Host)); err != nil || c.Value != "good" {
			return core.Principal{}, core.Errorf(core.CodeUnauthorized, "no session")
		}
		return core.Principal{Kind: core.PrincipalUser, ID: "ann", Name: "<b>Ann</b>", SessionID: "sess_1"}, nil
	}}
}

func (f *fakeSignIn) CreateSession(_ context.Context, spec core.SessionSpec) (*core.NewSession, error) {
	f.created = append(f.created, spec)
	return &core.NewSession{UserSession: core.UserSession{ID: "sess_2", User: spec.User, Kind: spec.Kind, ExpiresAt: time.Now().Add(time.Hour)}, Token: "wrs_new"}, nil
}

func (f *fakeSignIn) FindSessions(_ context.Context, filter core.SessionFilter) ([]*core.UserSession, core.PageInfo, error) {
	list := []*core.UserSession{}
	for _, user := range []string{"ann", "bob"} {
		if filter.User == "" || filter.User == user {
			list = append(list, &core.UserSession{ID: "sess_" + user, User: user, Kind: core.SessionBrowser, Method: core.SignInSSO})
		}
	}
	return list, core.PageInfo{Total: len(list)}, nil
}

func (f *fakeSignIn) FindSession(_ context.Context, id string) (*core.UserSession, error) {
	switch id {
	case "sess_1", "sess_2", "sess_ann":
		return &core.UserSession{ID: id, User: "ann", Kind: core.SessionBrowser}, nil
	case "sess_bob":
		return &core.UserSession{ID: id, User: "bob", Kind: core.SessionBrowser}, nil
	}
	return nil, core.NotFound("session", id)
}

func (f *fakeSignIn) RevokeSession(_ context.Context, id string) (string, error) {
	f.ended = append(f.ended, id)
	return "id-token", nil
}

func (f *fakeSignIn) CSRFToken(id string) string       { return "csrf-" + id }
func (f *fakeSignIn) IsCSRFToken(id, text string) bool { return text == f.CSRFToken(id) }
func (f *fakeSignIn) CookieSession(cookie string) string {
	return map[string]string{"good": "sess_1"}[cookie]
}
func (f *fakeSignIn) Provider() string { return "oidc" }

func (f *fakeSignIn) Begin(_ context.Context, redirect, returnTo string) (*core.SignInAttempt, error) {
	return &core.SignInAttempt{State: "statestate", Location: "https://id.example/auth?" + url.Values{"r": {redirect}, "b": {returnTo}}.Encode(), Kept: "kept"}, nil
}

func (f *fakeSignIn) Finish(_ context.Context, query map[string]string, kept string) (*core.SignedIn, error) {
	if f.finish != nil {
		return nil, f.finish
	}
	if kept != "kept" || query["state"] != "statestate" {
		return nil, core.Invalid("state", "is not that of this browser")
	}
	return &core.SignedIn{User: "ann", Name: "Ann", ReturnTo: `/console/?a="1"&b=<2>`, IDToken: "id-token"}, nil
}

func (f *fakeSignIn) End(context.Context, string, string) string { return f.ends }

func (f *fakeSignIn) BeginGrant(_ context.Context, spec core.GrantSpec) (*core.Grant, error) {
	return &core.Grant{GrantSpec: spec, UserCode: "BCDF-GHJK", DeviceCode: "device"}, nil
}

func (f *fakeSignIn) FindGrant(_ context.Context, code string) (*core.Grant, error) {
	if g := f.grants[code]; g != nil {
		return g, nil
	}
	return nil, core.NotFound("login", code)
}

func (f *fakeSignIn) DecideGrant(_ context.Context, _ string, approve bool) (string, error) {
	f.decided = append(f.decided, approve)
	return "secret", nil
}

func (f *fakeSignIn) RedeemGrant(context.Context, string, string, string) (*core.NewSession, error) {
	return nil, core.Conflict("login", "", "pending", "wait")
}

// TestSignInIsAudited: each sign-in and each refusal of one leaves a record, whatever the browser asks for.
func TestSignInIsAudited(t *testing.T) {
	for _, c := range []struct {
		name, state string
		finish      error
		outcome     string
		actor       string
	}{
		{"signed in", "statestate", nil, wire.AuditSuccess, "ann"},
		{"refused", "statestate", core.Errorf(core.CodeUnauthorized, "the sign-in did not come to its end"), wire.AuditDenied, core.Anonymous.ID},
	} {
		for _, accept := range []string{"text/html", "application/json"} {
			t.Run(c.name+" "+accept, func(t *testing.T) {
				f := &fakeAudit{}
				r := newRig(t, func(o *api.Options) { o.SignIn, o.Audit = signIn(&fakeSignIn{finish: c.finish}), f })
				r.browse(http.MethodGet, "/auth/callback?code=c0de&state="+c.state, core.SignInCookie(false, "127.0.0.1:8080", c.state)+"=kept", "", "Accept", accept)
				entries := f.take()
				if len(entries) != 1 {
					t.Fatalf("%+v", entries)
				}
				e := entries[0]
				if e.Category != wire.AuditAuthentication || e.Action != "session.authenticate" || e.Outcome != c.outcome || e.Actor.ID != c.actor {
					t.Errorf("%+v", e)
				}
				if text := fmt.Sprint(e); strings.Contains(text, "c0de") || strings.Contains(text, c.state) {
					t.Errorf("the code or the state is in the record: %s", text)
				}
			})
		}
	}
}

// browse sends a request as a browser on loopback does, without following redirects.
func (r *rig) browse(method, path, cookie, body string, header ...string) (*http.Response, string) {
	r.tb.Helper()
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	req.Host = "127.0.0.1:8080"
	req.Header.Set("Accept", "text/html")
	if cookie != "" {
		req.Header.Set("Cookie", cookie)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	r.server.Handler().ServeHTTP(w, req)
	return w.Result(), w.Body.String()
}

func TestSignIn(t *testing.T) {
	f := &fakeSignIn{}
	r := newRig(t, func(o *api.Options) { o.SignIn = signIn(f) })
	resp, _ := r.browse("GET", "/auth/login?returnTo=/console/", "", "")
	if to := resp.Header.Get("Location"); resp.StatusCode != 303 || to != "https://id.example/auth?b=%2Fconsole%2F&r=http%3A%2F%2F127.0.0.1%3A8080%2Fauth%2Fcallback" {
		t.Fatalf("%d %s", resp.StatusCode, to)
	}
	if c := resp.Header.Get("Set-Cookie"); c != "wardroom-signin-statesta-8080=kept; Path=/; Max-Age=600; HttpOnly; SameSite=Lax" {
		t.Errorf("cookie of the attempt: %s", c)
	}
	// What the provider adds is passed over; the session that the browser had is replaced.
	const kept = "wardroom-signin-statesta-8080=kept"
	resp, body := r.browse("GET", "/auth/callback?code=c&state=statestate&session_state=x", kept+"; wardroom-session-8080=good", "")
	cookies := resp.Header["Set-Cookie"]
	if resp.StatusCode != 200 || len(cookies) != 2 || !strings.HasPrefix(cookies[1], "wardroom-session-8080=wrs_new; Path=/; Max-Age=") ||
		!strings.HasSuffix(cookies[1], "; HttpOnly; SameSite=Strict") || !strings.Contains(cookies[0], "Max-Age=0") {
		t.Errorf("%d %q", resp.StatusCode, cookies)
	}
	if strings.Contains(body, "<2>") || !strings.Contains(body, `http-equiv="refresh"`) || !strings.Contains(body, "/console/?a=") || strings.Contains(body, "Zgotmpl") {
		t.Errorf("%s", body)
	}
	if len(f.created) != 1 || f.created[0].Replaces != "sess_1" || f.created[0].Kind != core.SessionBrowser || f.created[0].IDToken != "id-token" {
		t.Errorf("%+v", f.created)
	}
	// Without its cookie the answer is nobody's, and the page says so.
	if resp, body := r.browse("GET", "/auth/callback?code=c&state=statestate", "", ""); resp.StatusCode != 400 || !strings.Contains(body, "Not signed in") || len(f.created) != 1 {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	f.finish = errors.New("secret reason")
	if resp, body := r.browse("GET", "/auth/callback?code=c&state=statestate", kept, ""); resp.StatusCode != 500 || strings.Contains(body, "secret") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	// Plain http at another name than a loopback one gets no cookie.
	for _, path := range []string{"/auth/login", "/auth/callback?code=c&state=statestate"} {
		req := httptest.NewRequest("GET", path, http.NoBody)
		req.Host = "example.com"
		w := httptest.NewRecorder()
		r.server.Handler().ServeHTTP(w, req)
		if w.Code != 403 || w.Header().Get("Set-Cookie") != "" {
			t.Errorf("%s over plain http: %d %v", path, w.Code, w.Header())
		}
	}
}

// However often a browser is sent to sign in, by whatever page, its cookies do not become more than a request may have.
func TestSignInCookiesAreBounded(t *testing.T) {
	for name, secure := range map[string]bool{"Secure": true, "Plain": false} {
		t.Run(name, func(t *testing.T) {
			var state string
			r := newRig(t, func(o *api.Options) {
				o.SignIn = signIn(&fakeSignIn{})
				o.SignIn.Secure, o.SignIn.RedirectURI = secure, "https://example.com/auth/callback"
				o.SignIn.Provider = begins(func() *core.SignInAttempt {
					return &core.SignInAttempt{State: state, Location: "https://id.example/auth", Kept: strings.Repeat("k", 2<<10)}
				})
			})
			other := []string{core.SessionCookie(secure, "127.0.0.1:8080") + "=good", "theirs=1"}
			kept := []string{}
			for i := range 100 {
				state = fmt.Sprintf("%08dstate", i)
				resp, body := r.browse("GET", "/auth/login", strings.Join(slices.Concat(other, kept), "; "), "")
				if resp.StatusCode != http.StatusSeeOther {
					t.Fatalf("attempt %d: %d %s", i, resp.StatusCode, body)
				}
				for _, c := range resp.Cookies() {
					kept = slices.DeleteFunc(kept, func(had string) bool { return strings.HasPrefix(had, c.Name+"=") })
					if c.MaxAge > 0 {
						kept = append(kept, c.Name+"="+c.Value)
					} else if !strings.Contains(c.Name, "signin-") {
						t.Errorf("%s is taken away", c.Name)
					}
				}
				if newest := core.SignInCookie(secure, "127.0.0.1:8080", state); !strings.HasPrefix(kept[len(kept)-1], newest+"=") {
					t.Fatalf("attempt %d: the browser has no cookie %s", i, newest)
				}
			}
			if len(kept) < 2 || len(kept) > 8 {
				t.Errorf("%d attempts are kept", len(kept))
			}
		})
	}
}

// begins is a provider at which sign-ins only begin.
type begins func() *core.SignInAttempt

func (begins) Provider() string { return "oidc" }
func (f begins) Begin(context.Context, string, string) (*core.SignInAttempt, error) {
	return f(), nil
}
func (begins) Finish(context.Context, map[string]string, string) (*core.SignedIn, error) {
	return nil, core.Invalid("state", "is not that of this browser")
}
func (begins) End(context.Context, string, string) string { return "" }

func TestSecureCookies(t *testing.T) {
	f := &fakeSignIn{}
	r := newRig(t, func(o *api.Options) {
		o.SignIn = signIn(f)
		o.SignIn.Secure, o.SignIn.RedirectURI = true, "https://example.com/auth/callback"
	})
	resp, _ := r.browse("GET", "/auth/login", "", "")
	if c := resp.Header.Get("Set-Cookie"); c != "__Host-wardroom-signin-statesta=kept; Path=/; Max-Age=600; HttpOnly; Secure; SameSite=Lax" {
		t.Error(c)
	}
	resp, _ = r.browse("GET", "/auth/callback?code=c&state=statestate", "__Host-wardroom-signin-statesta=kept", "")
	if c := resp.Header["Set-Cookie"]; len(c) != 2 || !strings.HasPrefix(c[1], "__Host-wardroom-session=wrs_new; Path=/; Max-Age=") || !strings.HasSuffix(c[1], "; HttpOnly; Secure; SameSite=Strict") {
		t.Errorf("%q", c)
	}
}

// The page that asks whether a command line may act for somebody is shown to them alone, and its form is good with the token
// of their session alone.
func TestCLIPage(t *testing.T) {
	f := &fakeSignIn{grants: map[string]*core.Grant{
		"BCDF-GHJK": {GrantSpec: core.GrantSpec{Client: "<i>laptop", Address: "10.0.0.1", Port: 4321}, UserCode: "BCDF-GHJK"},
		"BCDF-GHJL": {UserCode: "BCDF-GHJL"},
	}}
	r := newRig(t, func(o *api.Options) { o.SignIn = signIn(f) })
	if resp, _ := r.browse("GET", "/auth/cli?code=BCDF-GHJK", "", ""); resp.StatusCode != 303 || resp.Header.Get("Location") != "/auth/login?returnTo=%2Fauth%2Fcli%3Fagain%3Dtrue%26code%3DBCDF-GHJK" {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
	if resp, body := r.browse("GET", "/auth/cli?again=true&code=BCDF-GHJK", "", ""); resp.StatusCode != 200 || !strings.Contains(body, "allow cookies") {
		t.Errorf("in circles: %d %s", resp.StatusCode, body)
	}
	const good = "wardroom-session-8080=good"
	resp, body := r.browse("GET", "/auth/cli?code=BCDF-GHJK", good, "")
	if resp.StatusCode != 200 || strings.Contains(body, "<i>") || strings.Contains(body, "<b>Ann") || !strings.Contains(body, `value="csrf-sess_1"`) || !strings.Contains(body, "BCDF-GHJK") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	if csp := resp.Header.Get("Content-Security-Policy"); !strings.Contains(csp, "form-action 'self' http://127.0.0.1:4321") || !strings.Contains(csp, "frame-ancestors 'none'") {
		t.Error(csp)
	}
	if resp, _ := r.browse("GET", "/auth/cli?code=NONE-NONE", good, ""); resp.StatusCode != 404 {
		t.Errorf("unknown code: %d", resp.StatusCode)
	}
	form := func(code, token, decision string) string {
		return url.Values{"code": {code}, "token": {token}, "decision": {decision}}.Encode()
	}
	if resp, _ := r.browse("POST", "/auth/cli/decide", good, form("BCDF-GHJK", "csrf-sess_2", "approve")); resp.StatusCode != 403 || len(f.decided) != 0 {
		t.Errorf("the token of another session: %d", resp.StatusCode)
	}
	if resp, _ := r.browse("POST", "/auth/cli/decide", "", form("BCDF-GHJK", "csrf-sess_1", "approve")); resp.StatusCode != 303 || len(f.decided) != 0 {
		t.Errorf("nobody: %d", resp.StatusCode)
	}
	if resp, _ := r.browse("POST", "/auth/cli/decide", good, form("BCDF-GHJK", "csrf-sess_1", "approve")); resp.Header.Get("Location") != "http://127.0.0.1:4321/?code=secret" {
		t.Errorf("%v", resp.Header)
	}
	if resp, _ := r.browse("POST", "/auth/cli/decide", good, form("BCDF-GHJK", "csrf-sess_1", "anything")); resp.Header.Get("Location") != "http://127.0.0.1:4321/?error=refused" {
		t.Errorf("%v", resp.Header)
	}
	if resp, body := r.browse("POST", "/auth/cli/decide", good, form("BCDF-GHJL", "csrf-sess_1", "approve")); resp.StatusCode != 200 || !strings.Contains(body, "signed in") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	if len(f.decided) != 3 || !f.decided[0] || f.decided[1] || !f.decided[2] {
		t.Errorf("%v", f.decided)
	}
}

// People see and end their own sessions, administrators all; the sessions of others answer as missing ones do.
func TestSessionsOfOthers(t *testing.T) {
	f := &fakeSignIn{}
	r := guarded(t, func(o *api.Options) { o.SignIn = signIn(f) })
	do := func(method, path, scopes string) int {
		req := httptest.NewRequest(method, path, http.NoBody)
		req.Header.Set("Authorization", "Bearer "+scopes)
		w := httptest.NewRecorder()
		r.server.Handler().ServeHTTP(w, req)
		return w.Code
	}
	for _, tt := range []struct {
		method, path, scopes string
		want                 int
	}{
		{"GET", "/api/auth/sessions", "read", 200}, {"GET", "/api/auth/sessions?user=ann", "read", 200},
		{"GET", "/api/auth/sessions?user=bob", "read", 403}, {"GET", "/api/auth/sessions?all=true", "read", 403},
		{"GET", "/api/auth/sessions?all=true", "admin", 200}, {"GET", "/api/auth/sessions?all=true&user=bob", "admin", 400},
		{"DELETE", "/api/auth/sessions/sess_bob", "read", 404}, {"DELETE", "/api/auth/sessions/sess_none", "read", 404},
		{"DELETE", "/api/auth/sessions/sess_ann", "read", 204}, {"DELETE", "/api/auth/sessions/sess_bob", "admin", 204},
		{"DELETE", "/api/session", "read", 409}, {"POST", "/api/session", "read", 409},
	} {
		if got := do(tt.method, tt.path, tt.scopes); got != tt.want {
			t.Errorf("%s %s with %s: %d, want %d", tt.method, tt.path, tt.scopes, got, tt.want)
		}
	}
	if strings.Join(f.ended, " ") != "sess_ann sess_bob" {
		t.Error(f.ended)
	}
}

// What answers and pages lead to lies below the prefix; what is elsewhere is left alone.
func TestPrefix(t *testing.T) {
	r := newRig(t, func(o *api.Options) { o.Prefix = "/lab" })
	r.executions.start = func(context.Context, core.ExecuteRequest) (*core.Execution, error) {
		return someExecution(execID, core.ExecutionPending), nil
	}
	for _, c := range []struct{ method, path, body, location string }{
		{"POST", "/api/patterns/classify/execute?async=true", `{"input":{}}`, "/lab/api/executions/" + execID},
		{"GET", "/auth/cli?code=BCDF-GHJK", "", "/lab/auth/login?returnTo=" + url.QueryEscape("/lab/auth/cli?again=true&code=BCDF-GHJK")},
	} {
		if got := r.do(c.method, c.path, c.body).header.Get("Location"); got != c.location {
			t.Errorf("%s %s leads to %q, want %q", c.method, c.path, got, c.location)
		}
	}
	if got := r.do("GET", "/auth/login?returnTo=%2F", "", "Host: 127.0.0.1").header.Get("Location"); strings.HasPrefix(got, "/lab") || got == "" {
		t.Errorf("the sign-in leads to %q", got)
	}
}
