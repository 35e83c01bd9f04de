package browser_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/wardroom/wardroom/scripts/testbed"
	"github.com/wardroom/wardroom/sdk/client"
)

// answering is a script that answers requests of the page for a path with what a function makes of their query.
func answering(path, body string) string {
	return fmt.Sprintf(`{ const asked = window.fetch, make = %s; window.made = []; window.fetch = (address, ...rest) => {
		const url = new URL(address, location.href);
		if (url.pathname !== %q) return asked(address, ...rest);
		made.push(url.search);
		return Promise.resolve(new Response(JSON.stringify(make(url.searchParams)), {headers: {"Content-Type": "application/json"}}));
	}; }`, body, path)
}

// pagesOf is such a function: pages of events from 1 to a number, each of which says its own.
func pagesOf(count int, event string) string {
	return fmt.Sprintf(`(q) => {
		const all = Array.from({length: %d}, (_, i) => i + 1), least = Number(q.get("since") ?? 0), before = Number(q.get("before") ?? 0) || %d;
		const fit = q.has("before") ? all.filter((n) => n < before) : all.filter((n) => n > least), page = q.has("before") ? fit.slice(-100) : fit.slice(0, 100);
		return {events: page.map((n) => (%s)), limit: 100, hasMore: page.length < fit.length, nextSince: q.has("before") ? before - 1 : page.at(-1) ?? least, ...(q.has("before") && {nextBefore: page[0] ?? before})};
	}`, count, count+1, event)
}

// Of a long thread the newest is shown, and what was earlier when it is asked for; so are events of an agent.
func TestNewestFirst(t *testing.T) {
	thread := shell(t, client.ThreadSpec{Name: "of many turns", Objective: "echo hello"})
	at := "/api/managed-threads/" + thread.ID + "/events"
	p := beforeIn(t, answering(at, pagesOf(12_000, `{id: "e" + n, threadId: "t", executionId: "x", sequence: n, type: "thread_turn_complete", timestamp: "2026-01-02T03:04:05Z", data: {turn: n, output: "said " + n, durationMs: 1}}`)))
	p.do(chromedp.Navigate(shared.URL + "/threads/" + thread.ID))
	const talk = `document.querySelector(".talk-box")?.innerText`
	p.until("what was said last", talk+`?.includes("said 12000")`)
	if n := p.count(`made.length`); n > 25 {
		t.Errorf("%d requests for the beginning", n)
	}
	p.click(button("Show 1,950 earlier turns"))
	p.click(button("Read what was earlier"))
	p.until("what was said earlier", talk+`.includes("said 9001\n") && `+talk+`.includes("said 12000")`)
	p.do(chromedp.Navigate(shared.URL + "/threads/" + thread.ID + "?tab=events"))
	p.until("the newest events, and the way to all", `[...document.querySelectorAll(".journal li")].at(-1)?.innerText.includes("12000") && document.querySelector("main").innerText.includes("wardroom thread events `+thread.ID+`")`)

	agent := thread.ManagedAgentID
	p = beforeIn(t, answering("/api/managed-agents/"+agent+"/events", pagesOf(250, `{id: "e" + n, agentId: "a", sequence: n, type: "managed_agent.ready", timestamp: "2026-01-02T03:04:05Z", data: {}}`)))
	p.do(chromedp.Navigate(shared.URL + "/agents/" + agent + "?tab=events"))
	p.until("the newest events of the agent", `[...document.querySelectorAll(".journal li")].at(-1)?.innerText.includes("250")`)
}

// count is a number in the page.
func (p *page) count(expression string) (n int) {
	p.t.Helper()
	p.do(chromedp.Evaluate(expression, &n))
	return n
}

// A message that begins as the objective does is a message like any other.
func TestMessageLikeObjective(t *testing.T) {
	thread := shell(t, client.ThreadSpec{Objective: "echo one"})
	for _, text := range []string{"echo one", "echo one more"} {
		if _, err := shared.Client.SendThread(t.Context(), thread.ID, client.ThreadInput{Message: text}); err != nil {
			t.Fatal(err)
		}
	}
	err := testbed.Until(t.Context(), waiting, "the turns", func(ctx context.Context) (bool, error) {
		now, err := shared.Client.GetThread(ctx, thread.ID)
		return err == nil && now.TurnCount == 3, err
	})
	if err != nil {
		t.Fatal(err)
	}
	p := open(t, "/threads/"+thread.ID)
	p.until("both messages beside the objective", `[...document.querySelectorAll(".talk-box .said.you .markdown")].map((m) => m.innerText.trim()).join() === "echo one,echo one,echo one more"`)
}

