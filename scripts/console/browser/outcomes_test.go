package browser_test

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// Of many that something is done to the table is drawn a few times a second, not once for each, and it ends with the outcome of all.
func TestOutcomesOfMany(t *testing.T) {
	p := beforeIn(t, `{ const real = window.fetch, json = (v) => Promise.resolve(new Response(JSON.stringify(v), {headers: {"Content-Type": "application/json"}}));
		window.cancelled = 0; window.drawn = 0; window.ms = 0;
		window.fetch = (address, o) => {
			const url = new URL(address, location.href);
			if (o?.method === "POST" && url.pathname.endsWith("/cancel")) { cancelled++; return json({}); }
			if (url.pathname !== "/api/executions") return real(address, o);
			const executions = Array.from({length: 100}, (_, n) => ({executionId: "exec_01ARZ3NDEKTSV4RRFFQ0000" + String(100 + n), status: "running", pattern: "urgency", version: "1.0.0", createdAt: "2026-01-02T03:04:05Z", createdBy: "x"}));
			return json({executions, total: 100, limit: 100, offset: 0, hasMore: false});
		}; }`)
	p.do(chromedp.Navigate(shared.URL + "/executions"))
	p.until("the rows", `document.querySelectorAll("main tr[data-index]").length >= 20`)
	p.do(chromedp.Evaluate(`(() => { for (const e of document.querySelectorAll("main tr[data-index] input[type=checkbox]")) e.click(); })()`, nil))
	p.click(button("Cancel"))
	p.until("the dialog", `document.querySelectorAll("dialog tbody tr").length >= 20`)
	p.do(chromedp.Evaluate(`(() => {
		const began = performance.now(), body = document.querySelector("dialog tbody");
		new MutationObserver(() => { drawn++; ms = performance.now() - began; }).observe(body, {subtree: true, childList: true, characterData: true});
	})()`, nil))
	p.click(`document.querySelector("dialog footer .danger")`)
	p.until("the outcome of all", `[...document.querySelectorAll("dialog tbody tr td:last-child")].every((e) => e.innerText === "cancelled") && document.querySelector("dialog footer [role=status]").innerText.endsWith(" done.")`)
	n, ms, cancelled := p.count(`drawn`), p.count(`Math.round(ms)`), p.count(`cancelled`)
	if most := ms/250 + 3; n > most {
		t.Errorf("the table was drawn %d times in %d ms by the outcomes of %d, more than %d", n, ms, cancelled, most)
	}
}
