package browser_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/wardroom/wardroom/sdk/client"
)

// holding has the first answer to a method at a path wait for release(), and counts what is asked for there.
func holding(method, path string) string {
	return fmt.Sprintf(`{
		const asked = window.fetch;
		window.asks = 0;
		window.fetch = async (to, o) => {
			if (o?.method !== %q || !new RegExp(%q).test(to)) return asked(to, o);
			const first = window.asks++ === 0;
			const answer = await asked(to, o);
			if (!first) return answer;
			const text = await answer.text();
			answer.text = () => new Promise((there) => { window.release = () => there(text); });
			return answer;
		}; }`, method, path)
}

// signInBy signs in by a key, on the page that asks for one or over another.
func (p *page) signInBy(key string) {
	p.t.Helper()
	p.click(css(".sign-in input[type=password], dialog input[type=password]"))
	p.do(chromedp.KeyEvent(key), chromedp.KeyEvent(kb.Enter))
	p.until("the page", `document.querySelector("button.me") && !document.querySelector("input[type=password]")`)
}

// overtaken ends the session of the page, and has the owner of another key sign in over it.
func (p *page) overtaken(admin *client.Client, key string) {
	p.t.Helper()
	p.withoutSession(admin)
	p.signInBy(key)
}

// withoutSession ends all sessions of a server, and waits until the page asks who it is.
func (p *page) withoutSession(admin *client.Client) {
	p.t.Helper()
	sessions, err := admin.ListSessions(p.t.Context(), client.SessionFilter{All: true}, client.Page{})
	if err != nil {
		p.t.Fatal(err)
	}
	for _, one := range sessions.Sessions {
		if err := admin.RevokeSession(p.t.Context(), one.ID); err != nil {
			p.t.Fatal(err)
		}
	}
	p.until("the question who it is, over the page", `document.querySelector("dialog input[type=password]")`)
}

// released lets the answer that is held go, and returns how much was asked for once the page has taken it.
func (p *page) released() (asks int) {
	p.t.Helper()
	p.do(chromedp.Evaluate(`release(); new Promise((taken) => setTimeout(() => taken(asks)))`, &asks, awaited))
	return asks
}

// What was begun for one person is not gone on with for the next: neither a selection, nor what an answer leads to.
func TestNothingGoesOnForTheNext(t *testing.T) {
	s, key := secured(t, "server: {listen: $LISTEN}\nstore: {path: $DIR/store}\nsecurity:\n  authentication: {apiKeys: {enabled: true}}\n")
	admin := withEcho(t, s, key)
	other, err := admin.CreateKey(t.Context(), client.APIKeySpec{Name: "other", Owner: "other", Scopes: []string{"admin"}}, "")
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := admin.ExecuteAsync(t.Context(), client.ExecuteRequest{Pattern: "echo", Input: []byte(`{}`)}); err != nil {
			t.Fatal(err)
		}
	}

	t.Run("Selection", func(t *testing.T) {
		p := beforeIn(t, holding("POST", "/cancel$"))
		defer func() { _ = chromedp.Run(p.ctx, network.ClearBrowserCookies()) }() // ports share them
		p.away(true)                                                              // refusals are errors to browsers
		p.do(chromedp.Navigate(s.URL + "/executions"))
		p.signInBy(key)
		p.until("the rows", `document.querySelectorAll("main tr[data-index]").length === 3`)
		for _, n := range []string{"0", "1", "2"} {
			p.click(css("tr[data-index='" + n + "'] input[type=checkbox]"))
		}
		p.click(button("Cancel"))
		p.click(button("Cancel 3"))
		p.until("the first under way", `window.release`)
		p.overtaken(admin, other.Key)
		if asks := p.released(); asks != 1 {
			t.Error("what one person began is gone on with in the name of the next")
		}
	})

	// A repetition whose answer was lost is a person's own: the next one's is another, which the server does not take for it.
	t.Run("LostRepetition", func(t *testing.T) {
		p := beforeIn(t, `window.keys = []; { const asked = window.fetch; window.fetch = (to, o) => {
			if (o?.method !== "POST" || !/\/retry$/.test(to)) return asked(to, o);
			keys.push(o.headers["Idempotency-Key"]);
			return Promise.reject(new TypeError("lost"));
		}; }`)
		defer func() { _ = chromedp.Run(p.ctx, network.ClearBrowserCookies()) }() // ports share them
		p.away(true)                                                              // refusals are errors to browsers
		p.do(chromedp.Navigate(s.URL + "/executions"))
		p.signInBy(key)
		for n, who := range []string{other.Key, ""} {
			p.click(css("tr[data-index='0'] input[type=checkbox]"))
			p.click(button("Run again"))
			p.click(button("Run again 1"))
			p.until("that the answer is lost", fmt.Sprintf(`keys.length === %d && document.querySelector("dialog tbody").innerText.includes("cannot be reached")`, n+1))
			if who != "" {
				p.overtaken(admin, who)
			}
		}
		if p.holds(`keys[0] === keys[1]`) {
			t.Error("the next person repeats in the name of the one before")
		}
	})

	t.Run("Draft", func(t *testing.T) {
		p := beforeIn(t, holding("POST", "/api/patterns$"))
		defer func() {
			_ = chromedp.Run(p.ctx, chromedp.Evaluate(`localStorage.clear()`, nil), network.ClearBrowserCookies()) // ports share them
		}()
		p.away(true) // refusals are errors to browsers
		const area = `document.querySelector(".paper textarea")`
		write := func(name string) {
			p.until("the template", area+`?.value.startsWith("name: my-pattern\n")`)
			p.do(chromedp.Evaluate(fmt.Sprintf(`(() => { const e = %s; e.value = e.value.replace("my-pattern", %q); e.dispatchEvent(new Event("input", {bubbles: true})); })()`, area, name), nil))
		}
		const begun = `Object.values(localStorage).some((v) => v.startsWith("name: of-the-next\n"))`
		p.do(chromedp.Navigate(s.URL + "/patterns?tab=new"))
		p.signInBy(key)
		write("of-the-first")
		p.click(button("Save as"))
		p.until("what is stored", `window.release`)
		p.overtaken(admin, other.Key)
		write("of-the-next")
		p.until("the draft", begun)
		p.released()
		if !p.holds(begun) {
			t.Error("an answer to one person takes away the draft of the next")
		}
		if !p.holds(`location.pathname === "/patterns"`) {
			t.Error("an answer to one person leads the next away")
		}
	})
}
