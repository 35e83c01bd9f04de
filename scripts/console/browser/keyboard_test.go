package browser_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/wardroom/wardroom/scripts/testbed"
	"github.com/wardroom/wardroom/sdk/client"
)

// tabTo presses Tab until the focus is on what an expression of `e` accepts, as a person without a mouse does, and returns how often.
func (p *page) tabTo(what, expression string) int {
	p.t.Helper()
	at := fmt.Sprintf(`((e) => e && %s)(document.activeElement)`, expression)
	p.until("something to go to: "+what, fmt.Sprintf(`[...document.querySelectorAll("a,button,input,textarea,select,[tabindex]")].some((e) => e.offsetParent && %s)`, expression))
	for n := range 80 {
		if p.holds(at) {
			return n
		}
		p.do(chromedp.KeyEvent(kb.Tab))
	}
	p.t.Fatalf("80 times Tab do not lead to %s\n%s", what, p.text())
	return 0
}

// goBy presses g and the letter of a screen, and again where the machine took longer between the two than a person does.
func (p *page) goBy(letter, there string) {
	p.t.Helper()
	if err := testbed.Until(p.ctx, waiting, "the screen by g "+letter, func(ctx context.Context) (bool, error) {
		p.do(chromedp.KeyEvent("g"), chromedp.KeyEvent(letter))
		return testbed.Until(ctx, 5*time.Second, there, func(context.Context) (bool, error) { return p.holds(there), nil }) == nil, nil
	}); err != nil {
		p.t.Fatalf("%v\n%s", err, p.text())
	}
}

// A letter after g leads to a screen by when both were pressed, however late a busy page handles them.
func TestKeysOfBusyPage(t *testing.T) {
	p := open(t, "/")
	p.until("the overview", `document.querySelectorAll(".tile").length >= 6`)
	p.do(chromedp.Evaluate(`(() => {
		const key = (k) => new KeyboardEvent("keydown", {key: k, bubbles: true, cancelable: true}), was = Date.now, both = [key("g"), key("i")];
		document.body.dispatchEvent(both[0]);
		Date.now = () => was() + 5000;
		document.body.dispatchEvent(both[1]);
		Date.now = was;
	})()`, nil))
	p.until("the inbox", `location.pathname === "/inbox"`)
}

// The main job by keyboard alone: a run, the slowest task and what it was asked, a question and its answer. The mouse is
// never touched, and the focus is where a person expects it.
func TestMainJobByKeyboard(t *testing.T) {
	p := open(t, "/")
	p.until("the overview", `document.querySelectorAll(".tile").length >= 6`)
	run := func(pattern string) {
		t.Helper()
		p.do(chromedp.KeyEvent("k", chromedp.KeyModifiers(2)))
		p.until("the field of the jump", `document.activeElement?.closest("dialog") && document.activeElement.matches("input")`)
		p.do(chromedp.KeyEvent(pattern))
		p.until("the pattern", `document.querySelector("#hits [aria-selected=true]")?.innerText.includes("`+pattern+`")`)
		p.do(chromedp.KeyEvent(kb.Enter))
		p.until("its screen", `location.pathname === "/patterns/`+pattern+`" && document.querySelector("h1")?.innerText === "`+pattern+`"`)
		p.tabTo("Run", `e.matches("main .head button") && e.innerText.startsWith("Run")`)
		p.do(chromedp.KeyEvent(kb.Enter))
		p.tabTo("the task", `e.matches("dialog textarea")`)
		p.do(chromedp.KeyEvent("a command that counts lines and words"))
		p.tabTo("Run of the form", `e.matches("dialog footer button") && e.innerText.trim() === "Run"`)
		p.do(chromedp.KeyEvent(kb.Enter))
		p.until("the execution", `location.pathname.startsWith("/executions/exec_") && document.querySelector("h1")?.innerText.startsWith("`+pattern+`")`)
	}
	run("startup-team")
	p.until("its end", `document.querySelector(".head .state")?.innerText.includes("completed") && document.querySelectorAll("[role=treegrid] [role=row]").length > 3`)
	p.do(chromedp.KeyEvent("j"))
	p.until("the first row", `document.activeElement?.matches("[role=row]")`)
	const task = `document.activeElement?.dataset.key?.startsWith("task:")`
	for range 30 {
		if p.holds(task) {
			break
		}
		p.do(chromedp.KeyEvent("j"))
	}
	p.until("a task", task)
	p.do(chromedp.KeyEvent(kb.Enter))
	p.until("what it was asked, and its answer", selected+`?.innerText.includes("Asked") && `+selected+`.innerText.includes("Answer")`)

	run("enterprise-review")
	p.until("the question in the navigation", `document.querySelector("nav .count.needs")`)
	p.goBy("i", `location.pathname === "/inbox"`)
	p.until("the inbox with its first question", `location.pathname === "/inbox" && document.querySelector(".answerbox textarea")`)
	p.tabTo("the answer", `e.matches(".answerbox textarea")`)
	p.do(chromedp.KeyEvent("yes, our texts are short"), chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(2)))
	p.until("an empty inbox", `!document.querySelector("nav .count.needs")`)
	p.do(chromedp.Evaluate(`document.activeElement?.blur()`, nil)) // the field is gone with its question, or empty
	p.goBy("e", `location.pathname === "/executions"`)
	p.until("the list", `location.pathname === "/executions" && document.querySelectorAll("main tr[data-index]").length > 1`)
	p.do(chromedp.KeyEvent("j"), chromedp.KeyEvent(kb.Enter))
	p.until("the execution that was answered, at its end", `document.querySelector("h1")?.innerText.startsWith("enterprise-review") && document.querySelector(".head .state")?.innerText.includes("completed")`)
}

