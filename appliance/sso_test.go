package appliance_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/appliance"
	"github.com/wardroom/wardroom/appliance/cmd"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/client"
)

// oidcFolder returns the folder of scripts/oidc/install.sh, which has to have a module.
func oidcFolder(t *testing.T, module string) string {
	t.Helper()
	folder := os.Getenv("WARDROOM_OIDC")
	if folder == "" {
		folder = filepath.Join("..", ".cache", "oidc")
	}
	if _, err := os.Stat(filepath.Join(folder, "node_modules", module)); err != nil {
		lacking(t, module+" is not there; `make oidc` installs it, or name its folder in WARDROOM_OIDC")
	}
	folder, err := filepath.Abs(folder)
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// lacking skips a test for what the machine lacks, or fails it where nothing may be skipped.
func lacking(t *testing.T, how string) {
	t.Helper()
	if os.Getenv("WARDROOM_REQUIRE_REAL") == "1" {
		t.Fatal(how)
	}
	t.Skip(how)
}

// openProvider starts a real OpenID provider on loopback and returns its issuer.
func openProvider(t *testing.T, env ...string) string {
	t.Helper()
	folder := oidcFolder(t, "oidc-provider")
	node := exec.Command("node", filepath.Join("..", "scripts", "oidc", "provider.mjs"), folder)
	node.Env = append(os.Environ(), env...)
	errs := new(log)
	node.Stderr = errs
	stdin, err := node.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := node.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := node.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close() // which it ends at
		_ = node.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("%v: %s", err, errs)
	}
	return strings.TrimSpace(line)
}

// browser is a browser as far as signing in needs one: it keeps cookies, and says where its requests come from.
type browser struct {
	t      *testing.T
	client *http.Client
}

func newBrowser(t *testing.T) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &browser{t, &http.Client{Jar: jar, Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// do sends a request and returns the status, where it leads, and the page.
func (b *browser) do(method, address, site, body string, header ...string) (status int, to, page string) {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Accept", "text/html")
	r.Header.Set("Sec-Fetch-Site", site)
	if body != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	a, err := b.client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = a.Body.Close() }()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	if where, err := a.Location(); err == nil {
		to = where.String()
	}
	return a.StatusCode, to, string(text)
}

var formAction = regexp.MustCompile(`<form[^>]* action="([^"]+)"`)

// atProvider goes through the pages of the provider as somebody and returns where it sends the browser back to.
func (b *browser) atProvider(issuer, address, who string) string {
	b.t.Helper()
	for range 20 {
		if !strings.HasPrefix(address, issuer) {
			return address
		}
		status, to, page := b.do(http.MethodGet, address, "cross-site", "")
		if to != "" {
			address = to
			continue
		}
		action := formAction.FindStringSubmatch(page)
		if status != http.StatusOK || action == nil {
			b.t.Fatalf("%s answers %d: %s", address, status, page)
		}
		form := url.Values{"prompt": {"login"}, "login": {who}, "password": {"x"}}
		if strings.Contains(page, `value="consent"`) {
			form = url.Values{"prompt": {"consent"}}
		}
		if _, address, page = b.do(http.MethodPost, html.UnescapeString(action[1]), "same-origin", form.Encode()); address == "" {
			b.t.Fatal(page)
		}
	}
	b.t.Fatal("the provider sends the browser in circles")
	return ""
}

// signIn signs somebody in and returns the last page.
func (b *browser) signIn(server, issuer, who, returnTo string) (status int, page string) {
	b.t.Helper()
	status, to, page := b.do(http.MethodGet, server+"/auth/login?returnTo="+url.QueryEscape(returnTo), "none", "")
	if status != http.StatusSeeOther {
		b.t.Fatalf("login: %d %s", status, page)
	}
	status, _, page = b.do(http.MethodGet, b.atProvider(issuer, to, who), "cross-site", "")
	return status, page
}

// session returns what the server says of whoever the browser is signed in as.
func (b *browser) session(server string) (client.Session, int) {
	b.t.Helper()
	status, _, text := b.do(http.MethodGet, server+"/api/session", "same-origin", "")
	var s client.Session
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		b.t.Fatalf("%d %s", status, text)
	}
	return s, status
}

