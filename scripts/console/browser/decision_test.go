package browser_test

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/wardroom/wardroom/sdk/client"
)

// A decision that is half written outlives a look at another tab of its thread, and one that was changed after its answer was lost is another one.
func TestDecisionIsKept(t *testing.T) {
	thread := shell(t, client.ThreadSpec{Objective: "echo one"})
	p := beforeIn(t, `{ const real = window.fetch; let lost = false; window.fetch = async (address, o) => {
		const answer = await real(address, o);
		if (lost || o?.method !== "POST" || !new URL(address, location.href).pathname.endsWith("/shared-decisions")) return answer;
		lost = true;
		return new Response(JSON.stringify({error: {code: "INTERNAL_ERROR", message: "the answer is lost"}}), {status: 503, headers: {"Content-Type": "application/json"}});
	}; }`)
	p.away(true) // a refusal is an error to browsers
	p.do(chromedp.Navigate(shared.URL + "/threads/" + thread.ID + "?tab=memory"))
	const field = `document.querySelector("form.saying textarea")`
	p.click(field)
	p.do(chromedp.KeyEvent("tabs, not spaces"))
	p.click(css(`.tabs a[href$="tab=workspace"]`))
	p.until("another tab", `!`+field)
	p.click(css(`.tabs a[href$="tab=memory"]`))
	p.until("the form", field)
	if !p.holds(field + `.value === "tabs, not spaces"`) {
		t.Error("what was typed is gone")
		p.click(field)
		p.do(chromedp.KeyEvent("tabs, not spaces"))
	}
	p.click(button("Write it down"))
	p.until("that the answer is lost", main+`.includes("the answer is lost")`)
	p.do(chromedp.Evaluate(field+`.focus()`, nil), chromedp.KeyEvent(kb.End), chromedp.KeyEvent(" in Go"))
	p.click(button("Write it down"))
	p.until("an answer", `document.querySelector("main .notice.bad")?.innerText.includes("Idempotency-Key") || `+main+`.includes("tabs, not spaces in Go")`)
	if !p.holds(main + `.includes("tabs, not spaces in Go")`) {
		t.Errorf("a changed decision is refused\n%s", p.text())
	}
	p.until("an empty field", field+`.value === ""`)
	p.do(chromedp.Reload())
	p.until("the form, empty", field+`?.value === ""`)
}
