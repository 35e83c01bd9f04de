package browser_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/wardroom/wardroom/sdk/client"
)

// What the design gives a new user to answer a question, find the slowest task of an execution, and read what it was asked.
const (
	newUserTime   = 2 * time.Minute
	newUserClicks = 7
	newUserKeys   = 40 // besides the answer itself
)

// Someone who has never seen the console answers a question, finds the task that took the longest and reads what it was asked:
// by what is to be seen, from the first page on. By mouse, and by keyboard alone.
func TestNewUser(t *testing.T) {
	done, err := shared.Client.Execute(t.Context(), client.ExecuteRequest{Pattern: "startup-team", Input: []byte(`{"task": "a word counter"}`)})
	if err != nil {
		t.Fatal(err)
	}
	longest := longestTask(t, done.ExecutionID)
	ask := func(t *testing.T) {
		t.Helper()
		e, err := shared.Client.ExecuteAsync(t.Context(), client.ExecuteRequest{Pattern: "enterprise-review", Input: []byte(`{"task": "a word counter"}`)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_, _ = shared.Client.CancelExecution(context.WithoutCancel(t.Context()), e.ExecutionID, "over")
		})
	}
	const question = `document.querySelector("nav .count.needs")`
	const answered = `document.querySelector(".notice.good, main .empty")`
	asked := func(p *page) {
		p.until("the task that took the longest", fmt.Sprintf(`new URLSearchParams(location.search).get("sel") === %q`, "task:"+longest))
		p.until("what it was asked", selected+`?.innerText.includes("Asked, as it was sent")`)
	}
	row := fmt.Sprintf(`document.querySelector("main tr[data-id='%s']")`, done.ExecutionID)
	t.Run("Mouse", func(t *testing.T) {
		ask(t)
		p := open(t, "/")
		p.until("the question in the navigation", question)
		began, clicks := time.Now(), 0
		click := func(expression string) { p.click(expression); clicks++ }
		click(`[...document.querySelectorAll("nav a")].find((a) => a.innerText.includes("Inbox"))`)
		click(css(".answerbox textarea"))
		p.do(chromedp.KeyEvent("yes, our texts are short"))
		click(`[...document.querySelectorAll(".answerbox button")].find((b) => b.innerText.trim().startsWith("Send") && !b.disabled)`)
		p.until("the answer is taken", answered)
		click(`[...document.querySelectorAll("nav a")].find((a) => a.innerText.trim() === "Executions")`)
		click(row)
		click(`[...document.querySelectorAll(".head a")].find((a) => a.innerText.startsWith("longest task"))`)
		asked(p)
		took := time.Since(began)
		t.Logf("%d clicks, %s", clicks, took.Round(time.Millisecond))
		if clicks > newUserClicks || took > newUserTime {
			t.Errorf("it takes %d clicks (%d at most) and %s (%s at most)", clicks, newUserClicks, took, newUserTime)
		}
	})
	t.Run("Keyboard", func(t *testing.T) {
		ask(t)
		p := open(t, "/")
		p.until("the question in the navigation", question)
		began, keys := time.Now(), 0
		press := func(key string, with ...chromedp.KeyOption) { p.do(chromedp.KeyEvent(key, with...)); keys++ }
		to := func(what, expression string) { keys += p.tabTo(what, expression) }
		lead := func(letter, screen string) {
			p.goBy(letter, fmt.Sprintf(`location.pathname === %q`, screen))
			keys += 2
		}
		lead("i", "/inbox")
		to("the answer", `e.matches(".answerbox textarea")`)
		p.do(chromedp.KeyEvent("yes, our texts are short"))
		press(kb.Enter, chromedp.KeyModifiers(2))
		p.until("the answer is taken", answered)
		p.do(chromedp.Evaluate(`document.activeElement?.blur()`, nil)) // the field is gone with its question, or empty
		lead("e", "/executions")
		p.until("the execution in the list", row)
		for range 20 {
			if p.holds(`document.activeElement === ` + row) {
				break
			}
			press("j")
		}
		press(kb.Enter)
		p.until("the execution", `location.pathname === "/executions/`+done.ExecutionID+`"`)
		to("the longest task", `e.innerText.startsWith("longest task")`)
		press(kb.Enter)
		asked(p)
		took := time.Since(began)
		t.Logf("%d keys, %s", keys, took.Round(time.Millisecond))
		if keys > newUserKeys || took > newUserTime {
			t.Errorf("it takes %d keys (%d at most) and %s (%s at most)", keys, newUserKeys, took, newUserTime)
		}
	})
}

// longestTask returns the id of the task that took the longest of an execution.
func longestTask(t *testing.T, execution string) (id string) {
	t.Helper()
	tl, err := shared.Client.GetTimeline(t.Context(), execution)
	if err != nil {
		t.Fatal(err)
	}
	var body struct {
		Entries []struct {
			Kind, ID           string
			StartedAt, EndedAt time.Time
		}
	}
	if err := json.Unmarshal(tl.Body, &body); err != nil {
		t.Fatal(err)
	}
	most := time.Duration(-1)
	for _, e := range body.Entries {
		if took := e.EndedAt.Sub(e.StartedAt); e.Kind == "task" && took > most {
			id, most = e.ID, took
		}
	}
	return id
}
