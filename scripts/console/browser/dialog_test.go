package browser_test

import (
	"fmt"
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

// A second press on an option, as of a double click, does not answer what is asked next in the same place.
func TestPressAnswersWhatWasSeen(t *testing.T) {
	const asks = `{ const real = window.fetch; window.given = [];
		const item = (n) => ({source: "managed_agent", kind: "approval", id: "magent_01ARZ3NDEKTSV4RRFFQ69G5FA" + n, name: "writer", promptId: "p" + n, text: "May I run number " + n + "?", tool: "Bash", input: {command: "rm " + n}, since: new Date(n * 1000).toISOString(), options: [{id: "allow", label: "Allow"}, {id: "deny", label: "Deny"}]});
		const json = (v) => Promise.resolve(new Response(JSON.stringify(v), {headers: {"Content-Type": "application/json"}}));
		window.fetch = (address, o) => {
			const path = new URL(address, location.href).pathname;
			if (o?.method === "POST" && path.endsWith("/answer")) { given.push(JSON.parse(o.body).promptId); return json({}); }
			if (path === "/api/inbox") { const items = [1, 2, 3].filter((n) => !given.includes("p" + n)).map(item); return json({items, total: items.length, limit: 100, offset: 0, hasMore: false}); }
			return real(address, o);
		};
		// The second press comes as soon as the next question is there.
		new MutationObserver(() => {
			const allow = document.querySelector(".answerbox [data-option=allow]");
			if (given.length === 1 && !window.pressed && document.querySelector(".answerbox .asked")?.innerText.includes("number 2") && allow && !allow.disabled) { window.pressed = true; allow.click(); }
		}).observe(document, {subtree: true, childList: true, characterData: true, attributes: true}); }`
	p := beforeIn(t, asks)
	p.do(chromedp.Navigate(shared.URL + "/inbox"))
	p.until("the first", `document.querySelector(".answerbox .asked")?.innerText.includes("number 1")`)
	p.click(css(".answerbox [data-option=allow]"))
	p.until("the second press", `window.pressed`)
	p.until("the next question, or the one after it", `document.querySelector(".answerbox .asked")?.innerText.match(/number [23]/)`)
	p.click(css(".answerbox [data-option=deny]"))
	p.until("an answer to each press that was seen", `given.length >= 2`)
	var given string
	p.do(chromedp.Evaluate(`given.join()`, &given))
	if given != "p1,p2" {
		t.Errorf("answered: %s, not p1 and p2", given)
	}
}

// A dialog with more than a screen has place for is all on the screen, with what scrolls in it: its buttons can be pressed.
func TestTallDialogFits(t *testing.T) {
	putUrgency(t)
	p := open(t, "/webhooks")
	for _, one := range []struct{ path, opens, fills string }{
		{"/webhooks", "New", ""},
		{"/patterns/urgency", "Run", `document.querySelector("dialog details").open = true; document.querySelectorAll("dialog textarea").forEach((e) => { e.style.height = "800px"; });`},
	} {
		p.do(chromedp.EmulateViewport(1440, 900), chromedp.Navigate(shared.URL+one.path))
		p.click(button(one.opens))
		p.until("the form", `document.querySelector("dialog form")`)
		p.do(chromedp.Evaluate(one.fills+` 0`, nil))
		for _, size := range [][2]int64{{1440, 757}, {1440, 560}, {1440, 900}, {360, 640}, {640, 360}} {
			p.do(chromedp.EmulateViewport(size[0], size[1]))
			p.until("the size", fmt.Sprintf(`innerWidth === %d && innerHeight === %d`, size[0], size[1]))
			if !p.holds(`((r) => r.top >= 0 && r.bottom <= innerHeight)(document.querySelector("dialog").getBoundingClientRect()) && ((r) => r.bottom <= innerHeight)(document.querySelector("dialog footer").getBoundingClientRect())`) {
				t.Errorf("%s: in %d by %d pixels it ends below the screen", one.path, size[0], size[1])
			}
		}
	}
}
