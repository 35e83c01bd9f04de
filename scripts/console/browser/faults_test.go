package browser_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	browserpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/wardroom/wardroom/scripts/testbed"
	"github.com/wardroom/wardroom/sdk/client"
)

// answer is what a test has the page get in place of the server's.
type answer struct {
	status  int64
	body    string
	headers map[string]string
}

// instead has requests to addresses of a pattern, in which * is anything, answered by fn; where that returns nil they go to
// the server. A page has one such pattern.
func (p *page) instead(pattern string, fn func() *answer) {
	p.t.Helper()
	p.insteadOf(pattern, func(*network.Request) *answer { return fn() })
}

// insteadOf is instead with the request that is answered.
func (p *page) insteadOf(pattern string, fn func(r *network.Request) *answer) {
	p.t.Helper()
	chromedp.ListenTarget(p.ctx, func(ev any) {
		paused, ok := ev.(*fetch.EventRequestPaused)
		if !ok {
			return
		}
		go func() { // ends with the page's context: the call does
			a := fn(paused.Request)
			_ = chromedp.Run(p.ctx, chromedp.ActionFunc(func(ctx context.Context) error {
				if a == nil {
					return fetch.ContinueRequest(paused.RequestID).Do(ctx)
				}
				headers := []*fetch.HeaderEntry{{Name: "Content-Type", Value: "application/json"}, {Name: "X-Request-Id", Value: "req_of_the_test"}}
				for k, v := range a.headers {
					headers = append(headers, &fetch.HeaderEntry{Name: k, Value: v})
				}
				return fetch.FulfillRequest(paused.RequestID, a.status).WithResponseHeaders(headers).WithBody(base64.StdEncoding.EncodeToString([]byte(a.body))).Do(ctx)
			}))
		}()
	})
	p.do(fetch.Enable().WithPatterns([]*fetch.RequestPattern{{URLPattern: pattern}}))
}

// beforeIn returns a tab in which a script runs before any of a page's own.
func beforeIn(t testing.TB, script string) *page {
	t.Helper()
	p := openFor(t, "about:blank", 3*limit)
	p.do(chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := browserpage.AddScriptToEvaluateOnNewDocument(script).Do(ctx)
		return err
	}))
	return p
}

const live = `document.querySelector(".live:not(.off)")?.innerText.includes("live")`

// The server is killed under each screen: what is shown stays, the break is said, and the screen goes on once it is back.
func TestKilledUnderEachScreen(t *testing.T) {
	putUrgency(t)
	done, err := shared.Client.Execute(t.Context(), client.ExecuteRequest{Pattern: "startup-team", Input: []byte(`{"task": "a word counter"}`)})
	if err != nil {
		t.Fatal(err)
	}
	at := "/executions/" + done.ExecutionID
	paths := []string{"/", "/inbox", "/executions", at, at + "?tab=data", "/batches", "/patterns", "/patterns/startup-team", "/patterns/urgency?tab=edit", "/schedules", "/threads", "/threads?board=state", "/threads?tab=new", "/agents", "/agents?tab=wall", "/memory", "/webhooks", "/system", "/system?tab=workspaces"}
	var pages []*page
	for _, path := range paths {
		p := openFor(t, shared.URL+path, 3*limit) // with all others
		p.until("the screen "+path, `document.querySelector("h1") && !document.querySelector("main .waiting") && `+live)
		p.do(chromedp.Evaluate(`window.opened = document.querySelector("h1").innerText; 0`, nil))
		p.away(true)
		pages = append(pages, p)
	}
	shared.Kill()
	for i, p := range pages {
		p.do(browserpage.BringToFront())
		p.until("the break, with what was shown: "+paths[i], `document.querySelector(".live.off") && document.querySelector("h1")?.innerText === window.opened`)
		for _, width := range []int64{390, 320} { // what the header has to tell then fits on a phone
			p.do(chromedp.EmulateViewport(width, 800))
			p.until(fmt.Sprintf("%s in %d pixels", paths[i], width), fmt.Sprintf(`innerWidth === %[1]d && document.documentElement.scrollWidth <= %[1]d`, width))
		}
		p.do(chromedp.EmulateViewport(1440, 900))
	}
	if err := shared.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, p := range pages {
		p.do(browserpage.BringToFront())
		p.until("the screen as it was, without a reload: "+paths[i], live+` && document.querySelector("h1")?.innerText === window.opened && !document.querySelector("main .notice.bad")`)
		p.away(false)
	}
	if err := testbed.Until(t.Context(), limit, "the crew is back", func(ctx context.Context) (bool, error) {
		h, err := shared.Client.HealthDetailed(ctx)
		return err == nil && h.Components != nil && h.Components.Agents.Healthy >= 5, nil
	}); err != nil {
		t.Fatal(err)
	}
}

