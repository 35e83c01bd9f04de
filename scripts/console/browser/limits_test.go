package browser_test

import (
	"context"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/wardroom/wardroom/sdk/client"
)

// A list that stops short of all its rows says so, and which command has them all.
func TestListThatStops(t *testing.T) {
	const row = `{id: "sched_01ARZ3NDEKTSV4RRFFQ" + String(n).padStart(7, "0"), name: "s" + n, status: "active", cron: "0 3 * * *", timeZone: "UTC", target: {execution: {pattern: "urgency"}}}`
	p := beforeIn(t, answering("/api/schedules", `(q) => {
		const from = Number(q.get("cursor") ?? 0);
		return {schedules: Array.from({length: 1000}, (_, i) => 9000 - from - i).map((n) => (`+row+`)), total: 9000, limit: 1000, offset: 0, hasMore: true, nextCursor: String(from + 1000)};
	}`))
	p.do(chromedp.Navigate(shared.URL + "/schedules"))
	p.until("rows", `document.querySelector("main tr[data-index]")`)
	if p.holds(`document.querySelector("main").innerText.includes("wardroom schedule list")`) {
		t.Error("the list says that it stops while it goes on")
	}
	p.do(chromedp.Evaluate(`new Promise((done) => { const r = document.querySelector(".rows"); const f = () => { if (document.querySelector("main p.bar code")) return done(0); r.scrollTop = r.scrollHeight; requestAnimationFrame(f); }; f(); })`, nil, awaited))
	p.until("where it stops", `document.querySelector("main p.bar")?.innerText.includes("The first 5,000 of 9,000") && document.querySelector("main p.bar code")?.innerText === "wardroom schedule list --all"`)
	p.checkAxe(t, "a list that stops")
}

// A file that has not all results of a batch says so, and which command writes them all.
func TestBatchFileThatStops(t *testing.T) {
	const id = "batch_01ARZ3NDEKTSV4RRFFQ0000001"
	p := beforeIn(t, answering("/api/batch/"+id, `(q) => {
		const from = Number(q.get("cursor") ?? 0);
		return {batchId: "`+id+`", status: "completed", pattern: {name: "urgency", version: "1.0.0"}, total: 20000, completed: 20000, failed: 0, cancelled: 0, createdAt: "2026-01-02T03:04:05Z", completedAt: "2026-01-02T03:05:05Z",
			results: Array.from({length: 1000}, (_, i) => ({index: from + i, status: "completed", result: {n: 1}})), hasMore: from < 19000, nextCursor: String(from + 1000)};
	}`)+`; window.files = []; URL.createObjectURL = (b) => { b.text().then((t) => window.files.push(t)); return "data:,"; }; HTMLAnchorElement.prototype.click = () => {};`)
	p.do(chromedp.Navigate(shared.URL + "/batches/" + id))
	p.until("that the screen has not all", `document.querySelector(".head")?.innerText.includes("The first 1,000 items are here")`)
	p.click(button("Results as JSON lines"))
	p.until("the file", `window.files.length === 1`)
	var lines int
	p.do(chromedp.Evaluate(`window.files[0].trim().split("\n").length`, &lines))
	if lines != 10_000 {
		t.Errorf("the file has %d lines", lines)
	}
	p.until("that it has not all", `document.querySelector(".notice[role=status]")?.innerText.includes("The file has the first 10,000 of 20,000 results") && document.querySelector(".notice code")?.innerText === "wardroom batch get `+id+` -o json"`)
	if !p.holds(`document.querySelector(".head code")?.innerText === "wardroom batch get ` + id + ` --rows -1"`) {
		t.Error("the screen names no command that shows all items")
	}
}

// A file without all executions has a notice of it, also where it is not known how many there are.
func TestExecutionFileThatStops(t *testing.T) {
	p := beforeIn(t, answering("/api/executions", `(q) => {
		const from = Number(q.get("cursor") ?? 0);
		return {executions: Array.from({length: 1000}, (_, i) => ({executionId: "exec_01ARZ3NDEKTSV4RRFFQ" + String(9999999 - from - i).padStart(7, "0"), status: "completed", pattern: "urgency", version: "1.0.0", createdAt: "2026-01-02T03:04:05Z"})),
			total: 2000, totalAtLeast: true, limit: 1000, offset: 0, hasMore: true, nextCursor: String(from + 1000)};
	}`)+`; window.files = []; URL.createObjectURL = (b) => { b.text().then((t) => window.files.push(t)); return "data:,"; }; HTMLAnchorElement.prototype.click = () => {};`)
	p.do(chromedp.Navigate(shared.URL + "/executions"))
	p.until("rows", `document.querySelector("main tr[data-index]")`)
	p.click(button("Export"))
	p.click(button("JSON lines"))
	p.until("the file", `window.files.length === 1 && document.querySelector("dialog .body > p[role=status]")?.innerText === "10,000 read."`)
	if !p.holds(`document.querySelector("dialog").innerText.includes("The file has the first 10,000") && document.querySelector("dialog code")?.innerText === "wardroom execution list --all -o json"`) {
		t.Errorf("the file ends without a word\n%s", p.text())
	}
	if !p.holds(`document.querySelector("dialog").innerText.includes("2,000 executions or more")`) {
		t.Error("a lower bound is shown as the number")
	}
	p.checkAxe(t, "a file of executions that stops")
}