func openSSO(t *testing.T, issuer, more string) (server string, app *appliance.App, logged *log) {
	t.Helper()
	dir := t.TempDir()
	config := filepath.Join(dir, "wardroom.yaml")
	write(t, config, fmt.Sprintf(`server: {listen: "127.0.0.1:0"}
store: {path: %s}
security:
  authentication: {apiKeys: {enabled: true}}
  rbac:
    enabled: true
    defaultRole: viewer
    bindings:
      - {subject: {type: group, name: devs}, role: developer}
      - {subject: {type: group, name: admins}, role: admin}
  sso:
    enabled: true
    provider: oidc
    oidc: {issuer: %q, clientId: wardroom, clientSecret: sekret, scopes: [openid, profile, email, groups]}
%s`, filepath.Join(dir, "store"), issuer, more))
	logged = &log{}
	app = open(t, appliance.Options{ConfigPath: config, Version: "1.2.3", Stderr: logged})
	return "http://" + app.Addr(), app, logged
}

// People sign in at a real provider, may do what their groups' roles say, and sign out here and there.
func TestSSO(t *testing.T) {
	for name, env := range map[string]string{"IDToken": "WARDROOM_OIDC_USERINFO=0", "Userinfo": "WARDROOM_OIDC_USERINFO=1"} {
		t.Run(name, func(t *testing.T) {
			issuer := openProvider(t, env)
			server, _, logged := openSSO(t, issuer, "")
			b := newBrowser(t)
			if _, status := b.session(server); status != http.StatusUnauthorized {
				t.Errorf("before: %d", status)
			}
			status, page := b.signIn(server, issuer, "ann", "/console/")
			if status != http.StatusOK || !strings.Contains(page, "0;url=/console/") || !strings.Contains(page, "Name of ann") {
				t.Fatalf("%d %s\n%s", status, page, logged)
			}
			s, status := b.session(server)
			if status != http.StatusOK || s.ID != "ann" || s.Name != "Name of ann" || s.Kind != "user" || s.CSRFToken == "" || strings.Join(s.Groups, " ") != "devs everyone" {
				t.Fatalf("%d %+v", status, s.Session)
			}
			if may := " " + strings.Join(s.Actions, " ") + " "; !strings.Contains(may, " executions.create ") || strings.Contains(may, " keys.create ") || strings.Contains(may, " patterns.delete ") {
				t.Errorf("a developer may do %v", s.Actions)
			}
			// A change needs the token of the session, and not that of another one.
			for token, want := range map[string]int{"": 403, "nonsense": 403, s.CSRFToken: 200} {
				if status, _, text := b.do(http.MethodPost, server+"/api/patterns/validate", "same-origin", `{}`,
					"Content-Type", "application/json", "X-CSRF-Token", token); status != want && (want != 200 || status == 403) {
					t.Errorf("with the token %q: %d %s", token, status, text)
				}
			}
			boss := newBrowser(t)
			if status, page := boss.signIn(server, issuer, "boss", ""); status != http.StatusOK || strings.Contains(page, "refresh") {
				t.Fatalf("%d %s", status, page)
			}
			if all, _ := boss.session(server); !strings.Contains(strings.Join(all.Actions, " "), "keys.create") {
				t.Errorf("an administrator may do %v", all.Actions)
			}
			if status, _, text := boss.do(http.MethodGet, server+"/api/auth/sessions?all=true", "same-origin", ""); status != 200 || !strings.Contains(text, s.SessionID) {
				t.Errorf("sessions: %d %s", status, text)
			}
			if status, _, _ := b.do(http.MethodGet, server+"/api/auth/sessions?all=true", "same-origin", ""); status != 403 {
				t.Errorf("all sessions for a developer: %d", status)
			}
			// The end, here and at the provider.
			status, to, page := b.do(http.MethodGet, server+"/auth/logout", "same-origin", "")
			if status != http.StatusSeeOther || !strings.HasPrefix(to, issuer+"/session/end?") || !strings.Contains(to, "id_token_hint=") {
				t.Errorf("logout: %d %s %s", status, to, page)
			}
			if status, _, page := b.do(http.MethodGet, to, "cross-site", ""); status != http.StatusOK || !strings.Contains(page, "<form") {
				t.Errorf("the provider's page: %d %s", status, page)
			}
			if _, status := b.session(server); status != http.StatusUnauthorized {
				t.Errorf("after the end: %d", status)
			}
			if text := logged.String(); strings.Contains(text, "sekret") || strings.Contains(text, "wrs_") || strings.Contains(text, "eyJ") {
				t.Error("the log has a secret")
			}
		})
	}
}

