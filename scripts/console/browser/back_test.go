package browser_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/wardroom/wardroom/sdk/client"
)

// What is sent, or stored, while the person looks at something else and comes back is not there to be sent again, and takes nothing away
// that was written since.
func TestBackBeforeTheAnswer(t *testing.T) {
	holding := func(p *page, pattern, end string) *gate {
		g := newGate()
		p.insteadOf(pattern, func(r *network.Request) *answer {
			if r.Method == http.MethodPost && strings.HasSuffix(r.URL, end) {
				g.hold(p)
			}
			return nil
		})
		return g
	}
	t.Run("message", func(t *testing.T) {
		thread := shell(t, client.ThreadSpec{Objective: "echo one"})
		p := openIn(t, "about:blank")
		g := holding(p, "*/api/managed-threads/*", "/send")
		at := "/threads/" + thread.ID
		p.do(chromedp.Navigate(shared.URL + at))
		const field = `document.querySelector(".composer textarea")`
		p.click(field)
		p.do(chromedp.KeyEvent("echo first"), chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(2)))
		p.await(g, "the message")
		p.to(at + "?tab=memory")
		p.until("the other tab", `!document.querySelector(".composer")`)
		p.to(at)
		p.until("the message", field+`?.value === "echo first"`)
		p.click(field)
		p.do(chromedp.KeyEvent(kb.End), chromedp.KeyEvent(" and a second"))
		close(g.opened)
		p.until("what was written since, without what was sent", field+`.value === "and a second" && Object.values(sessionStorage).includes("and a second")`)
	})
	t.Run("pattern", func(t *testing.T) {
		const text = "name: back-before\nversion: 1.0.0\nagents: {capabilities: [urgency], min: 1}\naggregation: {strategy: first}\n"
		if _, err := shared.Client.CreatePattern(t.Context(), client.PatternInput{Definition: text}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = shared.Client.DeletePattern(context.WithoutCancel(t.Context()), "back-before", "") })
		p := openIn(t, "about:blank")
		defer func() { _ = chromedp.Run(p.ctx, chromedp.Evaluate(`localStorage.clear()`, nil)) }()
		g := holding(p, "*/api/patterns", "/api/patterns")
		const area, at = `document.querySelector(".paper textarea")`, "/patterns/back-before?tab=edit"
		write := func(text string) {
			t.Helper()
			p.do(chromedp.Evaluate(fmt.Sprintf(`(() => { const e = %s; e.value = %q; e.dispatchEvent(new Event("input", {bubbles: true})); })()`, area, text), nil))
		}
		p.do(chromedp.Navigate(shared.URL + at))
		p.until("the text", area+`?.value.includes("back-before")`)
		next := strings.Replace(text, "1.0.0", "1.0.1", 1)
		write(next)
		p.click(button("Save as 1.0.1"))
		p.await(g, "the version")
		p.to("/patterns")
		p.until("the patterns", `!document.querySelector(".paper")`)
		p.to(at)
		p.until("the draft", area+`?.value.includes("1.0.1")`)
		write(next + "# written since\n")
		close(g.opened)
		p.until("that it is stored", `performance.getEntriesByType("resource").some((e) => e.name.endsWith("/api/patterns"))`)
		p.do(chromedp.Evaluate(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))`, nil, awaited))
		if !p.holds(area + `?.value.includes("written since") && Object.values(localStorage).some((v) => v.includes("written since"))`) {
			t.Errorf("what was written since is gone\n%s", p.text())
		}
	})
}
