package browser_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/wardroom/wardroom/scripts/testbed"
	"github.com/wardroom/wardroom/sdk/client"
)

// under is where a proxy puts the server.
const under = "/lab/war room"

// proxied is a proxy that has other things beside the server.
type proxied struct {
	*httptest.Server
	strips bool // the path of the server, before it passes a request on

	mu      sync.Mutex
	to      *httputil.ReverseProxy
	strayed []string // requests of the console beside the path
}

func newProxied(t *testing.T, strips bool) *proxied {
	t.Helper()
	p := &proxied{strips: strips}
	p.Server = httptest.NewServer(p)
	t.Cleanup(func() {
		p.CloseClientConnections()
		p.Close()
	})
	return p
}

// address is where a browser reaches a path of the server.
func (p *proxied) address(path string) string {
	return p.URL + strings.ReplaceAll(under, " ", "%20") + path
}

func (p *proxied) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rest, ok := strings.CutPrefix(r.URL.Path, under)
	if !ok {
		p.mu.Lock()
		p.strayed = append(p.strayed, r.Method+" "+r.URL.Path+" of "+r.Referer())
		p.mu.Unlock()
		http.NotFound(w, r)
		return
	}
	if p.strips {
		raw := strings.TrimPrefix(r.URL.EscapedPath(), strings.ReplaceAll(under, " ", "%20"))
		r.URL.Path, r.URL.RawPath = rest, raw
	}
	p.mu.Lock()
	to := p.to
	p.mu.Unlock()
	to.ServeHTTP(w, r)
}

// leads has the proxy pass requests on to a server, with the host that the browser named.
func (p *proxied) leads(t *testing.T, to string) {
	t.Helper()
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.to = &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = u.Scheme, u.Host, r.In.Host
		r.SetXForwarded()
	}}
}

