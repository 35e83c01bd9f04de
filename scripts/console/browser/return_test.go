package browser_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/wardroom/wardroom/sdk/client"
)

// team runs the small org chart, and returns its execution.
func team(t *testing.T) *client.Execution {
	t.Helper()
	done, err := shared.Client.Execute(t.Context(), client.ExecuteRequest{Pattern: "startup-team", Input: []byte(`{"task": "a word counter"}`)})
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// Whoever goes back to a list finds the focus on the row that was opened.
func TestBackToTheRow(t *testing.T) {
	first := team(t).ExecutionID
	team(t)
	p := open(t, "/executions")
	row := fmt.Sprintf(`document.querySelector("tr[data-id=%s]")`, first)
	p.until("the row", row)
	p.do(chromedp.Evaluate(row+`.focus(); 0`, nil), chromedp.KeyEvent(kb.Enter))
	p.until("the execution", `location.pathname.endsWith("`+first+`") && document.querySelectorAll("[role=row]").length > 3`)
	p.do(chromedp.Evaluate(`history.back(); 0`, nil))
	p.until("the focus on the row", `document.activeElement === `+row)
	p.do(chromedp.Evaluate(`history.forward(); 0`, nil))
	p.until("the execution again", `location.pathname.endsWith("`+first+`") && document.querySelectorAll("[role=row]").length > 3`)
	p.click(css(`nav a[href$="/threads"]`))
	p.until("another screen, with the focus at its beginning", `location.pathname === "/threads" && document.activeElement.id === "main"`)
}

// The part of a timeline that is shown is in the address, and a step back brings the one before.
func TestZoomInAddress(t *testing.T) {
	p := open(t, "/executions/"+team(t).ExecutionID)
	const zoom = `new URLSearchParams(location.search).get("zoom")`
	p.until("the timeline", `document.querySelectorAll("[role=row]").length > 3`)
	p.click(css(`[aria-label="Zoom in"]`))
	p.until("the zoom in the address", zoom+`?.match(/^0\.15-0\.85$/)`)
	const shown = `document.querySelector(".strip span")?.style.width === "70%"`
	p.until("the part that is shown", shown)
	p.do(chromedp.Reload())
	p.until("the same after a reload", shown)
	p.click(button("fit"))
	p.until("the whole", `!document.querySelector(".strip") && `+zoom+` === null`)
	p.do(chromedp.Evaluate(`history.pushState({}, "", location.pathname + "?zoom=0.25-0.5"); dispatchEvent(new PopStateEvent("popstate")); 0`, nil))
	p.until("what a link shows", `document.querySelector(".strip span")?.style.left === "25%" && `+zoom+` === "0.25-0.5"`)
	p.do(chromedp.Navigate(shared.URL + "/executions?zoom=x"))
}

// The id of a question that was answered, and that of a workspace, open as any other.
func TestLinksToWhatIsOver(t *testing.T) {
	thread := shell(t, client.ThreadSpec{Name: "with a workspace", Objective: "echo hello", Preparation: client.ThreadPreparation{Workspace: &client.WorkspaceSpec{Repo: repository(t)}}})
	p := open(t, "/"+thread.Workspace.ID)
	p.until("the workspace, and its thread", fmt.Sprintf(`document.querySelector("section[aria-label='Selected workspace']")?.innerText.includes(%q) && document.querySelector("section[aria-label='Selected workspace'] a[href$='/threads/%s']")`, thread.Workspace.Path, thread.ID))
	p.checkAxe(t, "workspace")

	asks, err := shared.Client.ExecuteAsync(t.Context(), client.ExecuteRequest{Pattern: "enterprise-review", Input: []byte(`{"task": "a command that counts words"}`)})
	if err != nil {
		t.Fatal(err)
	}
	p.do(chromedp.Navigate(shared.URL + "/inbox?execution=" + asks.ExecutionID))
	p.until("its question", `document.querySelector(".answerbox textarea") && new URLSearchParams(location.search).get("ask")?.startsWith("q_")`)
	var id string
	p.do(chromedp.Evaluate(`new URLSearchParams(location.search).get("ask")`, &id))
	if _, err := shared.Client.AnswerQuestion(t.Context(), asks.ExecutionID, id, []byte(`"by all means"`)); err != nil {
		t.Fatal(err)
	}
	p.do(chromedp.Navigate(shared.URL + "/" + id))
	p.until("the question with its answer", `document.querySelector(".detail .notice.good")?.innerText.includes("by all means") && !document.querySelector(".answerbox")`)
}

// Who one is, and the way out, are there on a phone as well.
func TestAccountOnPhone(t *testing.T) {
	p := open(t, "/")
	p.do(chromedp.EmulateViewport(360, 740))
	p.click(css(`button[aria-label="Navigation"]`))
	p.click(css(`nav button.me`))
	p.until("who one is", `document.querySelector("dialog[open]")`)
	p.do(chromedp.EmulateViewport(1440, 900))
}

// A search finds patterns that are not of the first page.
func TestJumpToAnyPattern(t *testing.T) {
	p := beforeIn(t, answering("/api/patterns", `(q) => ({patterns: q.get("search") ? [{id: "z", name: "zebra-" + q.get("search")}] : [{id: "a", name: "ant"}], total: 500, limit: 100, offset: 0, hasMore: !q.get("search"), nextCursor: "c"})`))
	p.do(chromedp.Navigate(shared.URL + "/executions"))
	p.until("the screen", `document.querySelector("h1")`)
	p.do(chromedp.KeyEvent("k", chromedp.KeyModifiers(2)))
	p.until("the search", `document.activeElement?.matches("dialog input")`)
	p.do(chromedp.KeyEvent("zeb"))
	p.until("what it found", `[...document.querySelectorAll("dialog li")].some((l) => l.innerText.startsWith("zebra-zeb"))`)
}
