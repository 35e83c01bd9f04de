package browser_test

import (
	"context"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/wardroom/wardroom/sdk/client"
)

// The form that runs a pattern names the bounds of each field, and holds back what is out of them before anything is sent.
func TestRunFormHasBounds(t *testing.T) {
	definition := `name: bounded
version: 1.0.0
input:
  count: {type: integer, min: 1, max: 10}
  share: {type: number, min: 0.5}
  word: {type: string, minLength: 3, maxLength: 5}
  many: {type: string, pattern: '^[a-z]+$'}
  list: {type: array, maxLength: 2}
agents: {capabilities: [urgency], min: 1}
aggregation: {strategy: first}
`
	if _, err := shared.Client.CreatePattern(t.Context(), client.PatternInput{Definition: definition}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = shared.Client.DeletePattern(context.WithoutCancel(t.Context()), "bounded", "")
	})
	p := beforeIn(t, `{ const real = window.fetch; window.sent = []; window.fetch = (address, o) => {
		if (o?.method !== "POST" || !new URL(address, location.href).pathname.endsWith("/execute")) return real(address, o);
		sent.push(o.body);
		return Promise.resolve(new Response(JSON.stringify({error: {code: "VALIDATION_ERROR", message: "looked at"}}), {status: 400, headers: {"Content-Type": "application/json"}}));
	}; }`)
	p.do(chromedp.Navigate(shared.URL + "/patterns/bounded"))
	p.click(button("Run"))
	const fields = `[...document.querySelectorAll("dialog form > .body > label")]`
	p.until("the form", fields+`.length > 5`)
	for _, f := range []struct{ name, bounds, bad, why, good string }{
		{"count", "integer, from 1 to 10", "11", "at most 10", "10"},
		{"count", "integer, from 1 to 10", "2.5", "whole number", "2"},
		{"share", "number, at least 0.5", "0.4", "at least 0.5", "1e400"},
		{"word", "string, 3 to 5 characters", "ab", "at least 3 characters", "🙂🙂🙂🙂🙂"},
		{"many", "string, matching ^[a-z]+$", "", "", "ab"},
		{"list", "array, at most 2 elements", "[1, 2, 3]", "at most 2 elements", "[[1, 2, 3]]"},
	} {
		label := fields + `.find((l) => l.querySelector("strong").textContent === "` + f.name + `")`
		if !p.holds(label + `.innerText.includes("` + f.bounds + `")`) {
			t.Errorf("%s does not say %q\n%s", f.name, f.bounds, p.text())
		}
		if f.bad != "" {
			p.fill(label+`.querySelector("textarea")`, f.bad)
			p.click(`[...document.querySelectorAll("dialog button")].find((b) => b.innerText === "Run")`)
			if !p.holds(`document.activeElement === ` + label + `.querySelector("textarea") && document.activeElement.validationMessage.includes("` + f.why + `") && sent.length === 0`) {
				t.Errorf("%s takes %s\n%s", f.name, f.bad, p.text())
				p.do(chromedp.Evaluate(`sent.length = 0`, nil))
			}
		}
		p.fill(label+`.querySelector("textarea")`, f.good)
	}
	p.checkAxe(t, "a form with bounds")
	p.click(`[...document.querySelectorAll("dialog button")].find((b) => b.innerText === "Run")`)
	p.until("what is within them", `sent.length === 1 && sent[0].includes('"count":2,"share":1e400,"word":"🙂🙂🙂🙂🙂","many":"ab","list":[[1,2,3]]')`)
}