// asks runs an org chart that soon asks a person, until the test is over, and returns its id.
func asks(t *testing.T) string {
	t.Helper()
	e, err := shared.Client.ExecuteAsync(t.Context(), client.ExecuteRequest{Pattern: "enterprise-review", Input: []byte(`{"task": "a word counter"}`)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = shared.Client.CancelExecution(context.WithoutCancel(t.Context()), e.ExecutionID, "over")
	})
	return e.ExecutionID
}

// A step is run again from where it is selected, after a look at what is kept; n and p go from problem to problem.
func TestRerunAndProblems(t *testing.T) {
	done, err := shared.Client.Execute(t.Context(), client.ExecuteRequest{Pattern: "startup-team", Input: []byte(`{"task": "a word counter"}`)})
	if err != nil {
		t.Fatal(err)
	}
	p := open(t, "/executions/"+done.ExecutionID)
	p.click(`[...document.querySelectorAll("[role=row]")].findLast((r) => r.dataset.key?.match(/^step:\d+$/))`)
	p.until("the last step", selected+`?.innerText.includes("Run again from here")`)
	var step string
	p.do(chromedp.Evaluate(`new URLSearchParams(location.search).get("sel").slice(5)`, &step))
	p.click(button("Run again from here"))
	p.until("what is kept", `document.querySelector("dialog ul")?.children.length === `+step)
	p.shoot("rerun")
	p.click(`[...document.querySelectorAll("dialog button")].find((b) => b.innerText === "Run again")`)
	p.until("the new execution, which says what it repeats", `!location.pathname.endsWith("`+done.ExecutionID+`") && document.querySelector(".head")?.innerText.includes("from step `+step+`")`)
	p.until("its end", `document.querySelector(".head .state")?.innerText.includes("completed")`)

	p.do(chromedp.Navigate(shared.URL + "/executions/" + asks(t)))
	p.until("a question", `[...document.querySelectorAll("[role=row]")].some((r) => r.dataset.key?.startsWith("question:"))`)
	p.do(chromedp.KeyEvent("n"))
	p.until("it is selected, and has the focus", `new URLSearchParams(location.search).get("sel") && document.activeElement?.dataset.key === new URLSearchParams(location.search).get("sel") && document.querySelector(".detail .state.needs, .detail .state.failed")`)
}