// The console lies under a path behind a proxy, which takes that path away or leaves it: screens, links, the stream, terminals, the session
// and the documentation, and nothing is asked for beside the path. A key that is withdrawn is of no use any more, at once.
func TestUnderPath(t *testing.T) {
	for name, strips := range map[string]bool{"taken away": true, "left": false} {
		t.Run(name, func(t *testing.T) {
			proxy := newProxied(t, strips)
			runtimes, err := testbed.LocalRuntime(shared.binary, "")
			if err != nil {
				t.Fatal(err)
			}
			config := fmt.Sprintf("server: {listen: $LISTEN, baseUrl: %q}\nstore: {path: $DIR/store}\nsecurity:\n  authentication: {apiKeys: {enabled: true}}\n", proxy.address(""))
			issuer := openProvider(t)
			if issuer != "" {
				config += fmt.Sprintf("  rbac: {enabled: true, defaultRole: viewer}\n  sso: {enabled: true, oidc: {issuer: %q, clientId: wardroom, clientSecret: sekret}}\n", issuer)
			}
			config += "agentTypes: {shell: {command: sh, env: {PS1: \"ready> \"}, ready: {pattern: \"^ready> $\"}}}\n" + runtimes
			s, key := secured(t, config)
			proxy.leads(t, s.URL)
			admin := withEcho(t, s, key)
			guest, err := admin.CreateKey(t.Context(), client.APIKeySpec{Name: "guest", Scopes: []string{"admin"}}, "")
			if err != nil {
				t.Fatal(err)
			}
			p := openIn(t, "about:blank")
			defer func() { _ = chromedp.Run(p.ctx, network.ClearBrowserCookies()) }() // ports share them
			below := func(path string) string { return fmt.Sprintf(`decodeURI(location.pathname) === %q`, under+path) }
			p.away(true) // that nobody is known yet is answered with 401, which browsers report
			p.do(chromedp.Navigate(proxy.address("/patterns?q=ec")))
			p.click(css(".sign-in input[type=password]"))
			p.do(chromedp.KeyEvent(guest.Key), chromedp.KeyEvent(kb.Enter))
			p.until("the pattern, and what it was looked for by", below("/patterns")+` && document.querySelector("tr[data-id=echo]")`)
			p.away(false)
			for _, screen := range []string{"Executions", "Batches", "Threads", "Agents", "Memory", "Webhooks", "System", "Patterns", "Overview", "Inbox"} {
				path := strings.ToLower("/" + screen)
				if screen == "Overview" {
					path = "/"
				}
				p.click(fmt.Sprintf(`[...document.querySelectorAll("nav.side a")].find((a) => a.innerText.trim().startsWith(%q))`, screen))
				p.until("the screen "+screen, below(path)+fmt.Sprintf(` && document.querySelector("h1")?.innerText.startsWith(%q)`, screen))
			}
			p.do(chromedp.NavigateBack())
			p.until("the screen before", below("/")+` && document.querySelectorAll(".tile").length >= 6`)

			// What happens shows by itself: the stream is there.
			e, err := admin.ExecuteAsync(t.Context(), client.ExecuteRequest{Pattern: "echo"})
			if err != nil {
				t.Fatal(err)
			}
			p.until("that it waits", `[...document.querySelectorAll(".tile")].some((x) => /\b1\b/.test(x.innerText))`)
			p.do(chromedp.Navigate(proxy.address("/" + e.ExecutionID)))
			p.until("the execution, by its id", below("/executions/"+e.ExecutionID)+` && document.querySelector(".head .state")`)
			if _, err := admin.CancelExecution(t.Context(), e.ExecutionID, "over"); err != nil {
				t.Fatal(err)
			}
			p.until("that it was cancelled", `document.querySelector(".head .state")?.innerText.includes("cancelled")`)
			p.do(chromedp.Reload())
			p.until("the execution after a reload", below("/executions/"+e.ExecutionID)+` && document.querySelector(".head .state")`)

			a, err := admin.SpawnManagedAgent(t.Context(), client.ManagedAgentSpec{Type: "shell", Name: "below"})
			if err != nil {
				t.Fatal(err)
			}
			p.do(chromedp.Navigate(proxy.address("/agents/" + a.ID)))
			p.types("echo by-the-pr''oxy", "by-the-proxy")
			var links []string
			p.do(chromedp.Evaluate(`[...document.querySelectorAll("a[href]")].map((a) => a.href)`, &links))
			for _, link := range links {
				if strings.HasPrefix(link, proxy.URL) && !strings.HasPrefix(link, proxy.address("/")) {
					t.Errorf("a link leads beside the path: %s", link)
				}
			}
			p.do(chromedp.Navigate(proxy.address("/docs")))
			p.until("the documentation", `document.querySelector("h1")`)
			p.click(`[...document.querySelectorAll("nav a")].find((a) => /console/i.test(a.innerText))`)
			p.until("a page of it", below("/docs/console"))

			p.do(chromedp.Navigate(proxy.address("/executions")))
			p.until("the list", fmt.Sprintf(`document.querySelector("tr[data-id='%s']")`, e.ExecutionID))
			p.away(true)
			if err := admin.RevokeKey(t.Context(), guest.ID); err != nil {
				t.Fatal(err)
			}
			p.until("that one has to sign in", `document.querySelector("dialog input[type=password], .sign-in input[type=password]")`)
			if issuer != "" {
				p.signInUnder(t, proxy, admin)
			}
			proxy.mu.Lock()
			defer proxy.mu.Unlock()
			if len(proxy.strayed) > 0 {
				t.Errorf("asked for beside the path: %s", strings.Join(proxy.strayed, ", "))
			}
		})
	}
}

// signInUnder signs in at the provider by the console, and has a command line act for who is signed in.
func (p *page) signInUnder(t *testing.T, proxy *proxied, admin *client.Client) {
	t.Helper()
	grant, err := admin.BeginCLILogin(t.Context(), client.CLILogin{Challenge: strings.Repeat("A", 43)})
	if err != nil {
		t.Fatal(err)
	}
	p.do(chromedp.Navigate(proxy.address(grant.URL)))
	p.atProvider("ann")
	p.until("the question whether a command line may act for us", fmt.Sprintf(`document.body?.innerText.includes(%q)`, grant.UserCode))
	p.click(`document.querySelector("button[value=approve]")`)
	p.until("that it may", `document.body?.innerText.includes("The command line is signed in")`)
	p.do(chromedp.Navigate(proxy.address("/patterns")))
	p.until("who we are", `document.querySelector(".me")?.innerText.includes("ann") && document.querySelector("tr[data-id=echo]")`)
	p.do(chromedp.Navigate(proxy.address("/auth/logout")))
	p.do(chromedp.Navigate(proxy.address("/inbox")))
	p.until("the sign-in", `document.querySelector(".sign-in")`)
	p.click(button("Sign in with your organization")) // the provider knows us still
	p.until("where we wanted to go", fmt.Sprintf(`decodeURI(location.pathname) === %q && document.querySelector(".me")?.innerText.includes("ann")`, under+"/inbox"))
}
