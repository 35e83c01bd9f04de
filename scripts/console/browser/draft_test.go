package browser_test

import (
	"fmt"
	"testing"

	browserpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/wardroom/wardroom/sdk/client"
)

// Each tab has its own draft of a new pattern; what a closed tab leaves is offered to the next one, and none takes another's away.
func TestDraftsOfTabs(t *testing.T) {
	const area = `document.querySelector(".paper textarea")`
	write := func(p *page, name string) {
		t.Helper()
		p.until("the template", area+`?.value.startsWith("name: my-pattern\n")`)
		p.do(chromedp.Evaluate(fmt.Sprintf(`(() => { const e = %s; e.value = e.value.replace("my-pattern", %q); e.dispatchEvent(new Event("input", {bubbles: true})); })()`, area, name), nil))
		p.until("the draft", fmt.Sprintf(`document.querySelector(".editing").innerText.includes("draft, kept") && Object.values(localStorage).some((v) => v.includes(%q))`, "name: "+name))
	}
	reload := func(p *page, name string) {
		t.Helper()
		p.do(browserpage.BringToFront(), chromedp.Reload())
		p.until("a text after a reload", area+`?.value`)
		if !p.holds(area + `.value.startsWith("name: ` + name + `\n")`) {
			t.Errorf("the draft of %s is another one\n%s", name, p.text())
		}
	}
	one := open(t, "/patterns?tab=new")
	defer func() { _ = chromedp.Run(one.ctx, chromedp.Evaluate(`localStorage.clear()`, nil)) }()
	write(one, "first")
	two := open(t, "/patterns?tab=new")
	write(two, "second")
	reload(one, "first")
	reload(two, "second")
	if err := chromedp.Cancel(two.ctx); err != nil {
		t.Fatal(err)
	}

	offer := func(name string) string {
		return fmt.Sprintf(`[...document.querySelectorAll(".editing p.bar")].find((p) => p.innerText.includes(%q))?.querySelector("button")`, name+"@1.0.0")
	}
	three := open(t, "/patterns?tab=new")
	three.until("the draft of the closed tab, offered", offer("second"))
	three.checkAxe(t, "drafts of other tabs")
	three.click(offer("second"))
	three.until("it", area+`.value.startsWith("name: second\n") && document.activeElement === `+area)
	three.click(button("Give it up"))
	three.click(offer("first"))
	three.until("a copy of what is written elsewhere", area+`.value.startsWith("name: first\n")`)
	reload(one, "first")
}

// A message that is too long to be kept is not called kept either, and takes nothing away that was.
func TestMessageWithoutRoom(t *testing.T) {
	thread := shell(t, client.ThreadSpec{Objective: "echo one"})
	p := open(t, "/threads/"+thread.ID)
	const area = `document.querySelector(".composer textarea")`
	write := func(text string) {
		t.Helper()
		p.until("the composer", area)
		p.do(chromedp.Evaluate(fmt.Sprintf(`(() => { const e = %s; e.value = %s; e.dispatchEvent(new Event("input", {bubbles: true})); })()`, area, text), nil))
	}
	write(`"short"`)
	p.until("what is kept", `Object.values(sessionStorage).includes("short")`)
	write(`"x".repeat((1 << 20) + 1)`)
	p.until("that it is not kept", `document.querySelector(".composer [role=status]")?.innerText.startsWith("Not kept")`)
	p.checkAxe(t, "a message that is not kept")
	p.do(chromedp.Reload())
	p.until("the last text that fitted", area+`?.value === "short"`)
}