// A refusal says its code, the reason, the request and what to do; what passes by itself is tried again by itself.
func TestRefusals(t *testing.T) {
	putUrgency(t)
	for _, tt := range []struct {
		status  int64
		code    string
		advice  string
		passes  bool
		headers map[string]string
	}{
		{429, "RATE_LIMITED", "wait a little", true, map[string]string{"Retry-After": "1"}},
		{503, "INTERNAL_ERROR", "", true, nil},
		{403, "FORBIDDEN", "does not permit", false, nil},
		{404, "NOT_FOUND", "retention", false, nil},
	} {
		t.Run(tt.code, func(t *testing.T) {
			p := openIn(t, "about:blank")
			p.away(true) // refusals are errors to browsers
			refused := make(chan struct{})
			p.instead("*/api/patterns/urgency", func() *answer {
				select {
				case <-refused:
					return nil
				default:
					return &answer{tt.status, fmt.Sprintf(`{"error": {"code": %q, "message": "not <b>now</b>", "details": {}}, "requestId": "req_of_the_test"}`, tt.code), tt.headers}
				}
			})
			p.do(chromedp.Navigate(shared.URL + "/patterns/urgency"))
			p.until("the refusal in full", fmt.Sprintf(`((n) => n?.includes(%q) && n.includes("not <b>now</b>") && n.includes("req_of_the_test") && n.includes(%q))(document.querySelector(".notice.bad")?.innerText)`, tt.code, tt.advice))
			p.shoot("refused")
			close(refused)
			if !tt.passes {
				p.click(button("Try again"))
			}
			p.until("the pattern", `document.querySelector("h1")?.innerText === "urgency" && !document.querySelector("main .notice.bad")`)
		})
	}
}

// A browser without a shared worker, without storage, or with a clock that is a day off shows the same.
func TestPoorBrowsers(t *testing.T) {
	done, err := shared.Client.Execute(t.Context(), client.ExecuteRequest{Pattern: "startup-team", Input: []byte(`{"task": "a word counter"}`)})
	if err != nil {
		t.Fatal(err)
	}
	const storage = `for (const name of ["localStorage", "sessionStorage"]) Object.defineProperty(window, name, {get() { throw new DOMException("no storage", "SecurityError"); }});`
	for name, script := range map[string]string{
		"no worker":  `delete window.SharedWorker;`,
		"no storage": storage,
		"clock":      `const was = Date.now; Date.now = () => was() + 864e5; const D = Date; window.Date = class extends D { constructor(...a) { if (a.length) super(...a); else super(D.now()); } };`,
	} {
		t.Run(name, func(t *testing.T) {
			p := beforeIn(t, script)
			p.do(chromedp.Navigate(shared.URL + "/executions/" + done.ExecutionID))
			p.until("the timeline, live", live+` && document.querySelectorAll("[role=treegrid] [role=row]").length > 3`)
			if name == "clock" {
				p.until("times by the server's clock", `(([...document.querySelectorAll(".head time")].map((e) => e.innerText)))[0]?.match(/^(now|\d+[sm] ago)$/)`)
			}
			p.do(chromedp.Navigate(shared.URL + "/executions"))
			p.until("the list", `document.querySelectorAll("main tr[data-index]").length > 0`)
			next, err := shared.Client.Execute(t.Context(), client.ExecuteRequest{Pattern: "startup-team", Input: []byte(`{"task": "a word counter"}`)})
			if err != nil {
				t.Fatal(err)
			}
			p.click(button("1 new"))
			p.until("what came meanwhile", `document.querySelector("tr[data-id='`+next.ExecutionID+`']")`)
			if name == "no storage" {
				p.do(chromedp.Navigate(shared.URL + "/threads?tab=new"))
				p.click(css("textarea[name=objective]"))
				p.do(chromedp.KeyEvent("typed"))
				p.until("what is typed", `document.querySelector("textarea[name=objective]").value === "typed"`)
			}
		})
	}
}

// The time without a connection is counted by one clock, whatever the browser's says.
func TestBreakWithClockOff(t *testing.T) {
	p := beforeIn(t, `delete window.SharedWorker; { const was = Date.now; Date.now = () => was() + 864e5; const D = Date; window.Date = class extends D { constructor(...a) { if (a.length) super(...a); else super(D.now()); } };
		const asked = window.fetch; window.fetch = (address, ...rest) => (window.cut && String(address).includes("/api/events") ? Promise.reject(new TypeError("cut")) : asked(address, ...rest)); }`)
	p.do(chromedp.Navigate(shared.URL + "/executions"))
	p.until("a live page", live)
	p.do(chromedp.Evaluate(`window.cut = true; dispatchEvent(new Event("online")); 0`, nil))
	p.until("how long it is lost", `document.querySelector(".live.off .nums")?.innerText.match(/^([2-9]|\d\d)s$/)`)
}

