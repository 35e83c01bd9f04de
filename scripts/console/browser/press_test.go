package browser_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/wardroom/wardroom/sdk/client"
)

// counting counts what a page sends by a method, and presses again what takes the place of what was pressed, as a double click does.
const counting = `{ const asked = window.fetch; window.sent = 0; window.fetch = (to, o) => { if (o?.method === "PATCH" || o?.method === "POST") sent++; return asked(to, o); };
	window.twice = (first, next) => { const of = (words) => [...document.querySelectorAll("main button")].find((b) => b.innerText.trim() === words);
		window.pressed = false;
		new MutationObserver((_, o) => { const b = of(next); if (!b || b.disabled) return; o.disconnect(); b.click(); window.pressed = true; }).observe(document.body, {subtree: true, childList: true, characterData: true, attributes: true});
		of(first).click(); }; }`

// A press that was meant for a button undoes nothing where another takes its place.
func TestSecondOfDoubleClick(t *testing.T) {
	putUrgency(t)
	schedule, trigger := starters(t)
	for _, one := range []struct{ name, path, first, next string }{
		{"Webhook", "/webhooks/" + refusing(t, shared.Server, "pattern.deleted").ID, "Disable", "Enable"},
		{"Schedule", "/schedules/" + schedule, "Pause", "Resume"},
		{"Trigger", "/triggers/" + trigger, "Disable", "Enable"},
	} {
		t.Run(one.name, func(t *testing.T) {
			p := beforeIn(t, counting)
			p.do(chromedp.Navigate(shared.URL + one.path))
			p.until("the button", button(one.first)+`?.matches(":not([aria-disabled=true])")`)
			before := p.count(`sent`)
			p.do(chromedp.Evaluate(fmt.Sprintf(`twice(%q, %q)`, one.first, one.next), nil))
			p.until("the other button", `window.pressed`)
			p.until("that it may be pressed", fmt.Sprintf(`!%s?.matches("[aria-disabled=true]")`, button(one.next)))
			if n := p.count(`sent`) - before; n != 1 {
				t.Fatalf("a double click on %s did %d things", one.first, n)
			}
			p.click(button(one.next))
			p.until("the first one again", button(one.first))
		})
	}
}

// Who presses a button by key still has it once what it does is done.
func TestFocusAfterPress(t *testing.T) {
	p := open(t, "/webhooks/"+refusing(t, shared.Server, "pattern.deleted").ID)
	const test = `[...document.querySelectorAll("main button")].find((b) => b.innerText.trim() === "Send a test")`
	p.until("the button", test)
	p.do(chromedp.Evaluate(test+`.focus()`, nil), chromedp.KeyEvent(kb.Enter))
	p.until("what came of it", `document.querySelector("main p[role=status]")?.innerText.startsWith("The test ")`)
	p.until("the button, enabled", `!`+test+`.disabled`)
	p.do(chromedp.Evaluate(`new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))`, nil, awaited))
	if !p.holds(`document.activeElement === ` + test) {
		t.Error("the button that was pressed by key lost the focus")
	}
}

// What cannot be read again is not shown as if it were as it is.
func TestOldDataIsCalledOld(t *testing.T) {
	putUrgency(t)
	const old = `[...document.querySelectorAll("main .notice.bad")].some((e) => e.innerText.includes("req_of_the_test") && e.innerText.includes("What is shown below is from before"))`
	for _, one := range []struct{ name, tab, api, shown string }{
		{"Timeline", "timeline", "*/timeline*", ".timeline"}, {"Journal", "journal", "*/events?*limit=*", "ol.journal"}, {"Threads", "threads", "*/managed-threads/executions/*", ".empty"}, {"Runs", "runs", "*/api/executions?*", "tr[data-index]"},
	} {
		t.Run(one.name, func(t *testing.T) {
			id := begun(t)
			path := "/executions/" + id
			if one.name == "Runs" {
				path = "/patterns/urgency"
			}
			p := openIn(t, "about:blank")
			p.away(true) // refusals are errors to browsers
			failing := false
			p.instead(one.api, func() *answer {
				p.mu.Lock()
				defer p.mu.Unlock()
				if !failing {
					return nil
				}
				return &answer{status: 500, body: `{"error": {"code": "INTERNAL_ERROR", "message": "broken"}}`}
			})
			p.do(chromedp.Navigate(shared.URL + path + "?tab=" + one.tab))
			p.until("what is read, live", fmt.Sprintf(`document.querySelector("main %s") && %s`, one.shown, live))
			p.mu.Lock()
			failing = true
			p.mu.Unlock()
			if _, err := shared.Client.CancelExecution(t.Context(), id, "for the test"); err != nil {
				t.Fatal(err)
			}
			p.until("that it is from before", old)
		})
	}
}