// What an attacker would try with the pages of a sign-in.
func TestSSOAttacks(t *testing.T) {
	issuer := openProvider(t)
	server, _, _ := openSSO(t, issuer, "")
	begin := func(b *browser) string {
		t.Helper()
		_, to, _ := b.do(http.MethodGet, server+"/auth/login", "none", "")
		return to
	}
	refused := func(name string, b *browser, address string) {
		t.Helper()
		if status, _, page := b.do(http.MethodGet, address, "cross-site", ""); status < 400 || status >= 500 {
			t.Errorf("%s: %d %s", name, status, page)
		}
		if _, status := b.session(server); status != http.StatusUnauthorized {
			t.Errorf("%s: signed in", name)
		}
	}
	// Login CSRF: the victim's browser gets the answer to the attacker's attempt.
	attacker, victim := newBrowser(t), newBrowser(t)
	answer := attacker.atProvider(issuer, begin(attacker), "eve")
	refused("login CSRF", victim, answer)
	begin(victim)
	refused("login CSRF beside an attempt of one's own", victim, answer)
	// Replay: an answer is good once, also with the cookie of its attempt put back.
	b := newBrowser(t)
	at := begin(b)
	parsed, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	kept := b.client.Jar.Cookies(parsed)
	answer = b.atProvider(issuer, at, "ann")
	if status, _, page := b.do(http.MethodGet, answer, "cross-site", ""); status != http.StatusOK {
		t.Fatalf("%d %s", status, page)
	}
	again := newBrowser(t)
	again.client.Jar.SetCookies(parsed, kept)
	refused("replayed state and code", again, answer)
	// Parts of two attempts.
	one, two := newBrowser(t), newBrowser(t)
	first, second := one.atProvider(issuer, begin(one), "ann"), two.atProvider(issuer, begin(two), "boss")
	mixed, _ := url.Parse(first)
	other, _ := url.Parse(second)
	query := mixed.Query()
	query.Set("code", other.Query().Get("code"))
	mixed.RawQuery = query.Encode()
	refused("the code of another attempt", one, mixed.String())
	// Mix-up: the answer says that it is of another issuer, or of none though the provider always says it.
	for name, change := range map[string]func(url.Values){
		"another issuer": func(q url.Values) { q.Set("iss", "https://evil.example") },
		"no issuer":      func(q url.Values) { q.Del("iss") },
		"no code":        func(q url.Values) { q.Del("code") },
		"another state":  func(q url.Values) { q.Set("state", q.Get("state")[:8]+strings.Repeat("x", 35)) },
		"an error":       func(q url.Values) { q.Del("code"); q.Set("error", "server_error") },
	} {
		b := newBrowser(t)
		address, _ := url.Parse(b.atProvider(issuer, begin(b), "ann"))
		query := address.Query()
		change(query)
		address.RawQuery = query.Encode()
		refused(name, b, address.String())
	}
	// A cookie that was changed.
	b = newBrowser(t)
	at = begin(b)
	for _, c := range b.client.Jar.Cookies(parsed) {
		c.Value, c.Path = c.Value[:len(c.Value)-2]+"AA", "/"
		b.client.Jar.SetCookies(parsed, []*http.Cookie{c})
	}
	refused("a changed attempt", b, b.atProvider(issuer, at, "ann"))
	// Fixation: a session that somebody put into the browser is not the one that is signed in.
	b = newBrowser(t)
	_, port, _ := strings.Cut(parsed.Host, ":")
	b.client.Jar.SetCookies(parsed, []*http.Cookie{{Name: "wardroom-session-" + port, Value: "wrs_chosen", Path: "/"}})
	if status, page := b.signIn(server, issuer, "ann", ""); status != http.StatusOK {
		t.Fatalf("%d %s", status, page)
	}
	for _, c := range b.client.Jar.Cookies(parsed) {
		if c.Value == "wrs_chosen" {
			t.Error("the chosen session stayed")
		}
	}
	// Signing out is for the site itself.
	if status, _, _ := b.do(http.MethodGet, server+"/auth/logout", "cross-site", ""); status != http.StatusForbidden {
		t.Errorf("logout from another site: %d", status)
	}
	if _, status := b.session(server); status != http.StatusOK {
		t.Errorf("after it: %d", status)
	}
	// Open redirect.
	for _, to := range []string{
		"https://evil.example/", "//evil.example", `/\evil.example`, `\\evil.example`, "/\t/evil.example", "javascript:alert(1)", "/auth/logout", "evil.example", "/a\r\nX: y",
		"///evil.example", "http:/evil.example", "",
	} {
		b := newBrowser(t)
		if status, page := b.signIn(server, issuer, "ann", to); status != http.StatusOK || strings.Contains(page, "refresh") || strings.Contains(page, "evil") {
			t.Errorf("%q: %d %s", to, status, page)
		}
	}
}

