package browser_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/wardroom/wardroom/scripts/testbed"
)

const selected = `document.querySelector(".detail")`

// The main job by mouse: a first start, a run, the slowest task and what it was asked, a question and its answer.
func TestMainJob(t *testing.T) {
	p := open(t, "/")
	p.until("the overview", `document.querySelectorAll(".tile").length >= 6 && [...document.querySelectorAll(".tile strong")].every((n) => /\d/.test(n.innerText))`)
	var first bool
	p.do(chromedp.Evaluate("Boolean("+button("Run startup-team")+")", &first))
	if first { // it is the first test by its file's name; with -run or -shuffle it may not be
		p.click(button("Run startup-team"))
	} else {
		p.run("startup-team")
	}
	p.until("the timeline of the execution", `location.pathname.startsWith("/executions/exec_") && document.querySelectorAll("[role=treegrid] [role=row]").length > 3`)
	p.until("its end, without a reload", `document.querySelector(".head .state")?.innerText.includes("completed")`)
	p.click(`[...document.querySelectorAll("[role=row]")].find((r) => r.dataset.key?.startsWith("task:"))`)
	p.until("what the task was asked, and its answer", selected+`?.innerText.includes("Asked") && `+selected+`.innerText.includes("Answer")`)
	p.shoot("timeline")
	p.until("the selection in the address", `new URLSearchParams(location.search).get("sel")?.startsWith("task:")`)

	p.run("enterprise-review")
	p.until("the execution", `location.pathname.startsWith("/executions/exec_") && document.querySelector("h1")?.innerText.startsWith("enterprise-review")`)
	p.until("the question in the navigation", `document.querySelector("nav .count.needs")?.innerText === "1"`)
	p.click(button("Answer 1 question"))
	p.click(css(".answerbox textarea"))
	p.do(chromedp.KeyEvent("yes, our texts are short"), chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(2)))
	p.until("an empty inbox", `!document.querySelector("nav .count.needs") && document.querySelector(".notice.good, .empty")`)
	p.do(chromedp.NavigateBack())
	p.until("the end of the execution", `document.querySelector(".head .state")?.innerText.includes("completed")`)
}

// The server dies under an open page and comes back: both are seen, and what happened meanwhile arrives.
func TestServerDiesAndReturns(t *testing.T) {
	p := open(t, "/executions")
	p.until("a live page", `document.querySelector(".live:not(.off)")?.innerText.includes("live")`)
	p.away(true)
	shared.Kill()
	p.until("the break", `document.querySelector(".live.off")`)
	p.shoot("away")
	if err := shared.Start(p.ctx); err != nil {
		t.Fatal(err)
	}
	p.until("the server again", `document.querySelector(".live:not(.off)")?.innerText.includes("live")`)
	p.away(false)
	err := testbed.Until(p.ctx, limit, "the crew is back", func(ctx context.Context) (bool, error) {
		h, err := shared.Client.HealthDetailed(ctx)
		return err == nil && h.Components != nil && h.Components.Agents.Healthy >= 5, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// One stream serves all tabs of a browser, so that more than six of them work over HTTP/1.1.
func TestTenTabs(t *testing.T) {
	var last *page
	for range 10 {
		last = open(t, "/inbox")
	}
	last.until("a live page", `document.querySelector(".live:not(.off)")?.innerText.includes("live")`)
	last.until("its content", `document.querySelector(".empty, .asks")`)
	if text := last.text(); strings.Contains(text, "no connection") {
		t.Error(text)
	}
}

// run runs an org chart from the list of patterns, by its form.
func (p *page) run(pattern string) {
	p.t.Helper()
	p.click(css(`nav a[href="/patterns"]`))
	p.click(fmt.Sprintf(`[...document.querySelectorAll("tr")].find((r) => r.dataset.id === %q)?.querySelector("button")`, pattern))
	p.click(css("dialog textarea"))
	p.do(chromedp.KeyEvent("a command that counts lines and words"))
	p.click(`[...document.querySelectorAll("dialog button")].find((b) => b.innerText.trim() === "Run" && !b.disabled)`)
}