// A list without all threads of an execution names the command that has them.
func TestThreadsOfExecutionThatStop(t *testing.T) {
	putUrgency(t)
	e, err := shared.Client.ExecuteAsync(t.Context(), client.ExecuteRequest{Pattern: "urgency", Input: []byte(`{"text": "x"}`)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = shared.Client.CancelExecution(context.WithoutCancel(t.Context()), e.ExecutionID, "over")
	})
	p := beforeIn(t, answering("/api/managed-threads/executions/"+e.ExecutionID, `() => ({threads: Array.from({length: 100}, (_, n) => ({id: "thread_01ARZ3NDEKTSV4RRFFQ0000" + String(n).padStart(3, "0"), name: "t" + n, objective: "x", role: "r", agentType: "bash", status: "stopped", turnCount: 1, queuedInputs: 0, lastActivityAt: "2026-01-02T03:04:05Z"})),
		total: 150, limit: 100, offset: 0, hasMore: true})`))
	p.do(chromedp.Navigate(shared.URL + "/executions/" + e.ExecutionID + "?tab=threads"))
	p.until("threads", `document.querySelector("main tr[data-index]")`)
	if !p.holds(main + `.includes("The first 100 of 150") && document.querySelector("main p.bar code")?.innerText === "wardroom thread list --execution ` + e.ExecutionID + ` --all"`) {
		t.Errorf("the list ends without a word\n%s", p.text())
	}
}

// An export of the audit trail is what the screen shows, also where a key takes the place of a session.
func TestAuditExportIsWhatIsShown(t *testing.T) {
	s, key := secured(t, "server: {listen: $LISTEN}\nstore: {path: $DIR/store}\nsecurity:\n  authentication: {apiKeys: {enabled: true}}\n  audit: {enabled: true}\n")
	withEcho(t, s, key)
	// There are no sessions, as where the server is reached over plain HTTP.
	p := beforeIn(t, keyOnly+`window.files = []; URL.createObjectURL = (b) => { b.text().then((t) => window.files.push(t)); return "data:,"; }; HTMLAnchorElement.prototype.click = () => {};`)
	p.away(true) // refusals are errors to browsers
	p.do(chromedp.Navigate(s.URL + "/audit"))
	p.click(css(".sign-in input[type=password]"))
	p.do(chromedp.KeyEvent(key + "\r"))
	p.until("the trail", `[...document.querySelectorAll("tr[data-index]")].some((r) => r.innerText.includes("patterns.create"))`)
	n := 0
	export := func(words string) string {
		t.Helper()
		n++
		p.click(button(words))
		p.until("a file", `window.files.length > `+string(rune('0'+n-1)))
		var text string
		p.do(chromedp.Evaluate(`window.files.at(-1)`, &text))
		return text
	}
	all := export("Export JSON lines")
	if !strings.Contains(all, `"patterns.create"`) || !strings.HasPrefix(all, `{"sequence":1,`) || strings.Count(all, "\n") < 2 {
		t.Errorf("exported %q", all)
	}
	p.click(css("form.bar input[name=action]"))
	p.do(chromedp.KeyEvent("patterns.*\r"))
	p.until("what fits", `location.search.includes("action=patterns") && document.querySelector("tr[data-index]") && [...document.querySelectorAll("tr[data-index]")].every((r) => r.innerText.includes("patterns."))`)
	some := export("Export JSON lines")
	for line := range strings.Lines(some) {
		if !strings.Contains(line, `"action":"patterns.`) {
			t.Errorf("exported what is not shown: %s", line)
		}
	}
	p.until("how many", `document.querySelector("main .notice[role=status]")?.innerText.startsWith("The file has the ")`)
	p.checkAxe(t, "an export of the audit trail")
	head, rest, _ := strings.Cut(export("CSV"), "\r\n")
	if !strings.HasPrefix(head, "sequence,eventId,timestamp,category,action,outcome,actorType,") || strings.Count(rest, ",patterns.") != strings.Count(some, "\n") {
		t.Errorf("exported %q", head)
	}
}