// The editor does not call a draft kept that the browser keeps nowhere.
func TestDraftWithoutRoom(t *testing.T) {
	p := open(t, "/patterns?tab=new")
	defer func() { _ = chromedp.Run(p.ctx, chromedp.Evaluate(`localStorage.clear()`, nil)) }()
	write := func(text string) {
		t.Helper()
		p.do(chromedp.Evaluate(fmt.Sprintf(`(() => { const e = document.querySelector(".paper textarea"); e.value = %s; e.dispatchEvent(new Event("input", {bubbles: true})); })()`, text), nil))
	}
	says := func(what string) string {
		return fmt.Sprintf(`document.querySelector(".editing > .bar").innerText.includes(%q)`, what)
	}
	told := func(why string) {
		t.Helper()
		p.until("what becomes of the draft, "+why, says("draft, not kept")+" || "+says("looking at it")+" === false && "+says("draft, kept"))
		if !p.holds(says("draft, not kept")) {
			t.Errorf("a draft is called kept %s", why)
		}
	}
	p.until("the template", `document.querySelector(".paper textarea")?.value`)
	write(`"# " + "x".repeat(256 << 10)`)
	told("that is too long")
	write(`"# short"`)
	p.until("that a short one is kept", says("draft, kept"))
	write(`"# " + "x".repeat(256 << 10)`)
	told("that grew too long")
	p.do(chromedp.Reload())
	p.until("the last text that fitted", `document.querySelector(".paper textarea")?.value`)
	if !p.holds(`document.querySelector(".paper textarea").value === "# short"`) {
		t.Error("a draft that grew too long takes away what was kept of it")
	}
	p.do(chromedp.Evaluate(`for (let n = 1 << 22, i = 0; n >= 1; n >>= 1, i++) try { localStorage.setItem("fill" + i, "x".repeat(n)); } catch {}; for (let i = 100; i < 200; i++) try { localStorage.setItem("fill" + i, ""); } catch { break; } 0`, nil))
	write(`"# " + "y".repeat(1 << 10)`)
	told("for which there is no room")
	p.checkAxe(t, "a draft that is not kept")
}

// What closed tabs leave does not fill the browser: the oldest drafts go, and the newest are offered.
func TestDraftsLeftBehind(t *testing.T) {
	p := open(t, "/patterns?tab=new")
	defer func() { _ = chromedp.Run(p.ctx, chromedp.Evaluate(`localStorage.clear()`, nil)) }()
	p.until("the template", `document.querySelector(".paper textarea")?.value`)
	p.do(chromedp.Evaluate(`localStorage.clear(); for (let i = 0; i < 120; i++) localStorage.setItem("wardroom-draft:new in " + (1000 + i) + "-tab", "name: left-" + i + "\nversion: 1.0.0\n"); 0`, nil), chromedp.Reload())
	p.until("drafts that were left", `document.querySelector(".editing p.bar")`)
	if !p.holds(`document.querySelector(".editing p.bar").innerText.includes("left-119@1.0.0")`) {
		t.Errorf("the newest draft is not offered first\n%s", p.text())
	}
	p.do(chromedp.Evaluate(`(() => { const e = document.querySelector(".paper textarea"); e.value = "name: written-now"; e.dispatchEvent(new Event("input", {bubbles: true})); })()`, nil))
	p.until("the draft", `Object.values(localStorage).includes("name: written-now")`)
	var kept []string
	p.do(chromedp.Evaluate(`Object.keys(localStorage).filter((k) => k.startsWith("wardroom-draft:")).sort()`, &kept))
	if len(kept) != 100 || kept[0] != "wardroom-draft:new in 1021-tab" {
		t.Errorf("%d drafts are kept, the oldest %q", len(kept), kept[0])
	}
}

// The draft of a pattern has the last key when the tab is closed with it: before the next frame.
func TestDraftHasTheLastKey(t *testing.T) {
	p := open(t, "/patterns?tab=new")
	defer func() { _ = chromedp.Run(p.ctx, chromedp.Evaluate(`localStorage.clear()`, nil)) }()
	const area = `document.querySelector(".paper textarea")`
	p.until("the template", area+`?.value`)
	p.do(chromedp.Evaluate(`(() => { const e = `+area+`; e.value = "name: last-key"; e.dispatchEvent(new Event("input", {bubbles: true})); window.keptAtOnce = Object.values(localStorage).includes("name: last-key"); })()`, nil))
	if !p.holds(`window.keptAtOnce`) {
		t.Error("a tab that is closed now loses what was typed last")
	}
	p.until("what it is called", `document.querySelector(".editing").innerText.includes("draft, kept")`)
}
