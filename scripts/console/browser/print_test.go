package browser_test

import (
	"context"
	"regexp"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	browserpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// A page is printed as a whole, in dark letters, with exact times, without what is there to be pressed.
func TestPrinting(t *testing.T) {
	done := team(t)
	at := "/executions/" + done.ExecutionID
	for _, path := range []string{"/", at, at + "?sel=step:0", at + "?tab=data", at + "?tab=journal", "/executions", "/patterns/startup-team?tab=definition", "/system"} {
		t.Run(path, func(t *testing.T) {
			p := beforeIn(t, `localStorage.setItem("wardroom", JSON.stringify({theme: "dark"}))`)
			defer func() { _ = chromedp.Run(p.ctx, chromedp.Evaluate(`localStorage.clear()`, nil)) }()
			p.do(chromedp.EmulateViewport(800, 300), chromedp.Navigate(shared.URL+path))
			p.until("the screen", `document.querySelector("h1") && !document.querySelector("main .waiting")`)
			p.do(emulation.SetEmulatedMedia().WithMedia("print"))
			// What has its own place to scroll on the screen is not cut off on paper; lines of text and pictures may be.
			if cut := p.each(`[...document.querySelectorAll("html, body, #app, .frame, main, main *")].filter((e) => e.checkVisibility() && ["auto", "scroll", "hidden"].includes(getComputedStyle(e).overflowY) && e.scrollHeight > e.clientHeight + 2 && e.clientHeight > 30).map((e) => e.tagName + "." + e.className + " " + e.clientHeight + " of " + e.scrollHeight)`); len(cut) > 0 {
				t.Errorf("cut off: %q", cut)
			}
			if !p.holds(`!document.querySelector(".side").checkVisibility() && !document.querySelector(".top").checkVisibility()`) {
				t.Error("the navigation is printed")
			}
			if !p.holds(`![...document.querySelectorAll("main :is(.button, .quiet, .filter, .group)")].some((e) => e.checkVisibility())`) {
				t.Error("what is to be pressed is printed")
			}
			p.do(chromedp.Evaluate(`dispatchEvent(new Event("beforeprint")); new Promise((drawn) => setTimeout(drawn))`, nil, awaited))
			if !p.holds(`[...document.querySelectorAll("main time")].every((e) => /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/.test(e.innerText))`) {
				t.Errorf("a time is no exact one\n%s", p.text())
			}
			var ink string
			p.do(chromedp.Evaluate(`getComputedStyle(document.body).color`, &ink))
			if ink != "rgb(31, 35, 40)" {
				t.Errorf("the letters are %s", ink)
			}
		})
	}
}

// All rows of a list are on paper, and those beyond the window are out of the document again afterwards.
func TestPrintingAllRows(t *testing.T) {
	p := beforeIn(t, answering("/api/schedules", `() => ({total: 300, limit: 1000, offset: 0, hasMore: false, schedules: Array.from({length: 300}, (_, n) =>
		({id: "sched_01ARZ3NDEKTSV4RRFFQ" + String(n).padStart(7, "0"), name: "s" + n, status: "active", cron: "0 3 * * *", timeZone: "UTC", target: {execution: {pattern: "urgency"}}}))})`))
	p.do(chromedp.Navigate(shared.URL + "/schedules"))
	p.until("the rows", `document.querySelector("main tr[data-index]")`)
	var paper []byte
	p.do(chromedp.Evaluate(`window.printed = 0; addEventListener("beforeprint", () => queueMicrotask(() => queueMicrotask(() => { printed = document.querySelectorAll("main tr[data-index]").length; }))); 0`, nil),
		chromedp.ActionFunc(func(ctx context.Context) (err error) {
			paper, _, err = browserpage.PrintToPDF().Do(ctx)
			return err
		}))
	if n := p.count(`printed`); n != 300 {
		t.Errorf("%d rows are printed", n)
	}
	// A sheet has some forty rows.
	if n := len(regexp.MustCompile(`/Type\s*/Page\b[^s]`).FindAll(paper, -1)); n < 6 || n > 12 {
		t.Errorf("they are on %d sheets", n)
	}
	p.until("the rows of the window alone", `document.querySelectorAll("main tr[data-index]").length < 100`)
}
