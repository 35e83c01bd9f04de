package browser_test

import (
	"context"
	"crypto/rand"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/wardroom/wardroom/scripts/testbed"
	"github.com/wardroom/wardroom/sdk/client"
)

// A conversation has what was asked and what was answered, by turn; a message that is sent from the page is in it.
func TestConversation(t *testing.T) {
	a, err := shared.Client.SpawnThread(t.Context(), client.ThreadSpec{ExecutionID: "new", AgentType: "bash", Objective: "echo hello from the shell"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = shared.Client.StopThread(context.WithoutCancel(t.Context()), a.ID, true, 0) })
	turns := func(n int) {
		t.Helper()
		err := testbed.Until(t.Context(), waiting, "the turn", func(ctx context.Context) (bool, error) {
			now, err := shared.Client.GetThread(ctx, a.ID)
			return err == nil && now.TurnCount == n, err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	turns(1)
	p := open(t, "/threads/"+a.ID)
	const talk = `document.querySelector(".talk-box")?.innerText`
	p.until("the first turn", talk+`?.includes("hello from the shell") && `+talk+`.includes("Turn 1")`)
	const listens = `window.heard = ""; new MutationObserver(() => { heard += document.querySelector("main > [role=status].sr").innerText + "\n"; }).observe(document.body, {subtree: true, childList: true, characterData: true})`
	p.do(chromedp.Evaluate(listens, nil))
	p.click(css(".composer textarea"))
	p.do(chromedp.KeyEvent("echo it is $((6*7))"), chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(2)))
	turns(2)
	p.until("the second one, without a reload", talk+`?.includes("Turn 2") && [...document.querySelectorAll(".talk-box .you")].at(-1).innerText.includes("echo it is $((6*7))") && [...document.querySelectorAll(".talk-box .agent")].at(-1).innerText.includes("it is 42")`)
	p.until("each message once, and none queued", `document.querySelectorAll(".talk-box .you").length === 2 && !document.querySelector(".composer .queue")`)
	p.until("the news for screen readers", `heard.includes("Turn 2: it is 42")`)
	if p.holds(`heard.includes("Turn 1")`) {
		t.Error("what was there when the page was opened is announced as news")
	}
	p.checkAxe(t, "thread")
	p.shoot("conversation")
	p.do(chromedp.Navigate(shared.URL + "/threads/" + a.ID + "?tab=events"))
	p.until("the events", `document.querySelector(".journal")?.innerText.includes("thread_input")`)
}

// Several questions get one answer only where they were selected, with the outcome of each; one that was answered
// elsewhere says so at once, and by whom.
func TestSeveralAnswers(t *testing.T) {
	for range 3 {
		if _, err := shared.Client.ExecuteAsync(t.Context(), client.ExecuteRequest{Pattern: "enterprise-review", Input: []byte(`{"task": "a command that counts words"}`)}); err != nil {
			t.Fatal(err)
		}
	}
	p := open(t, "/inbox")
	p.until("three questions", `document.querySelectorAll(".asks li").length >= 3 && document.querySelector(".answerbox")`)
	if p.holds(button("Answer them")) {
		t.Error("without a selection all can be answered")
	}
	p.checkAxe(t, "inbox with questions")
	p.shoot("inbox")
	p.click(`document.querySelectorAll(".asks .mark input")[0]`)
	p.click(`document.querySelectorAll(".asks .mark input")[1]`)
	p.click(button("Answer them"))
	p.until("both of them", `document.querySelectorAll("dialog tbody tr").length === 2`)
	p.click(css("dialog textarea"))
	p.do(chromedp.KeyEvent("yes, as short as they are"))
	p.checkAxe(t, "several answers")
	p.shoot("several")
	p.click(button("Send 2"))
	p.until("what came of each", `[...document.querySelectorAll("dialog tbody tr")].every((r) => r.innerText.includes("answered"))`)
	p.click(`[...document.querySelectorAll("dialog button")].find((b) => b.innerText === "Close")`)
	p.until("the one that is left", `document.querySelectorAll(".asks li").length === 1`)
	p.click(css(".asks a"))
	p.until("what it asks", `document.querySelector(".answerbox")`)
	list, err := shared.Client.ListQuestions(t.Context(), client.QuestionFilter{Status: "open"})
	if err != nil || len(list.Questions) != 1 {
		t.Fatalf("open: %+v, %v", list, err)
	}
	q := list.Questions[0]
	if _, err := shared.Client.AnswerQuestion(t.Context(), q.ExecutionID, q.ID, []byte(`"from elsewhere"`)); err != nil {
		t.Fatal(err)
	}
	p.until("who answered, and what", `document.querySelector(".detail .notice.good")?.innerText.includes("from elsewhere") && document.querySelector(".detail .notice.good").innerText.includes("by")`)
	p.shoot("elsewhere")
}

// What the filters select is counted over time; dragging narrows the list; a view that was named comes back.
func TestHistogramAndViews(t *testing.T) {
	putUrgency(t)
	drawn := rand.Text()[:6] // of this run alone
	for range 3 {
		if _, err := shared.Client.ExecuteAsync(t.Context(), client.ExecuteRequest{Pattern: "urgency", Input: []byte(`{"text": "x"}`), Options: client.ExecuteOptions{Metadata: map[string]any{"drawn": drawn}}}); err != nil {
			t.Fatal(err)
		}
	}
	p := open(t, "/executions?metadata.drawn="+drawn+"&time=1&range=1h")
	const plot = `document.querySelector(".plot svg[role=img]")`
	p.until("the counts of the filter alone", plot+`?.ariaLabel === "Made in the last hour: 3, 0 of them failed."`)
	p.shoot("histogram")
	var at [4]float64
	p.do(chromedp.Evaluate(`(() => { const r = `+plot+`.getBoundingClientRect(); return [r.right - 3, r.right - 240, r.x + 60, r.y + 40]; })()`, &at))
	p.do(chromedp.MouseEvent("mousePressed", at[0], at[3], chromedp.ButtonLeft, chromedp.ClickCount(1)), chromedp.MouseEvent("mouseMoved", at[1], at[3], chromedp.ButtonLeft), chromedp.MouseEvent("mouseReleased", at[1], at[3], chromedp.ButtonLeft, chromedp.ClickCount(1)))
	p.until("the time in the address", `new URLSearchParams(location.search).get("since") && document.querySelectorAll("main tr[data-index]").length === 3`)

	p.choose("label.choice:has(option[value=save]) select", "save")
	p.until("the dialog", `document.querySelector("dialog input")`)
	p.click(css("dialog input"))
	p.do(chromedp.KeyEvent("drawn ones"), chromedp.KeyEvent(kb.Enter))
	p.until("its name", `document.querySelector("label.choice:has(option[value=save]) select")?.selectedOptions[0].text === "drawn ones"`)
	p.do(chromedp.Navigate(shared.URL + "/executions"))
	p.until("the list, with the view to choose", `[...document.querySelectorAll("option")].some((o) => o.text === "drawn ones")`)
	p.choose("label.choice:has(option[value=save]) select", "v:drawn ones")
	p.until("the filters again", `new URLSearchParams(location.search).get("metadata.drawn") === "`+drawn+`" && document.querySelectorAll("main tr[data-index]").length === 3`)

	p.until("the plot, which moves nothing when it comes", plot+` && document.querySelector(".histogram-room").offsetHeight === 184`)
	p.click(css("tr[data-index] input[type=checkbox]"))
	p.click(button("Cancel"))
	p.click(button("Cancel 1"))
	p.until("its outcome", `document.querySelector("dialog table")?.innerText.includes("cancelled")`)
	p.click(`[...document.querySelectorAll("dialog button")].find((b) => b.innerText === "Close")`)
	p.until("its state", `document.querySelector("main tbody").innerText.includes("cancelled")`)
	p.click(`[...document.querySelectorAll("main tr[data-index]")].find((r) => r.innerText.includes("cancelled")).querySelector("input")`)
	p.click(button("Run again"))
	p.click(button("Run again 1"))
	p.until("which one it runs again as", `document.querySelector("dialog tbody a[href*='/executions/exec_']")`)
}
