package browser_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"
	browserpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/wardroom/wardroom/scripts/testbed"
	"github.com/wardroom/wardroom/sdk/client"
)

// secured starts a server that wants to know who asks, and returns the key of its administrator.
func secured(t *testing.T, config string) (s *testbed.Server, key string) {
	t.Helper()
	s, err := testbed.NewServer(shared.binary, t.TempDir(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(s.Dir, "store", "admin.key"))
	if err != nil {
		t.Fatal(err)
	}
	return s, strings.TrimSpace(string(text))
}

// withEcho stores the pattern echo in a server, and returns the client of its administrator.
func withEcho(t *testing.T, s *testbed.Server, key string) *client.Client {
	t.Helper()
	admin, err := client.New(s.URL, client.Options{Token: key})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(admin.Close)
	const definition = "name: echo\nversion: 1.0.0\nagents: {capabilities: [echo], min: 1}\naggregation: {strategy: first}\n"
	if _, err := admin.CreatePattern(t.Context(), client.PatternInput{Definition: definition}); err != nil {
		t.Fatal(err)
	}
	return admin
}

// openProvider starts a real OpenID provider on loopback and returns its issuer; "" where its library is not installed.
func openProvider(t *testing.T) string {
	t.Helper()
	folder := os.Getenv("WARDROOM_OIDC")
	if folder == "" {
		folder = filepath.Join(root, ".cache", "oidc")
	}
	if _, err := os.Stat(filepath.Join(folder, "node_modules", "oidc-provider")); err != nil {
		if os.Getenv("WARDROOM_REQUIRE_REAL") == "1" {
			t.Fatal("oidc-provider is not there; `make oidc` installs it, or name its folder in WARDROOM_OIDC")
		}
		t.Log("oidc-provider is not there (`make oidc` installs it): signing in at a provider is left out")
		return ""
	}
	node := exec.Command("node", filepath.Join(root, "scripts", "oidc", "provider.mjs"), folder)
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
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// People sign in by a key, or at the identity provider; what they may not do is not offered; the audit trail has it.
func TestSignIn(t *testing.T) {
	issuer := openProvider(t)
	config := "server: {listen: $LISTEN}\nstore: {path: $DIR/store}\nsecurity:\n  authentication: {apiKeys: {enabled: true}}\n  audit: {enabled: true}\n"
	if issuer != "" {
		config += fmt.Sprintf("  rbac: {enabled: true, defaultRole: viewer}\n  sso: {enabled: true, oidc: {issuer: %q, clientId: wardroom, clientSecret: sekret}}\n", issuer)
	}
	s, key := secured(t, config)
	withEcho(t, s, key)

	p := openIn(t, "about:blank")
	defer func() { _ = chromedp.Run(p.ctx, network.ClearBrowserCookies()) }() // ports share them
	p.away(true)                                                              // that nobody is known yet is answered with 401, which browsers report
	p.do(chromedp.Navigate(s.URL + "/patterns"))
	p.until("the sign-in", `document.querySelector(".sign-in input[type=password]")`)
	if p.holds(`document.querySelector("nav, .tile, table")`) {
		t.Error("something is shown before anybody has signed in")
	}
	p.checkAxe(t, "sign-in")
	p.click(css(".sign-in input[type=password]"))
	p.do(chromedp.KeyEvent("wrm_wrong"), chromedp.KeyEvent(kb.Enter))
	p.until("a refusal", `document.querySelector(".sign-in .notice.bad")`)
	p.do(chromedp.Evaluate(`document.querySelector(".sign-in input[type=password]").select()`, nil), chromedp.KeyEvent(key), chromedp.KeyEvent(kb.Enter))
	p.until("where we wanted to go", `location.pathname === "/patterns" && document.querySelector("tr[data-id=echo] button")`)
	p.do(chromedp.Navigate(s.URL + "/audit"))
	p.until("the trail after a reload: the session has taken the key's place", `document.querySelector("tr[data-index]") && document.querySelector("main").innerText.includes("patterns.create")`)
	p.click(`[...document.querySelectorAll("tr[data-index]")].find((r) => r.innerText.includes("patterns.create"))`)
	p.until("the record", `document.querySelector(".detail")?.innerText.startsWith("patterns.create")`)
	p.checkAxe(t, "audit")
	p.shoot("audit")
	p.signOut()

	if issuer == "" {
		return
	}
	p.click(button("Sign in with your organization"))
	p.atProvider("ann")
	p.until("who we are, where we wanted to go", `location.pathname === "/audit" || document.querySelector(".me")?.innerText.includes("ann")`)
	p.until("our name", `document.querySelector(".me")?.innerText.includes("ann")`)
	if p.holds(`document.querySelector('nav a[href="/audit"]')`) {
		t.Error("a viewer is offered the audit trail")
	}
	p.do(chromedp.Navigate(s.URL + "/patterns"))
	p.until("the patterns", `document.querySelector("tr[data-id=echo]")`)
	if p.holds(`document.querySelector("tr[data-id=echo] button")`) {
		t.Error("a viewer is offered to run a pattern")
	}
	p.shoot("viewer")
}

// atProvider signs in at the provider's pages, as whoever has the name.
func (p *page) atProvider(name string) {
	p.t.Helper()
	p.until("the provider", `document.querySelector("input[name=login]")`)
	p.click(css("input[name=login]"))
	p.do(chromedp.KeyEvent(name))
	p.click(css("input[name=password]"))
	p.do(chromedp.KeyEvent("any"), chromedp.KeyEvent(kb.Enter))
	p.until("the provider's question", `document.querySelector("form button[type=submit], form input[type=submit]") && !document.querySelector("input[name=login]")`)
	p.click(css("form button[type=submit], form input[type=submit]"))
}

// signOut leaves by the page of who one is.
func (p *page) signOut() {
	p.t.Helper()
	p.click(css("button.me"))
	p.until("who we are", `document.querySelector("dialog")?.innerText.includes("In records")`)
	p.click(button("Sign out"))
	p.until("the sign-in", `document.querySelector(".sign-in")`)
}

// Who signs in after somebody else sees nothing of what that one had read, and signing out takes it away in all tabs.
func TestNextPersonSeesOwn(t *testing.T) {
	s, key := secured(t, "server: {listen: $LISTEN}\nstore: {path: $DIR/store}\nsecurity:\n  authentication: {apiKeys: {enabled: true}}\n")
	admin := withEcho(t, s, key)
	other, err := admin.CreateKey(t.Context(), client.APIKeySpec{Name: "other", Scopes: []string{"executions:read"}}, "")
	if err != nil {
		t.Fatal(err)
	}
	writer, err := admin.CreateKey(t.Context(), client.APIKeySpec{Name: "writer", Owner: "writer", Scopes: []string{"patterns:read", "patterns:write"}}, "")
	if err != nil {
		t.Fatal(err)
	}
	p := openIn(t, "about:blank")
	defer func() { _ = chromedp.Run(p.ctx, network.ClearBrowserCookies()) }() // ports share them
	p.away(true)                                                              // refusals are errors to browsers
	const field = ".sign-in input[type=password], dialog input[type=password]"
	signIn := func(key string) {
		p.click(css(field))
		p.do(chromedp.KeyEvent(key), chromedp.KeyEvent(kb.Enter))
		p.until("the page", `document.querySelector("button.me") && !document.querySelector("input[type=password]")`)
	}
	const row = `document.querySelector("tr[data-id=echo]")`
	refused := func(after string) {
		p.until("the refusal "+after, `document.querySelector("main .notice.bad")?.innerText.includes("FORBIDDEN")`)
		if p.holds(row) {
			t.Error(after + " the next person sees what the one before had read")
		}
	}
	p.do(chromedp.Navigate(s.URL + "/patterns"))
	signIn(key)
	p.until("the pattern", row)
	second := openIn(t, s.URL+"/patterns")
	second.away(true)
	second.until("the pattern in another tab", row)
	p.do(browserpage.BringToFront())
	// An answer that is under way is there when the page has just gone.
	p.do(chromedp.Evaluate(`
		const fetched = window.fetch;
		window.fetch = async (to, o) => {
			const answer = await fetched(to, o);
			if (window.held || !to.includes("/api/patterns?")) return answer;
			const text = await answer.text();
			window.held = true;
			answer.text = () => new Promise((there) => new MutationObserver((_, m) => {
				if (!document.querySelector(".sign-in")) return;
				m.disconnect();
				there(text);
			}).observe(document, {subtree: true, childList: true}));
			return answer;
		}; 0`, nil))
	if _, err := admin.CreatePattern(t.Context(), client.PatternInput{Definition: "name: other\nversion: 1.0.0\nagents: {capabilities: [x], min: 1}\naggregation: {strategy: first}\n"}); err != nil {
		t.Fatal(err)
	}
	p.until("an answer under way", `window.held`)
	p.signOut()
	second.until("the sign-in in the other tab, and nothing else", `document.querySelector(".sign-in") && !`+row)
	signIn(other.Key)
	refused("after a sign-out")

	// What was begun is there for whoever began it alone.
	const text = `document.querySelector(".paper textarea")?.value`
	const written = text + `?.includes("begun-by-the-first")`
	p.signOut()
	signIn(key)
	p.do(chromedp.Navigate(s.URL + "/patterns?tab=new"))
	p.until("the editor", text+` !== undefined`)
	p.click(css(".paper textarea"))
	p.do(chromedp.KeyEvent("# begun-by-the-first"))
	p.until("that it is kept", written+` && document.querySelector("main").innerText.includes("kept in this browser")`)
	p.signOut()
	signIn(writer.Key)
	p.until("the editor of somebody else", text+` !== undefined`)
	if p.holds(written) {
		t.Error("the next person sees what the one before has begun to write")
	}
	p.signOut()
	signIn(key)
	p.until("it again", written)

	// The session ends under the page, and somebody else signs in over it.
	p.do(chromedp.Navigate(s.URL + "/patterns"))
	p.until("the pattern", row)
	p.withoutSession(admin)
	signIn(other.Key)
	refused("over an ended session")
}

// Who signs out at the identity provider as well leaves nothing on the page that the way back leads to.
func TestSignedOutPageShowsNothing(t *testing.T) {
	s, key := secured(t, "server: {listen: $LISTEN}\nstore: {path: $DIR/store}\nsecurity:\n  authentication: {apiKeys: {enabled: true}}\n")
	withEcho(t, s, key)
	// The provider's page is a place in this one: so the page is not left.
	p := beforeIn(t, `{ const asked = window.fetch; window.fetch = async (address, o) => { const answer = await asked(address, o); return o?.method === "DELETE" ? new Response('{"signedOut": true, "logoutUrl": "#provider"}') : answer; }; }`)
	defer func() { _ = chromedp.Run(p.ctx, network.ClearBrowserCookies()) }() // ports share them
	p.away(true)                                                              // refusals are errors to browsers
	p.do(chromedp.Navigate(s.URL + "/patterns"))
	p.click(css(".sign-in input[type=password]"))
	p.do(chromedp.KeyEvent(key), chromedp.KeyEvent(kb.Enter))
	p.until("the pattern", `document.querySelector("tr[data-id=echo]")`)
	p.click(css("button.me"))
	p.click(button("Sign out"))
	p.until("the way to the provider", `location.hash === "#provider"`)
	p.until("nothing that was read", `document.querySelector(".sign-in") && !document.querySelector("tr[data-id=echo]")`)
}

// A sign-in in one tab is one in all of them: they ask for none, and may change what they could before.
func TestSignInOfAllTabs(t *testing.T) {
	s, key := secured(t, "server: {listen: $LISTEN}\nstore: {path: $DIR/store}\nsecurity:\n  authentication: {apiKeys: {enabled: true}}\n")
	admin := withEcho(t, s, key)
	p := openIn(t, "about:blank")
	defer func() { _ = chromedp.Run(p.ctx, network.ClearBrowserCookies()) }() // ports share them
	p.away(true)                                                              // refusals are errors to browsers
	p.do(chromedp.Navigate(s.URL + "/patterns"))
	signIn := func() {
		p.click(css(".sign-in input[type=password], dialog input[type=password]"))
		p.do(chromedp.KeyEvent(key), chromedp.KeyEvent(kb.Enter))
		p.until("the page", `document.querySelector("tr[data-id=echo]") && !document.querySelector("input[type=password]")`)
	}
	signIn()
	second := openIn(t, s.URL+"/patterns")
	second.away(true)
	second.until("the page in another tab", `document.querySelector("tr[data-id=echo]")`)
	sessions, err := admin.ListSessions(t.Context(), client.SessionFilter{All: true}, client.Page{})
	if err != nil || len(sessions.Sessions) != 1 {
		t.Fatalf("%+v, %v", sessions, err)
	}
	if err := admin.RevokeSession(t.Context(), sessions.Sessions[0].ID); err != nil {
		t.Fatal(err)
	}
	for _, tab := range []*page{p, second} {
		tab.until("the question who it is", `document.querySelector("dialog input[type=password]")`)
	}
	p.do(browserpage.BringToFront())
	signIn()
	second.until("no question in the other tab", `!document.querySelector("dialog")`)
	second.click(css("tr[data-id=echo] button"))
	second.click(css("dialog footer .main"))
	second.until("the execution", `location.pathname.startsWith("/executions/")`)
}

// A key that a session took the place of is kept nowhere, however late the worker of all tabs speaks of it.
func TestKeyGoesWithSignIn(t *testing.T) {
	s, key := secured(t, "server: {listen: $LISTEN}\nstore: {path: $DIR/store}\nsecurity:\n  authentication: {apiKeys: {enabled: true}}\n")
	withEcho(t, s, key)
	p := beforeIn(t, `{ const Real = SharedWorker; window.late = []; window.lives = 0; window.SharedWorker = class { constructor(...of) { const port = new Real(...of).port;
			this.port = { postMessage: (m) => port.postMessage(m), set onmessage(f) { port.onmessage = (e) => { if (e.data.state === "live") lives++; if (e.data.key) late.push(() => f(e)); else f(e); }; } }; } };
		const asked = window.fetch; window.byKey = []; window.fetch = (address, o) => { if (o?.headers?.Authorization) byKey.push(o.method + " " + address); return asked(address, o); }; }`)
	defer func() { _ = chromedp.Run(p.ctx, network.ClearBrowserCookies()) }() // ports share them
	p.away(true)                                                              // refusals are errors to browsers
	p.do(chromedp.Navigate(s.URL + "/patterns"))
	for i := range 2 { // the worker is there from the first time on
		p.click(css(".sign-in input[type=password]"))
		p.do(chromedp.KeyEvent(key), chromedp.KeyEvent(kb.Enter))
		p.until("the pattern, and the stream", fmt.Sprintf(`document.querySelector("tr[data-id=echo]") && lives > %d`, i))
		p.do(chromedp.Evaluate(`for (const f of late) f(); 0`, nil))
		p.signOut()
	}
	var asked []string
	p.do(chromedp.Evaluate(`byKey`, &asked))
	if want := []string{"GET /api/session", "POST /api/session", "GET /api/session", "POST /api/session"}; !slices.Equal(asked, want) {
		t.Errorf("asked by the key: %q, want %q", asked, want)
	}
}

// A page whose server is busy at first reads its session again, and begins nothing before: a draft needs an owner.
func TestLateSession(t *testing.T) {
	s, key := secured(t, "server: {listen: $LISTEN}\nstore: {path: $DIR/store}\nsecurity:\n  authentication: {apiKeys: {enabled: true}}\n")
	p := beforeIn(t, `{ const asked = window.fetch; window.fetch = (to, o) => (/\/api\/session$/.test(to) && sessionStorage.getItem("busy") ?
		Promise.resolve(new Response('{"error": {"code": "RATE_LIMITED", "message": "busy"}}', {status: 429, headers: {"X-Request-Id": "req_busy"}})) : asked(to, o)); }`)
	defer func() {
		_ = chromedp.Run(p.ctx, chromedp.Evaluate(`localStorage.clear()`, nil), network.ClearBrowserCookies()) // ports share them
	}()
	p.away(true) // refusals are errors to browsers
	p.do(chromedp.Navigate(s.URL + "/patterns?tab=new"))
	p.signInBy(key)
	const text = `document.querySelector(".paper textarea")?.value`
	p.until("the editor", text)
	p.click(css(".paper textarea"))
	p.do(chromedp.KeyEvent("# begun"))
	p.until("that it is kept", `Object.values(localStorage).some((v) => v.includes("# begun"))`)
	p.do(chromedp.Evaluate(`sessionStorage.setItem("busy", "yes")`, nil), chromedp.Reload())
	const why = `document.querySelector(".notice.bad")?.innerText`
	p.until("something", text+` || `+why)
	if p.holds(`document.querySelector("nav, textarea")`) {
		t.Error("a screen begins before it is known for whom")
	}
	if !p.holds(why + `?.includes("req_busy")`) {
		t.Errorf("nothing is said of why nothing is shown\n%s", p.text())
	}
	p.checkAxe(t, "a session that is not read yet")
	p.do(chromedp.Evaluate(`sessionStorage.removeItem("busy")`, nil))
	p.until("the editor, by itself", text)
	if !p.holds(text + `.includes("# begun")`) {
		t.Error("the draft of whoever is here is not shown to them")
	}
}