// A prompt tells all that a tool is to be given: nothing that an edit does not show, no end of a line, is left out.
func TestPromptInFull(t *testing.T) {
	item, err := json.Marshal(map[string]any{"items": []any{map[string]any{"source": "managed_agent", "kind": "approval", "id": "magent_01ARZ3NDEKTSV4RRFFQ69G5FAV", "name": "writer", "promptId": "p1", "text": "May I edit?", "tool": "Edit", "since": time.Now(),
		"answerUrl": "/x", "options": []any{map[string]string{"id": "allow", "label": "Allow"}, map[string]string{"id": "deny", "label": "Deny"}},
		"input": map[string]any{"file_path": "safe.txt\n@@ -1 +1 @@\n+harmless", "old_string": "a", "new_string": strings.Repeat("x", 6000) + "THE-END", "replace_all": true, "command": "rm -rf everything"}}}, "total": 1, "limit": 100, "offset": 0, "hasMore": false})
	if err != nil {
		t.Fatal(err)
	}
	p := beforeIn(t, answering("/api/inbox", `() => (`+string(item)+`)`))
	p.do(chromedp.Navigate(shared.URL + "/inbox"))
	const box = `document.querySelector(".answerbox")?.innerText`
	p.until("what is asked", box+`?.includes("May I edit?")`)
	p.until("command and further input", box+`.includes("rm -rf everything") && `+box+`.includes("replace_all")`)
	p.until("the name of the file in one line", box+`.includes("safe.txt‹000A›@@") && document.querySelectorAll(".answerbox tr.add").length === 1`)
	p.click(button("Show more"))
	p.until("the end of the line", box+`.includes("THE-END")`)
	p.shoot("prompt")
}

// Of a selection the whole ids are shown before something is done to it.
func TestSelectionShowsIDs(t *testing.T) {
	putUrgency(t)
	id := begun(t)
	p := open(t, "/executions?pattern=urgency&status=pending,running")
	p.click(fmt.Sprintf(`document.querySelector("tr[data-id=%s] input")`, id))
	p.click(`[...document.querySelectorAll(".bar button")].find((b) => b.innerText.startsWith("Cancel"))`)
	p.until("the whole id", `document.querySelector("dialog")?.innerText.includes("`+id+`")`)
}

// The figures of the server's process are under System.
func TestProcessFigures(t *testing.T) {
	p := open(t, "/system?tab=process")
	p.until("what it uses", `["Memory", "Heap in use", "Goroutines", "Open files"].every((name) => [...document.querySelectorAll(".facts div")].some((d) => d.innerText.startsWith(name) && /\d/.test(d.innerText)))`)
	p.until("its share of a core, once there were two looks", `document.querySelector(".facts").innerText.includes("% of a core")`)
	p.checkAxe(t, "process")
}

// Heartbeats are of no event: the list of agents is read again by itself, and tells none of them old that is not.
func TestHeartbeats(t *testing.T) {
	p := beforeIn(t, answering("/api/agents", `() => ({agents: [{id: "agent_1", name: "ada", status: "connected", healthy: true, capabilities: [], activeTasks: made.length, maxTasks: 9, tasksCompleted: 0, lastHeartbeat: new Date().toISOString()}], total: 1, limit: 100, offset: 0, hasMore: false})`))
	p.do(chromedp.Navigate(shared.URL + "/agents"))
	p.until("the agent", `document.querySelector("tr[data-index]")?.innerText.includes("1/9")`)
	p.until("what it does later", `/[2-9]\/9/.test(document.querySelector("tr[data-index]").innerText)`)
}

// What of a request becomes which input of what a trigger starts is there in full, also where it is one.
func TestMappingOfOneName(t *testing.T) {
	putUrgency(t)
	_, trigger := starters(t)
	p := open(t, "/triggers/"+trigger)
	p.until("the mapping", main+`.includes("$.body.title")`)
	if !p.holds(`[...document.querySelectorAll("main dl.value > div")].some((d) => d.innerText.split(/\s+/).join(" ") === "text $.body.title")`) {
		t.Errorf("it is not shown what it becomes\n%s", p.text())
	}
}

// Several texts that an agent gave are shown as texts, each of its own, and not as JSON.
func TestTextsOfAResult(t *testing.T) {
	done := ran(t)
	p := beforeIn(t, changing("/api/executions/"+done.ExecutionID, `(body) => ({...body, result: {work: ["first line\nsecond line", "another text"], n: [1, "one\ntwo"]}})`))
	p.do(chromedp.Navigate(shared.URL + "/executions/" + done.ExecutionID + "?tab=data"))
	p.until("the result", main+`.includes("another text")`)
	if p.holds(main + `.includes("first line\\nsecond line")`) {
		t.Errorf("a text is shown as JSON\n%s", p.text())
	}
	if !p.holds(main + `.includes('"one\\ntwo"')`) {
		t.Errorf("what is no list of texts alone is not shown as it is\n%s", p.text())
	}
}