// What is selected is what can be seen: another filter leaves nothing selected behind the list.
func TestDeliveriesSelected(t *testing.T) {
	id := refusing(t, shared.Server, "pattern.deleted").ID
	p := beforeIn(t, answering("/api/webhooks/"+id+"/deliveries", `(q) => {
		const all = ["failed", "failed", "succeeded"].map((status, n) => ({id: "dlv_01ARZ3NDEKTSV4RRFFQ000000" + n, webhookId: "`+id+`", event: "pattern.deleted", eventId: "evt_" + n, status, attempts: 1, timestamp: "2026-01-02T03:04:05Z"}));
		const deliveries = all.filter((d) => !q.get("status") || d.status === q.get("status"));
		return {deliveries, total: deliveries.length, limit: 100, offset: 0, hasMore: false};
	}`))
	p.do(chromedp.Navigate(shared.URL + "/webhooks/" + id + "?status=failed"))
	for _, n := range []string{"0", "1"} {
		p.click(css("tr[data-index='" + n + "'] input[type=checkbox]"))
	}
	p.until("the selection", main+`.includes("2 selected")`)
	p.choose("main .choice select", "succeeded")
	p.until("the others", `document.querySelectorAll("main tr[data-index]").length === 1 && `+main+`.includes("succeeded")`)
	if p.holds(main + `.includes("selected")`) {
		t.Error("deliveries are selected that are not in the list")
	}
}

// A link to an audit record leads to it when there are many newer ones.
func TestLinkToAuditRecord(t *testing.T) {
	s, key := secured(t, "server: {listen: $LISTEN}\nstore: {path: $DIR/store}\nsecurity:\n  authentication: {apiKeys: {enabled: true}}\n  audit: {enabled: true}\n")
	admin := withEcho(t, s, key)
	p := beforeIn(t, `window.copied = []; navigator.clipboard.writeText = (t) => { window.copied.push(t); return Promise.resolve(); };`)
	defer func() { _ = chromedp.Run(p.ctx, network.ClearBrowserCookies()) }() // ports share them
	p.away(true)                                                              // refusals are errors to browsers
	p.do(chromedp.Navigate(s.URL + "/audit?action=patterns.create"))
	p.signInBy(key)
	p.click(`[...document.querySelectorAll("tr[data-index]")].find((r) => r.innerText.includes("patterns.create"))`)
	p.click(css(`.detail button[aria-label="Copy a link to this record"]`))
	p.until("the link", `copied.length === 1`)
	var link string
	p.do(chromedp.Evaluate(`copied[0].replace("action=patterns.create&", "")`, &link))
	for n := range 120 {
		if _, err := admin.CreateKey(t.Context(), client.APIKeySpec{Name: fmt.Sprint("newer-", n), Scopes: []string{"executions:read"}}, ""); err != nil {
			t.Fatal(err)
		}
	}
	p.do(chromedp.Navigate(link))
	p.until("the record", `document.querySelector(".detail")?.innerText.includes("patterns.create")`)
}

// A repetition of all that failed ends with its dialog, once what is under way is done.
func TestRetryOfAllIsStopped(t *testing.T) {
	id := refusing(t, shared.Server, "pattern.deleted").ID
	p := beforeIn(t, `{ const real = window.fetch; window.posts = 0; window.go = undefined;
		window.fetch = async (address, o) => {
			if (o?.method !== "POST" || !new URL(address, location.href).pathname.endsWith("/deliveries/retry")) return real(address, o);
			const dry = JSON.parse(o.body).dryRun;
			if (dry && !window.counts) await new Promise((done) => { window.counts = done; });
			if (!dry && posts++ === 1) await new Promise((done) => { window.go = done; });
			return new Response(JSON.stringify({count: 500, hasMore: posts < 9, nextCursor: "c" + posts}), {headers: {"Content-Type": "application/json"}});
		}; }`)
	p.do(chromedp.Navigate(shared.URL + "/webhooks/" + id))
	p.click(button("Retry all that failed"))
	p.until("the count", `window.counts`)
	p.do(chromedp.KeyEvent(kb.Escape))
	p.until("an end before anything was counted", `!document.querySelector("dialog")`)
	p.do(chromedp.Evaluate(`counts(); 0`, nil))
	p.click(button("Retry all that failed"))
	p.click(button("Retry them"))
	p.until("the second part", `go`)
	p.do(chromedp.KeyEvent(kb.Escape), chromedp.KeyEvent(kb.Escape), chromedp.Evaluate(`go(); 0`, nil))
	p.until("an end", `posts === 9 || document.querySelector("dialog [role=status]")?.innerText.endsWith("are due.")`)
	if n := p.count(`posts`); n != 2 {
		t.Errorf("%d parts were delivered again, with a stop at the second", n)
	}
	if !p.holds(`document.querySelector("dialog [role=status]")?.innerText.startsWith("1,000 deliveries")`) {
		t.Errorf("what was done is not told\n%s", p.text())
	}
	p.click(`[...document.querySelectorAll("dialog footer button")].find((b) => b.innerText === "Close")`)
	p.until("the list", `!document.querySelector("dialog")`)
}
