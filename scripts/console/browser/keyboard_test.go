package browser_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// The main job by keyboard alone: a run by its form, the slowest task and what it was asked, a question and its answer.
func TestMainJobByKeyboard(t *testing.T) {
	p := open(t, "/")
	p.until("the overview", `document.querySelectorAll(".tile").length >= 6 && [...document.querySelectorAll(".tile strong")].every((n) => /\d/.test(n.innerText))`)
	p.press("?")
	p.until("the list of keys", `document.querySelector("dialog .keys")?.innerText.includes("Enter")`)
	p.press(kb.Escape)
	p.until("no list of keys", `!document.querySelector("dialog")`)

	p.runByKeys("startup-team")
	p.until("the end of the execution", `document.querySelector(".head .state")?.innerText.includes("completed")`)
	p.tabTo("the timeline", `e.role === "row"`)
	for range 60 {
		if p.holds(`document.activeElement.dataset.key?.startsWith("task:")`) {
			break
		}
		p.press("j")
	}
	p.press(kb.Enter)
	p.until("what the task was asked, and its answer", selected+`?.innerText.includes("Asked, as it was sent") && `+selected+`.innerText.includes("Answer") && `+selected+`.innerText.includes("Attempts")`)

	p.runByKeys("enterprise-review")
	p.until("the question in the navigation", `document.querySelector("nav .count.needs")`)
	p.press("g", "i")
	p.until("the question", `document.querySelector(".answerbox textarea")`)
	p.tabTo("the answer", `e.tagName === "TEXTAREA"`)
	p.do(chromedp.KeyEvent("yes, our texts are short"), chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(2)))
	p.until("an empty inbox", `!document.querySelector("nav .count.needs")`)
	p.press("g", "e")
	p.until("the executions", `location.pathname === "/executions" && document.querySelector("tr[data-index]")`)
	p.press("/")
	p.until("the filter has the focus", `["SELECT", "INPUT"].includes(document.activeElement.tagName)`)
}

// press presses keys one after the other.
func (p *page) press(keys ...string) {
	p.t.Helper()
	for _, key := range keys {
		p.do(chromedp.KeyEvent(key))
	}
}

// holds reports whether an expression is true in the page now.
func (p *page) holds(expression string) (is bool) {
	p.t.Helper()
	p.do(chromedp.Evaluate("Boolean("+expression+")", &is))
	return is
}

// tabTo presses Tab until what has the focus, e, is what is sought.
func (p *page) tabTo(what, e string) {
	p.t.Helper()
	p.until(what, fmt.Sprintf(`[...document.querySelectorAll("a,button,input,select,textarea,[tabindex]")].some((e) => %s)`, e))
	for range 120 {
		if p.holds(fmt.Sprintf("((e) => %s)(document.activeElement)", e)) {
			return
		}
		p.press(kb.Tab)
	}
	p.t.Fatalf("%s is not reached by Tab\n%s", what, p.text())
}

// runByKeys runs an org chart from the list of patterns, by its form.
func (p *page) runByKeys(pattern string) {
	p.t.Helper()
	p.press("g", "p")
	p.until("the patterns, with the focus in them", fmt.Sprintf(`document.activeElement.id === "main" && [...document.querySelectorAll("tr")].some((r) => r.dataset.id === %q)`, pattern))
	for range 60 {
		if p.holds(fmt.Sprintf(`document.activeElement.dataset.id === %q`, pattern)) {
			break
		}
		row := `document.activeElement.dataset.index ?? ""`
		var before string
		p.do(chromedp.Evaluate(row, &before))
		p.press("j")
		p.until("another row", row+" !== "+fmt.Sprintf("%q", before))
	}
	p.press(kb.Enter)
	p.until("the pattern", fmt.Sprintf(`location.pathname === "/patterns/%s"`, pattern))
	p.tabTo("the button", `e.tagName === "BUTTON" && e.innerText.startsWith("Run")`)
	p.press(kb.Enter)
	p.until("the form", `document.querySelector("dialog textarea")`)
	p.tabTo("the task", `e.tagName === "TEXTAREA"`)
	p.do(chromedp.KeyEvent("a command that counts lines and words"))
	p.tabTo("the form's button", `e.tagName === "BUTTON" && e.innerText.trim() === "Run" && e.closest("dialog")`)
	p.press(kb.Enter)
	p.until("the execution", fmt.Sprintf(`location.pathname.startsWith("/executions/exec_") && document.querySelector("h1")?.innerText.startsWith(%q)`, pattern))
}