// Who is not let in, and what becomes of people while the provider is away.
func TestSSORefuses(t *testing.T) {
	issuer := openProvider(t)
	server, _, _ := openSSO(t, issuer, "    userClaim: email\n")
	if status, page := newBrowser(t).signIn(server, issuer, "eve", ""); status != http.StatusForbidden || !strings.Contains(page, "verified") {
		t.Errorf("an address that is not verified: %d %s", status, page)
	}
	b := newBrowser(t)
	if status, page := b.signIn(server, issuer, "ann", ""); status != http.StatusOK {
		t.Fatalf("%d %s", status, page)
	}
	if s, _ := b.session(server); s.ID != "ann@example.com" {
		t.Errorf("%+v", s.Session)
	}
	// The server starts without its provider, says so, and takes keys.
	server, app, logged := openSSO(t, "http://127.0.0.1:1", "")
	if status, _, page := newBrowser(t).do(http.MethodGet, server+"/auth/login", "none", ""); status != http.StatusServiceUnavailable || !strings.Contains(page, "identity provider") {
		t.Errorf("without the provider: %d %s", status, page)
	}
	if !strings.Contains(logged.String(), "the identity provider cannot be asked") {
		t.Error("the log does not say so")
	}
	_ = app
}

// A session that ends cuts the streams that it opened within five seconds.
func TestSSOStreamsEnd(t *testing.T) {
	issuer := openProvider(t)
	server, _, _ := openSSO(t, issuer, "")
	b, boss := newBrowser(t), newBrowser(t)
	if status, page := b.signIn(server, issuer, "ann", ""); status != http.StatusOK {
		t.Fatalf("%d %s", status, page)
	}
	if status, page := boss.signIn(server, issuer, "boss", ""); status != http.StatusOK {
		t.Fatalf("%d %s", status, page)
	}
	s, _ := b.session(server)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server+"/api/events", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := b.client.Do(r)
	if err != nil || stream.StatusCode != http.StatusOK {
		t.Fatalf("%v, %v", stream, err)
	}
	defer func() { _ = stream.Body.Close() }()
	admin, _ := boss.session(server)
	began := time.Now()
	if status, _, text := boss.do(http.MethodDelete, server+"/api/auth/sessions/"+s.SessionID, "same-origin", "", "X-CSRF-Token", admin.CSRFToken); status != http.StatusNoContent {
		t.Fatalf("%d %s", status, text)
	}
	_, _ = io.Copy(io.Discard, stream.Body)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the stream went on for %s", took)
	}
	if _, status := b.session(server); status != http.StatusUnauthorized {
		t.Errorf("after it: %d", status)
	}
}

// A browser signs in by an API key, as the console does, and out again.
func TestSessionByKey(t *testing.T) {
	s := openSecured(t, "")
	server := "http://" + s.Addr()
	b := newBrowser(t)
	status, _, text := b.do(http.MethodPost, server+"/api/session", "same-origin", "", "Authorization", "Bearer "+s.adminKey, "Origin", server)
	var made client.Session
	if err := json.Unmarshal([]byte(text), &made); err != nil || status != http.StatusCreated || made.CSRFToken == "" || made.SessionID == "" {
		t.Fatalf("%d %s", status, text)
	}
	if got, status := b.session(server); status != http.StatusOK || got.ID != made.ID || got.KeyID == "" || got.CSRFToken != made.CSRFToken {
		t.Errorf("%d %+v", status, got.Session)
	}
	// A page of another site can neither use nor replace it.
	if status, _, _ := b.do(http.MethodDelete, server+"/api/session", "cross-site", "", "Origin", "http://evil.example"); status != http.StatusForbidden {
		t.Errorf("from another site: %d", status)
	}
	if status, _, text := b.do(http.MethodDelete, server+"/api/session", "same-origin", "", "X-CSRF-Token", made.CSRFToken); status != http.StatusOK || !strings.Contains(text, `"signedOut":true`) {
		t.Errorf("%d %s", status, text)
	}
	if _, status := b.session(server); status != http.StatusUnauthorized {
		t.Errorf("after the end: %d", status)
	}
}

