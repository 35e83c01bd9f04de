package browser_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// A filter that is added leaves the times that are chosen already as they are: to the millisecond, and in the hour that a clock
// shows twice. The fields have the zone that all times of the page have.
func TestTimesOfFiltersStay(t *testing.T) {
	for _, zone := range []struct{ name, shown string }{{"local", "2025-11-02T01:30"}, {"utc", "2025-11-02T06:30"}} {
		t.Run(zone.name, func(t *testing.T) {
			p := beforeIn(t, fmt.Sprintf(`localStorage.setItem("wardroom", JSON.stringify({zone: %q}))`, zone.name))
			p.do(emulation.SetTimezoneOverride("America/New_York"), chromedp.Navigate(shared.URL+"/executions?since=2025-11-02T06:30:05.678Z"))
			p.click(button("+ filter"))
			p.until("the time in its zone", fmt.Sprintf(`document.querySelector("dialog input[name=since]")?.value === %q`, zone.shown))
			p.do(chromedp.Evaluate(`document.querySelector("dialog input[name=until]").value = "2025-12-01T12:00"`, nil))
			p.click(css("dialog input[name=errorCode]"))
			p.do(chromedp.KeyEvent("TIMEOUT"))
			p.click(`[...document.querySelectorAll("dialog button")].find((b) => b.innerText === "Filter")`)
			p.until("the filter", `new URLSearchParams(location.search).get("errorCode") === "TIMEOUT"`)
			var since, until string
			p.do(chromedp.Evaluate(`new URLSearchParams(location.search).get("since")`, &since), chromedp.Evaluate(`new URLSearchParams(location.search).get("until")`, &until))
			want := map[string]string{"local": "2025-12-01T17:00:00.000Z", "utc": "2025-12-01T12:00:00.000Z"}[zone.name]
			if since != "2025-11-02T06:30:05.678Z" || until != want {
				t.Errorf("the filters are from %s until %s, not until %s", since, until, want)
			}
		})
	}
}

// pagesOfRows is a script that answers requests for a list with pages of a hundred rows of 1,000.
func pagesOfRows(path, list, row string) string {
	return answering(path, fmt.Sprintf(`(q) => {
		const from = Number(q.get("cursor") ?? 0), more = from < 900;
		return {%s: Array.from({length: 100}, (_, i) => 1000 - from - i).map((n) => (%s)), total: 1000, limit: 100, offset: 0, hasMore: more, ...(more && {nextCursor: String(from + 100)})};
	}`, list, row))
}

// Another filter shows its list from the beginning, and a step back the place that was left.
func TestFilteredListFromItsBeginning(t *testing.T) {
	p := beforeIn(t, pagesOfRows("/api/executions", "executions", `{executionId: "exec_01ARZ3NDEKTSV4RRFFQ" + String(n).padStart(7, "0"), status: q.get("status") || "completed", pattern: "urgency", version: "1.0.0", createdAt: "2026-01-02T03:04:05Z"}`))
	p.do(chromedp.Navigate(shared.URL + "/executions"))
	const top = `document.querySelector(".rows")?.scrollTop`
	p.until("rows", `document.querySelector("main tr[data-index]")`)
	p.do(chromedp.Evaluate(`document.querySelector(".rows").scrollTop = 1600`, nil))
	p.until("rows further down", top+` === 1600 && document.querySelector("main tr[data-index='50']")`)
	p.click(`[...document.querySelectorAll(".chips button")].find((b) => b.innerText === "failed")`)
	p.until("what failed", `document.querySelector("main tr[data-index]")?.innerText.includes("failed")`)
	var at float64
	p.do(chromedp.Evaluate(top, &at))
	if at != 0 {
		t.Errorf("the list of what failed is shown from %v pixels on", at)
	}
	p.do(chromedp.Evaluate(`document.querySelector(".rows").scrollTop = 960`, nil))
	p.until("rows further down", top+` === 960 && document.querySelector("main tr[data-index='40']")`)
	p.click(button("+ filter"))
	p.click(css("dialog input[name=errorCode]"))
	p.do(chromedp.KeyEvent("TIMEOUT"))
	p.click(`[...document.querySelectorAll("dialog button")].find((b) => b.innerText === "Filter")`)
	p.until("the other list from its beginning", `location.search.includes("TIMEOUT") && document.querySelector("main tr[data-index]") && `+top+` === 0`)
	p.do(chromedp.Evaluate(`history.back()`, nil))
	p.until("the place that was left", `!location.search.includes("TIMEOUT") && document.querySelector("main tr[data-index='40']") && `+top+` === 960`)
}

