package browser_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/wardroom/wardroom/sdk/client"
)

// What is shown of a list that is longer is marked as a part of it.
func TestCutListsAreMarked(t *testing.T) {
	thread := shell(t, client.ThreadSpec{Objective: "echo one"})
	putUrgency(t)
	id := begun(t)
	t.Cleanup(func() { _, _ = shared.Client.CancelExecution(context.WithoutCancel(t.Context()), id, "not needed") })
	for _, one := range []struct{ name, path, script, there, shows string }{
		{"log of an agent", "/agents/" + thread.ManagedAgentID + "?tab=log",
			answering("/api/managed-agents/"+thread.ManagedAgentID+"/logs", `(q) => ({tail: Number(q.get("tail")), logs: Array.from({length: Number(q.get("tail"))}, (_, i) => ({line: "line " + i, stream: "output", timestamp: "2026-01-02T03:04:05Z"}))})`),
			`[...document.querySelectorAll("main pre")].some((x) => x.innerText.includes("line 999"))`, "The newest 1,000 lines are here"},
		{"events of an agent", "/agents/" + thread.ManagedAgentID + "?tab=events",
			answering("/api/managed-agents/"+thread.ManagedAgentID+"/events", `() => ({events: [{sequence: 5000, type: "output", timestamp: "2026-01-02T03:04:05Z", data: {}}], hasMore: true})`),
			`document.querySelector("main .journal li")`, "From the first on, 100 at a time, they are shown by"},
		{"events of a thread", "/threads/" + thread.ID + "?tab=events",
			answering("/api/managed-threads/"+thread.ID+"/events", `() => ({events: Array.from({length: 400}, (_, i) => ({sequence: 5000 + i, type: "thread_idle", timestamp: "2026-01-02T03:04:05Z", data: {}})), hasMore: true})`),
			`document.querySelector("main .journal li")`, "From the first on, 100 at a time, they are shown by"},
		{"steps of a workflow", "/patterns/of-many-steps",
			answering("/api/patterns/of-many-steps", `() => ({name: "of-many-steps", version: "1.0.0", readOnly: true, definition: {workflow: {steps: Array.from({length: 510}, (_, i) => ({name: "step " + i, type: "parallel", steps: Array.from({length: i ? 0 : 203}, () => ({task: "Do it"}))}))}}})`),
			`document.querySelector(".flow > li:nth-child(500)")`, "10 further steps"},
		{"steps within a step", "/patterns/of-many-steps",
			answering("/api/patterns/of-many-steps", `() => ({name: "of-many-steps", version: "1.0.0", readOnly: true, definition: {workflow: {steps: [{type: "parallel", steps: Array.from({length: 203}, () => ({task: "Do it"}))}]}}})`),
			`document.querySelector(".abreast > li:nth-child(200)")`, "3 further steps"},
		{"versions of a pattern", "/patterns/urgency",
			answering("/api/patterns/urgency/versions", `(q) => ({name: "urgency", versions: Array.from({length: 100}, (_, i) => ({version: "1." + (250 - Number(q.get("offset") ?? 0) - i) + ".0", createdAt: "2026-01-02T03:04:05Z"})), total: 250, limit: 100, offset: Number(q.get("offset") ?? 0), hasMore: true})`),
			`document.querySelectorAll("main .choice option").length >= 100`, "older ones: 150"},
		{"lane of a board", "/threads?board=state",
			answering("/api/managed-threads", `(q) => ({threads: q.get("status") === "preparing" ? Array.from({length: 20}, (_, i) => ({id: "thread_" + i, objective: "one", role: "", agentType: "bash", status: "preparing", queuedInputs: 0, lastActivityAt: "2026-01-02T03:04:05Z"})) : [], total: q.get("status") === "preparing" ? 35 : 0, limit: 20, offset: 0, hasMore: false})`),
			`document.querySelector(".board a.card")`, "The newest 20 of each of its states are here"},
		{"screens of threads", "/executions/" + id + "?tab=threads",
			answering("/api/managed-threads/executions/"+id, `() => ({threads: Array.from({length: 60}, (_, i) => ({id: "thread_" + i, managedAgentId: "magent_" + i, objective: "one", role: "", agentType: "bash", status: "running", turnCount: 1, queuedInputs: 0, lastActivityAt: "2026-01-02T03:04:05Z"})), total: 60, limit: 100, offset: 0, hasMore: false})`),
			`document.querySelector(".tile-screen")`, "The screens of 48 of 60 are here"},
	} {
		t.Run(one.name, func(t *testing.T) {
			p := beforeIn(t, one.script)
			p.away(true)
			p.do(chromedp.Navigate(shared.URL + one.path))
			p.until("the list", one.there)
			if !p.holds(fmt.Sprintf(`document.querySelector("main").innerText.includes(%q)`, one.shows)) {
				t.Errorf("that there is more is not shown\n%s", p.text())
			}
		})
	}
}

// A comparison with a version that lies behind those that were read is with that one.
func TestComparedWithOldVersion(t *testing.T) {
	p := beforeIn(t, answering("/api/patterns/urgency/versions", `(q) => ({name: "urgency", versions: Array.from({length: 100}, (_, i) => ({version: "1." + (250 - Number(q.get("offset") ?? 0) - i) + ".0", createdAt: "2026-01-02T03:04:05Z"})), total: 250, limit: 100, offset: Number(q.get("offset") ?? 0), hasMore: true})`)+
		answering("/api/patterns/urgency", `(q) => ({name: "urgency", version: q.get("version") ?? "1.250.0", readOnly: true, source: "of " + q.get("version"), definition: {}})`))
	p.do(chromedp.Navigate(shared.URL + "/patterns/urgency?tab=versions&version=1.250.0&with=1.3.0"))
	p.until("the difference", `document.querySelector(".versions .diff")`)
	if !p.holds(`document.querySelector(".versions .diff").innerText.includes("of 1.3.0")`) {
		t.Errorf("another version is compared\n%s", p.text())
	}
}