// Without JavaScript the page says so in one sentence.
func TestNoJavaScript(t *testing.T) {
	p := openIn(t, "about:blank")
	p.do(emulation.SetScriptExecutionDisabled(true), chromedp.Navigate(shared.URL+"/"))
	var text string
	if err := testbed.Until(p.ctx, limit, "the sentence", func(ctx context.Context) (bool, error) {
		// The document may be replaced while its nodes are looked for.
		return chromedp.Run(ctx, chromedp.Text("body", &text, chromedp.ByQuery)) == nil && strings.Contains(text, "needs JavaScript"), nil
	}); err != nil {
		t.Errorf("%v; the page shows %q", err, text)
	}
}

// What is large, deep or long is shown in parts, and holds nothing up.
func TestLargeThings(t *testing.T) {
	done, err := shared.Client.Execute(t.Context(), client.ExecuteRequest{Pattern: "startup-team", Input: []byte(`{"task": "a word counter"}`)})
	if err != nil {
		t.Fatal(err)
	}
	at := "/api/executions/" + done.ExecutionID
	whole := func(path string) map[string]any {
		t.Helper()
		var body map[string]any
		r, err := shared.Client.GetExecution(t.Context(), done.ExecutionID)
		raw := json.RawMessage(nil)
		if err == nil {
			raw = r.Body
		}
		if path != "" {
			tl, err2 := shared.Client.GetTimeline(t.Context(), done.ExecutionID)
			if err2 == nil {
				raw = tl.Body
			}
			err = err2
		}
		if err == nil {
			err = json.Unmarshal(raw, &body)
		}
		if err != nil {
			t.Fatal(err)
		}
		return body
	}
	text := func(v any) string {
		out, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	// show opens a tab of the execution whose result is something else.
	show := func(t *testing.T, result string) *page {
		t.Helper()
		body := whole("")
		body["result"] = "HERE"
		page := strings.Replace(text(body), `"HERE"`, result, 1)
		p := openIn(t, "about:blank")
		p.instead("*"+at, func() *answer { return &answer{status: 200, body: page} })
		return p
	}
	t.Run("10 MiB", func(t *testing.T) {
		p := show(t, `"`+strings.Repeat("0123456789abcde ", 10<<16)+`"`)
		p.do(chromedp.Navigate(shared.URL + "/executions/" + done.ExecutionID + "?tab=data"))
		p.until("its beginning, and a way to the rest", `[...document.querySelectorAll("section")].find((s) => s.querySelector("h2")?.innerText.startsWith("Result"))?.innerText.match(/Show more: 10,4\d\d,\d\d\d further characters/)`)
		var n int
		p.do(chromedp.Evaluate(`document.querySelector("main").innerText.length`, &n))
		if n > 200_000 {
			t.Errorf("%d characters are shown at once", n)
		}
	})
	t.Run("10,000 deep", func(t *testing.T) {
		p := show(t, strings.Repeat(`{"a":`, 5000)+strings.Repeat(`[`, 5000)+strings.Repeat(`]`, 5000)+strings.Repeat(`}`, 5000))
		p.do(chromedp.Navigate(shared.URL + "/executions/" + done.ExecutionID + "?tab=data"))
		p.until("something of it", `[...document.querySelectorAll("section")].find((s) => s.querySelector("h2")?.innerText.startsWith("Result"))?.innerText.length > 10`)
	})
	t.Run("20,000 steps", func(t *testing.T) {
		body := whole("timeline")
		var entries []any
		for i := range 20_000 {
			entries = append(entries, map[string]any{"kind": "step", "id": fmt.Sprint(i), "name": fmt.Sprintf("Step <b>%d</b>", i), "status": map[bool]string{true: "failed", false: "completed"}[i == 15_000],
				"startedAt": fmt.Sprintf("2026-01-02T03:%02d:%02d.%03dZ", i/60/10%60, i/10%60, i%10*100), "endedAt": fmt.Sprintf("2026-01-02T03:%02d:%02d.%03dZ", i/60/10%60, i/10%60, i%10*100+90)})
		}
		body["entries"] = entries
		page := text(body)
		p := openIn(t, "about:blank")
		p.instead("*"+at+"/timeline", func() *answer { return &answer{status: 200, body: page} })
		p.do(chromedp.Navigate(shared.URL + "/executions/" + done.ExecutionID))
		p.until("the first, the failed one, and a row for the rest", `document.querySelector("[role=treegrid]")?.innerText.includes("19,979 more like these") && document.querySelector("[data-key='step:15000']")`)
		p.shoot("steps")
		p.click(`[...document.querySelectorAll("[role=row]")].find((r) => r.innerText.includes("more like these"))`)
		p.until("all of them, of which few are in the document", `Number(document.querySelector("[role=treegrid]").getAttribute("aria-rowcount")) === 20000 && document.querySelectorAll("[role=row]").length < 80`)
		p.do(chromedp.Evaluate(`document.querySelector(".timeline").scrollTop = 1e9; 0`, nil))
		p.until("the last one", `document.querySelector("[data-key='step:19999']")`)
	})
}