// So does one that is read in pages by the shared way.
func TestFilteredPagesFromTheirBeginning(t *testing.T) {
	p := beforeIn(t, pagesOfRows("/api/batches", "batches", `{batchId: "batch_" + n, status: q.get("status") || "completed", pattern: {name: "urgency", version: "1.0.0"}, total: 1, completed: 1, failed: 0, cancelled: 0, createdAt: "2026-01-02T03:04:05Z", createdBy: "anonymous"}`))
	p.do(chromedp.Navigate(shared.URL + "/batches"))
	const top = `document.querySelector(".rows")?.scrollTop`
	p.until("rows", `document.querySelector("main tr[data-index]")`)
	p.do(chromedp.Evaluate(`document.querySelector(".rows").scrollTop = 1600`, nil))
	p.until("rows further down", top+` === 1600 && document.querySelector("main tr[data-index='50']")`)
	p.do(chromedp.Evaluate(`{ const s = document.querySelector("main .bar select"); s.value = "failed"; s.dispatchEvent(new Event("change", {bubbles: true})); } 0`, nil))
	p.until("what failed, from its beginning", `document.querySelector("main tr[data-index]")?.innerText.includes("failed") && `+top+` === 0`)
}

// A further page of a list that could not be read shows its error, and is read again: without a click if the failure is temporary.
func TestFurtherPagesThatFail(t *testing.T) {
	const row = `{batchId: "batch_" + n, status: "completed", pattern: {name: "urgency", version: "1.0.0"}, total: 1, completed: 1, failed: 0, cancelled: 0, createdAt: "2026-01-02T03:04:05Z", createdBy: "anonymous"}`
	for _, one := range []struct {
		name, code string
		status     int
	}{{"for now", "UNAVAILABLE", 503}, {"for good", "INTERNAL_ERROR", 500}, {"old cursor", "VALIDATION_ERROR", 400}} {
		t.Run(one.name, func(t *testing.T) {
			p := beforeIn(t, pagesOfRows("/api/batches", "batches", row)+
				fmt.Sprintf(`; { const asked = window.fetch; window.failures = 0; window.fetch = (address, ...rest) => {
					const url = new URL(address, location.href);
					if (url.pathname !== "/api/batches" || !url.searchParams.has("cursor") || window.failures > 0) return asked(address, ...rest);
					window.failures++;
					return Promise.resolve(new Response(JSON.stringify({error: {code: %q, message: "no further page"}}), {status: %d, headers: {"Content-Type": "application/json"}}));
				}; }`, one.code, one.status))
			p.away(true)
			p.do(chromedp.Navigate(shared.URL + "/batches"))
			p.until("rows", `document.querySelector("main tr[data-index]")`)
			p.do(chromedp.Evaluate(`(() => { const r = document.querySelector(".rows"); r.scrollTop = r.scrollHeight; })()`, nil))
			p.until("what went wrong", `window.failures === 1 && document.querySelector("main .notice.bad")?.innerText.includes("no further page")`)
			if one.status != 503 {
				p.click(`[...document.querySelectorAll("main .notice.bad button")].at(-1)`)
			}
			p.until("no error", `!document.querySelector("main .notice.bad")`)
			p.do(chromedp.Evaluate(`(() => { const r = document.querySelector(".rows"); r.scrollTop = r.scrollHeight; })()`, nil))
			p.until("rows of the next page", `document.querySelector(".rows").scrollHeight > 150 * 26`)
		})
	}
}