// The command line is signed in by a browser on its machine, and by one elsewhere; contexts keep what they are reached with.
func TestLogin(t *testing.T) {
	issuer := openProvider(t)
	server, _, _ := openSSO(t, issuer, "")
	home := t.TempDir()
	b := newBrowser(t)
	run := func(open func(address string) error, args ...string) (code int, out, errs string) {
		t.Helper()
		var stdout, stderr bytes.Buffer
		code = cmd.Execute(t.Context(), cmd.Deps{
			Stdout: &stdout, Stderr: &stderr, OpenBrowser: open,
			Getenv: func(key string) string { return map[string]string{"XDG_CONFIG_HOME": home}[key] },
			Sleep:  func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
		}, args)
		return code, stdout.String(), stderr.String()
	}
	// approve does what a person does: sign in, look at the page, press a button.
	approve := func(address, decision string) {
		b.t.Helper()
		status, to, page := b.do(http.MethodGet, address, "none", "")
		if status == http.StatusSeeOther { // not signed in yet
			_, to, _ = b.do(http.MethodGet, to, "none", "")
			_, _, page = b.do(http.MethodGet, b.atProvider(issuer, to, "ann"), "cross-site", "")
			if !strings.Contains(page, "0;url=/auth/cli?again=true&amp;code=") {
				t.Errorf("after the sign-in: %s", page)
			}
			_, _, page = b.do(http.MethodGet, address, "same-origin", "")
		}
		form := url.Values{"decision": {decision}}
		for _, field := range regexp.MustCompile(`name="(\w+)" value="([^"]+)"`).FindAllStringSubmatch(page, -1) {
			if field[1] != "decision" {
				form.Set(field[1], html.UnescapeString(field[2]))
			}
		}
		status, to, page = b.do(http.MethodPost, server+"/auth/cli/decide", "same-origin", form.Encode(), "Origin", server)
		if strings.HasPrefix(to, "http://127.0.0.1:") {
			status, _, page = b.do(http.MethodGet, to, "cross-site", "")
		}
		if status != http.StatusOK {
			t.Errorf("%d %s", status, page)
		}
	}
	opened := make(chan struct{}, 1)
	code, out, errs := run(func(address string) error {
		go func() { approve(address, "approve"); opened <- struct{}{} }()
		return nil
	}, "login", "--server", server)
	if code != 0 || !strings.Contains(out, "as Name of ann") {
		t.Fatalf("%d %s %s", code, out, errs)
	}
	<-opened
	name := strings.ReplaceAll(strings.TrimPrefix(server, "http://"), ":", "-")
	path := filepath.Join(home, "wardroom", "logins", name+".json")
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	if code, out, errs := run(nil, "auth", "whoami"); code != 0 || !strings.Contains(out, "ann") {
		t.Errorf("%d %s %s", code, out, errs)
	}
	if code, out, errs := run(nil, "auth", "sessions", "list"); code != 0 || !strings.Contains(out, "browser") || !strings.Contains(out, "this one") {
		t.Errorf("%d %s %s", code, out, errs)
	}
	if code, out, _ := run(nil, "context", "list"); code != 0 || !strings.Contains(out, "login of ann") {
		t.Errorf("%d %s", code, out)
	}
	// The credential is sent to no other server.
	if code, _, errs := run(nil, "auth", "whoami", "--server", server); code != 5 || !strings.Contains(errs, "wardroom login") {
		t.Errorf("another address: %d %s", code, errs)
	}
	// By a browser elsewhere, and refused there.
	code, _, errs = run(func(string) error { t.Error("a browser was opened"); return nil }, "login", "--device", "--timeout", "5s", "--context", "none")
	if code != 2 {
		t.Errorf("a context that is not there: %d %s", code, errs)
	}
	for decision, want := range map[string]int{"approve": 0, "refuse": 5} {
		device(t, want, decision, approve, func(stderr io.Writer) int {
			return cmd.Execute(t.Context(), cmd.Deps{
				Stdout: io.Discard, Stderr: stderr,
				Getenv: func(key string) string { return map[string]string{"XDG_CONFIG_HOME": home}[key] },
				Sleep: func(ctx context.Context, _ time.Duration) error {
					select { // once a second, so that the server does not find it too often
					case <-time.After(1100 * time.Millisecond):
					case <-ctx.Done():
					}
					return ctx.Err()
				},
			}, []string{"login", "--device"})
		})
	}
	if code, out, errs := run(nil, "logout"); code != 0 || !strings.Contains(out, "signed out") {
		t.Errorf("%d %s %s", code, out, errs)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the credential is still there: %v", err)
	}
	if code, _, _ := run(nil, "auth", "whoami"); code != 5 {
		t.Errorf("after the end: %d", code)
	}
}

