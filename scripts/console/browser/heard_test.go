package browser_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// heard is how a screen reader gets what has the focus: its name, and what describes it.
func (p *page) heard() (name, description string) {
	p.t.Helper()
	p.do(chromedp.ActionFunc(func(ctx context.Context) error {
		nodes, err := accessibility.GetFullAXTree().Do(ctx)
		for _, n := range nodes {
			for _, property := range n.Properties {
				if property.Name == "focused" && string(property.Value.Value) == "true" && text(n.Role) != "RootWebArea" {
					name, description = text(n.Name), text(n.Description)
				}
			}
		}
		return err
	}))
	return name, description
}

// text returns a value of the accessibility tree; "" for one that is no text, and for none.
func text(v *accessibility.Value) (s string) {
	if v != nil {
		_ = json.Unmarshal(v.Value, &s)
	}
	return s
}

// Who hears the page knows the screen, the row and the dialog that the focus is on, hears of a question at once and of its answer once,
// and is back at the row when its details are closed.
func TestHeard(t *testing.T) {
	done := ran(t)
	p := open(t, "/")
	p.until("the overview", `document.querySelectorAll(".tile").length >= 6`)
	p.goBy("e", `location.pathname === "/executions"`)
	if name, _ := p.heard(); name != "Executions" {
		t.Errorf("the focus of a new screen is on %q, want Executions", name)
	}
	p.until("the row", fmt.Sprintf(`document.querySelector("tr[data-id='%s']")`, done.ExecutionID))
	p.do(chromedp.KeyEvent("j"))
	p.until("the focus on a row", `document.activeElement.matches("tr[data-index]")`)
	if name, _ := p.heard(); !strings.Contains(name, "completed") || !strings.Contains(name, "startup-team") {
		t.Errorf("a row is heard as %q", name)
	}
	id := asks(t)
	p.until("news of the question", `[...document.querySelectorAll("[role=status].sr")].some((s) => /asks: ./.test(s.innerText))`)
	p.do(chromedp.Navigate(shared.URL + "/inbox?execution=" + id))
	p.until("the question", `document.querySelector(".answerbox textarea")`)
	p.do(chromedp.Evaluate(`document.querySelector(".answerbox textarea").focus()`, nil), chromedp.KeyEvent("yes"), chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(2)))
	p.do(chromedp.Navigate(shared.URL + "/executions/" + id))
	p.until("the timeline", `document.querySelectorAll("[role=treegrid] .line").length > 1`)
	p.click(`document.querySelector("[role=treegrid] .line[data-key^='task:']")`)
	p.click(`document.querySelector(".detail > header button[aria-label=Close]")`)
	p.until("the focus on the row whose details were closed", `!document.querySelector(".detail") && document.activeElement.matches(".line[data-key^='task:']")`)
	if name, _ := p.heard(); !strings.Contains(name, "task") {
		t.Errorf("a task is heard as %q", name)
	}
	if p.holds(`[...document.querySelectorAll("[role=status]")].some((s) => s.querySelector("time"))`) {
		t.Error("a status has a time in it, which would be told each second")
	}
	p.do(chromedp.Navigate(shared.URL + "/executions/" + asks(t)))
	p.click(button("Cancel"))
	p.until("the dialog", `document.querySelector("dialog")`)
	if p.holds(`document.getElementById(document.querySelector("dialog").getAttribute("aria-describedby")).innerText.trim() === ""`) {
		t.Error("the dialog does not say what it asks")
	}
	p.click(button("Keep as it is"))
	p.do(chromedp.Navigate(shared.URL + "/patterns/startup-team"))
	p.click(`[...document.querySelectorAll("main .head button")].find((b) => b.innerText.startsWith("Run"))`)
	p.until("the focus on the dialog", `document.activeElement.matches("dialog")`)
	if name, _ := p.heard(); name != "Run startup-team" {
		t.Errorf("a dialog is heard as %q", name)
	}
}