// Where nothing follows a first page any more, the list begins anew with another one, and the old cursor is not asked for again.
func TestCursorThatIsOver(t *testing.T) {
	p := beforeIn(t, answering("/api/batches", `(q) => {
		const first = !q.has("cursor"), from = first ? 0 : 100;
		if (first) window.firsts = (window.firsts ?? 0) + 1;
		return {batches: Array.from({length: 100}, (_, i) => 1000 - from - i).map((n) => ({batchId: "batch_" + n, status: "completed", pattern: {name: "urgency", version: "1.0.0"}, total: 1, completed: 1, failed: 0, cancelled: 0,
			createdAt: "2026-01-02T03:04:05Z", createdBy: "anonymous"})), total: 200, limit: 100, offset: 0, hasMore: first, ...(first && {nextCursor: "cursor" + window.firsts})};
	}`)+`; { const asked = window.fetch; window.old = 0; window.fetch = (address, ...rest) => {
		if (new URL(address, location.href).searchParams.get("cursor") !== "cursor1") return asked(address, ...rest);
		window.old++;
		return Promise.resolve(new Response(JSON.stringify({error: {code: "VALIDATION_ERROR", message: "the cursor is over"}}), {status: 400, headers: {"Content-Type": "application/json"}}));
	}; }`)
	p.away(true)
	p.do(chromedp.Navigate(shared.URL + "/batches"))
	p.until("rows", `document.querySelector("main tr[data-index]")`)
	p.do(chromedp.Evaluate(`(() => { const r = document.querySelector(".rows"); r.scrollTop = r.scrollHeight; })()`, nil))
	p.until("what went wrong", `document.querySelector("main .notice.bad")?.innerText.includes("the cursor is over")`)
	before := 0
	p.do(chromedp.Evaluate(`old`, &before))
	p.click(`[...document.querySelectorAll("main .notice.bad button")].at(-1)`)
	p.until("rows of the next page", `!document.querySelector("main .notice.bad") && document.querySelector(".rows").scrollHeight > 150 * 26`)
	after := 0
	p.do(chromedp.Evaluate(`old`, &after))
	if after != before {
		t.Errorf("the cursor that is over was asked for %d times more", after-before)
	}
}

// The audit trail is exported for the time that is shown, and a filter looks in all of it after a record was opened by its id.
func TestAuditOfATime(t *testing.T) {
	p := beforeIn(t, answering("/api/audit", `(q) => ({records: [{eventId: "aud_01ARZ3NDEKTSV4RRFFQ0000001", sequence: 1, timestamp: "2026-01-02T03:04:05Z", action: "keys.create", outcome: "success", category: "admin", actor: {type: "user", id: "anonymous"}, resource: {type: "keys"}, request: {}, hash: "", previousHash: ""}], hasMore: false})`))
	p.do(chromedp.Navigate(shared.URL + "/audit?since=2026-01-02T03:00:00Z&until=2026-01-02T04:00:00Z"))
	p.until("the record", `document.querySelector("main tr[data-index]")`)
	var hrefs string
	p.do(chromedp.Evaluate(`[...document.querySelectorAll("a[download]")].map((a) => new URL(a.href).searchParams.get("until")).join()`, &hrefs))
	if hrefs != strings.Repeat("2026-01-02T04:00:00Z,", 2)[:41] {
		t.Errorf("the exports are until %q", hrefs)
	}
	p.do(chromedp.Navigate(shared.URL + "/audit?sel=aud_01ARZ3NDEKTSV4RRFFQ0000001"))
	p.until("the record", `document.querySelector("aside.detail")`)
	p.click(css("form.bar input[name=action]"))
	p.do(chromedp.KeyEvent("keys.*"))
	p.click(`[...document.querySelectorAll("form.bar button")].find((b) => b.innerText === "Filter")`)
	p.until("what is asked for", `window.made.some((s) => s.includes("action=keys"))`)
	var asked string
	p.do(chromedp.Evaluate(`window.made.at(-1)`, &asked))
	if strings.Contains(asked, "since=") {
		t.Errorf("a filter looks at a minute only: %s", asked)
	}
}

// A link to a record by its number shows it without a look at all that is newer.
func TestLinkToAuditNumber(t *testing.T) {
	p := beforeIn(t, answering("/api/audit", `(q) => {
		const from = Math.min(9000, Number(q.get("cursor") ?? 9000), Number(q.get("before") || 9001) - 1), n = Number(q.get("limit"));
		return {records: Array.from({length: n}, (_, i) => from - i).map((n) => ({eventId: "aud_01ARZ3NDEKTSV4RRFFQ" + String(n).padStart(7, "0"), sequence: n, timestamp: "2026-01-02T03:04:05Z", action: "keys.number" + n, outcome: "success", category: "admin",
			actor: {type: "user", id: "anonymous"}, resource: {type: "keys"}, request: {}, details: {}, hash: "", previousHash: ""})), hasMore: true, nextCursor: String(from - n)};
	}`))
	p.do(chromedp.Navigate(shared.URL + "/audit?sel=5000"))
	p.until("the record", `document.querySelector(".detail")?.innerText.includes("keys.number5000")`)
	if n := p.count(`made.length`); n > 10 { // the list reads on by itself where its end comes into view
		t.Errorf("%d pages were read for it", n)
	}
	p.until("the list, from its beginning", `document.querySelector("main tr[data-index]")?.innerText.includes("keys.number9000")`)
}
