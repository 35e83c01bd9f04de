package browser_test

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/wardroom/wardroom/sdk/client"
)

// Who withdraws a message goes on at the next one, and after the last at what is written.
func TestFocusAfterWithdraw(t *testing.T) {
	thread := shell(t, client.ThreadSpec{Objective: "echo one"})
	const message = `({inputId: "in_01ARZ3NDEKTSV4RRFFQ000000" + n, message: "waits " + n, state: "waiting", createdAt: "2026-01-02T03:04:05Z"})`
	p := beforeIn(t, answering("/api/managed-threads/"+thread.ID+"/queue", `() => { const inputs = (window.waiting ??= [1, 2]).map((n) => `+message+`); return {inputs, queued: inputs.length, limit: 100, offset: 0, hasMore: false}; }`)+
		`{ const real = window.fetch; window.fetch = (address, o) => {
			if (o?.method !== "DELETE" || !new URL(address, location.href).pathname.includes("/queue/")) return real(address, o);
			waiting.shift();
			return Promise.resolve(new Response(null, {status: 204}));
		}; }`)
	p.do(chromedp.Navigate(shared.URL + "/threads/" + thread.ID))
	const lines = `document.querySelectorAll(".composer .queue li")`
	p.until("both messages", lines+`.length === 2`)
	p.click(lines + `[0].querySelector("button")`)
	p.until("one message", lines+`.length === 1`)
	p.until("the focus at the next message", `document.activeElement === `+lines+`[0].querySelector("button")`)
	p.click(lines + `[0].querySelector("button")`)
	p.until("no message", lines+`.length === 0`)
	p.until("the focus at what is written", `document.activeElement === document.querySelector(".composer textarea")`)
}

// Who ends another session goes on at the next one, and after the last at the end of the dialog, which has a line of sessions that it has
// not.
func TestFocusAfterEndedSession(t *testing.T) {
	s, key := secured(t, "server: {listen: $LISTEN}\nstore: {path: $DIR/store}\nsecurity: {authentication: {apiKeys: {enabled: true}}}\n")
	const one = `({id: "sess_" + n, kind: "browser", method: "apiKey", client: "browser " + n, createdAt: "2026-01-02T03:04:05Z", lastUsedAt: "2026-01-02T03:04:05Z", expiresAt: "2036-01-02T03:04:05Z"})`
	p := beforeIn(t, answering("/api/auth/sessions", `() => { const sessions = (window.others ??= [1, 2]).map((n) => `+one+`); return {sessions, total: 102, limit: 100, offset: 0, hasMore: others.length > 1}; }`)+
		`{ const real = window.fetch; window.fetch = (address, o) => {
			if (o?.method !== "DELETE" || !new URL(address, location.href).pathname.includes("/auth/sessions/")) return real(address, o);
			others.shift();
			return Promise.resolve(new Response(null, {status: 204}));
		}; }`)
	defer func() { _ = chromedp.Run(p.ctx, network.ClearBrowserCookies()) }() // ports share them
	p.away(true)                                                              // before the sign-in the answer is 401
	p.do(chromedp.Navigate(s.URL + "/patterns"))
	p.until("the sign-in", `document.querySelector(".sign-in input[type=password]")`)
	p.click(css(".sign-in input[type=password]"))
	p.do(chromedp.KeyEvent(key), chromedp.KeyEvent(kb.Enter))
	p.click(css(".top .me, .me"))
	const lines = `document.querySelectorAll("dialog ul li.line")`
	p.until("both sessions", lines+`.length === 2`)
	p.until("that there are more", `document.querySelector("dialog").innerText.includes("The first 2 of 102 are here")`)
	p.click(lines + `[0].querySelector("button")`)
	p.until("one session", lines+`.length === 1`)
	p.until("the focus at the next session", `document.activeElement === `+lines+`[0].querySelector("button")`)
	p.click(lines + `[0].querySelector("button")`)
	p.until("no session", lines+`.length === 0`)
	p.until("the focus at the end of the dialog", `document.activeElement === document.querySelector("dialog footer button")`)
}

