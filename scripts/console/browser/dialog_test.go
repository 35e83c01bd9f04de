package browser_test

import (
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// What is typed into a dialog outlives a press of the mouse that began in it and ended beside it, as when text is selected.
func TestDialogAndMouse(t *testing.T) {
	p := open(t, "/patterns/startup-team")
	p.click(button("Run"))
	p.click(css("dialog textarea"))
	p.do(chromedp.KeyEvent("a long thought"))
	var at []float64
	p.do(chromedp.Evaluate(`(() => { const r = document.querySelector("dialog textarea").getBoundingClientRect(); return [r.x + 40, r.y + r.height / 2]; })()`, &at))
	p.do(chromedp.MouseEvent(input.MousePressed, at[0], at[1], chromedp.ButtonLeft, chromedp.ClickCount(1)), chromedp.MouseEvent(input.MouseMoved, 5, 400, chromedp.ButtonLeft), chromedp.MouseEvent(input.MouseReleased, 5, 400, chromedp.ButtonLeft, chromedp.ClickCount(1)))
	if !p.holds(`document.querySelector("dialog textarea")?.value === "a long thought"`) {
		t.Error("the dialog was closed, and what was typed is gone")
	}
	p.do(chromedp.MouseClickXY(5, 400))
	p.until("a click beside it closes it", `!document.querySelector("dialog")`)
}

// A key that is held down, and so comes again, destroys nothing: where that cannot be undone, the focus is on the way out.
func TestHeldKeyDestroysNothing(t *testing.T) {
	putUrgency(t)
	id := begun(t)
	p := open(t, "/executions/"+id)
	p.until("the way to cancel it", button("Cancel"))
	p.do(chromedp.Evaluate(button("Cancel")+`.focus(); 0`, nil), chromedp.KeyEvent(kb.Enter))
	p.until("the question first", `document.querySelector("dialog[open]") && document.activeElement.innerText === "Keep as it is"`)
	p.do(chromedp.KeyEvent(kb.Enter))
	p.until("the dialog gone", `!document.querySelector("dialog")`)
	now, err := shared.Client.GetExecution(t.Context(), id)
	if err != nil || now.Status == "cancelled" {
		t.Errorf("the execution is %v, %v", now, err)
	}
}