// device signs in by a browser elsewhere: it reads the address that the command line prints.
func device(t *testing.T, want int, decision string, approve func(address, decision string), login func(stderr io.Writer) int) {
	t.Helper()
	text := new(log)
	done := make(chan int, 1)
	go func() { done <- login(text) }()
	address := regexp.MustCompile(`http://\S+`)
	coretest.WaitFor(t, "the address", func() bool { return address.MatchString(text.String()) && strings.HasSuffix(text.String(), "\n\n") })
	approve(address.FindString(text.String()), decision)
	if code := <-done; code != want {
		t.Errorf("%s: %d, want %d: %s", decision, code, want, text)
	}
}

// The sign-in in a real browser: it sends the cookies that it should, sends them for no other site, and its policy lets the
// approval of a command line through.
func TestSSOInBrowser(t *testing.T) {
	issuer := openProvider(t)
	folder := oidcFolder(t, "playwright-core")
	chromium := os.Getenv("CHROMIUM")
	if chromium == "" {
		chromium = "/usr/bin/chromium"
	}
	if _, err := os.Stat(chromium); err != nil {
		lacking(t, "there is no chromium; install it, or name it in CHROMIUM")
	}
	server, _, _ := openSSO(t, issuer, "")
	home := t.TempDir()
	var stdout, stderr, saw, failed bytes.Buffer
	done := make(chan error, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	code := cmd.Execute(ctx, cmd.Deps{
		Stdout: &stdout, Stderr: &stderr, Getenv: func(key string) string { return map[string]string{"XDG_CONFIG_HOME": home}[key] },
		OpenBrowser: func(address string) error {
			node := exec.CommandContext(ctx, "node", filepath.Join("..", "scripts", "oidc", "browser.mjs"), folder, server, address)
			node.Env = append(os.Environ(), "CHROMIUM="+chromium)
			node.Stdout, node.Stderr = &saw, &failed
			go func() {
				err := node.Run()
				if err != nil {
					cancel() // nobody brings the code
				}
				done <- err
			}()
			return nil
		},
	}, []string{"login", "--server", server})
	if err := <-done; err != nil || code != 0 {
		t.Fatalf("%v, exit %d: %s%s\n%s", err, code, stdout.String(), stderr.String(), failed.String())
	}
	var seen struct {
		Question, Answer string
		Refused          []string
		Cookie           struct {
			Name, SameSite   string
			HTTPOnly, Secure bool
		}
		ForeignForm int
		Foreign     map[string]any
		Session     client.Session
		Own         struct {
			Script               string
			Without, With, After int
		}
	}
	if err := json.Unmarshal(saw.Bytes(), &seen); err != nil {
		t.Fatalf("%v: %s", err, saw.String())
	}
	shown := regexp.MustCompile(`shows the code (\S+):`).FindStringSubmatch(stderr.String())
	if shown == nil || !strings.Contains(seen.Question, shown[1]) || !strings.Contains(seen.Question, "Name of ann") {
		t.Errorf("the page asks %q, the command line shows %q", seen.Question, stderr.String())
	}
	if !strings.Contains(seen.Answer, "goes on") || len(seen.Refused) > 0 {
		t.Errorf("the browser ends at %q, and refused %q", seen.Answer, seen.Refused)
	}
	if c := seen.Cookie; c.Name != "wardroom-session-PORT" || c.SameSite != "Strict" || !c.HTTPOnly || c.Secure {
		t.Errorf("cookie: %+v", c)
	}
	// The form of another site comes without the cookie: it is sent to sign in.
	if seen.ForeignForm != http.StatusForbidden && seen.ForeignForm != http.StatusSeeOther {
		t.Errorf("the form of another site: %d", seen.ForeignForm)
	}
	for name, got := range seen.Foreign {
		if got != "refused" {
			t.Errorf("another site, %s: %v", name, got)
		}
	}
	if seen.Session.ID != "ann" || seen.Own.Script != "" || seen.Own.Without != 403 || seen.Own.With != 200 || seen.Own.After != 401 {
		t.Errorf("%+v %+v", seen.Session.Session, seen.Own)
	}
}