// A link to a record that is not there leads to word of it.
func TestLinkToNoRecord(t *testing.T) {
	p := open(t, "/audit?sel=999999999")
	p.until("that it is not here", main+`.includes("The record 999999999 is not here.")`)
}

// A number that the server would refuse is refused in the form, which holds the bounds.
func TestBoundsOfNewThread(t *testing.T) {
	p := open(t, "/threads?tab=new")
	p.until("the form", `document.querySelector("input[name=turns]")`)
	for _, one := range []struct {
		field, typed string
		takes        bool
	}{{"turns", "1000000", true}, {"turns", "1000001", false}, {"turns", "0", false}, {"cost", "1000000", true}, {"cost", "999999.99", true}, {"cost", "1000000.5", false}, {"cost", "1000001", false}} {
		field := `document.querySelector("input[name=` + one.field + `]")`
		p.fill(field, one.typed) // heard by the form: it may be drawn anew
		if p.holds(field+`.checkValidity()`) != one.takes {
			t.Errorf("%s of %s: takes it: %t", one.field, one.typed, !one.takes)
		}
		if !p.holds(field + `.title.includes("1,000,000")`) {
			t.Errorf("%s does not hold its bound", one.field)
		}
	}
}

// An empty number of items at once is the usual one, which is shown.
func TestUsualItemsAtOnce(t *testing.T) {
	p := open(t, "/batches")
	p.click(button("Start one"))
	p.until("the field", `document.querySelector("dialog input[type=number]")?.value === "5"`)
	if !p.holds(`(({placeholder, title}) => placeholder === "5" && title === "from 1 to 50")(document.querySelector("dialog input[type=number]"))`) {
		t.Error("an empty field does not show what is meant")
	}
}

// A decision that is sent while its tab is left is not there to be sent again.
func TestDecisionSentMeanwhile(t *testing.T) {
	thread := shell(t, client.ThreadSpec{Objective: "echo one"})
	p := beforeIn(t, `{ const real = window.fetch; window.fetch = async (address, o) => {
		if (o?.method === "POST" && new URL(address, location.href).pathname.endsWith("/shared-decisions")) await new Promise((go) => { window.letGo = go; });
		return real(address, o);
	}; }`)
	p.do(chromedp.Navigate(shared.URL + "/threads/" + thread.ID + "?tab=memory"))
	const field = `document.querySelector("form.saying textarea")`
	p.click(field)
	p.do(chromedp.KeyEvent("tabs it is"))
	p.click(button("Write it down"))
	p.until("the request", `window.letGo`)
	p.click(css(`.tabs a[href$="tab=workspace"]`))
	p.until("another tab", `!`+field)
	p.click(css(`.tabs a[href$="tab=memory"]`))
	p.until("the form", field)
	p.do(chromedp.Evaluate(`letGo()`, nil))
	p.until("an empty field", field+`.value === ""`)
}

// What is read by the clock makes the pause that the server asks for.
func TestClockMakesPause(t *testing.T) {
	p := beforeIn(t, strings.Replace(timing, "window.far = [];", `window.far = []; { const every = window.setInterval; window.beats = []; window.setInterval = (f, ms) => { beats.push(f); return every(f, ms); }; }`, 1))
	p.away(true) // refusals are errors to browsers
	p.instead("*/api/agents?*", func() *answer {
		return &answer{status: 429, headers: map[string]string{"Retry-After": "600"}, body: `{"error": {"code": "RATE_LIMITED", "message": "too many"}}`}
	})
	p.do(chromedp.Navigate(shared.URL + "/agents"))
	p.until("a refusal", `document.querySelector("main .notice.bad")?.innerText.includes("too many") && far.length > 0`)
	var before int
	p.do(chromedp.Evaluate(`{ const real = clearTimeout; window.given = 0; window.clearTimeout = (t) => { given++; real(t); }; for (const f of beats) f(); given }`, &before))
	if before != 0 {
		t.Error("the clock ends the pause")
	}
}
