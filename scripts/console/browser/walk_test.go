package browser_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/wardroom/wardroom/scripts/testbed"
	"github.com/wardroom/wardroom/sdk/client"
)

// ran runs an org chart, and returns the execution.
func ran(t *testing.T) *client.Execution {
	t.Helper()
	done, err := shared.Client.Execute(t.Context(), client.ExecuteRequest{Pattern: "startup-team", Input: []byte(`{"task": "a word counter"}`)})
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// Any id of the product opens the screen on which the thing is shown, selected, or says plainly that there is none.
func TestAnyIDOpens(t *testing.T) {
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(receiver.Close)
	hook, err := shared.Client.CreateWebhook(t.Context(), client.WebhookSpec{URL: receiver.URL, Events: []string{"execution.completed"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = shared.Client.DeleteWebhook(context.WithoutCancel(t.Context()), hook.ID) })
	done := ran(t)
	timeline, err := shared.Client.GetTimeline(t.Context(), done.ExecutionID)
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]string{}
	for _, e := range timeline.Entries {
		ids[string(e.Kind)] = e.ID
	}
	var delivery client.Delivery
	err = testbed.Until(t.Context(), waiting, "a delivery", func(ctx context.Context) (bool, error) {
		list, err := shared.Client.ListDeliveries(ctx, client.DeliveryFilter{WebhookID: hook.ID})
		if err == nil && len(list.Deliveries) > 0 {
			delivery = list.Deliveries[0]
		}
		return delivery.ID != "", err
	})
	if err != nil {
		t.Fatal(err)
	}
	thread := shell(t, client.ThreadSpec{Objective: "echo yes"})
	receipt, err := shared.Client.SendThread(t.Context(), thread.ID, client.ThreadInput{Message: "echo once more"})
	if err != nil {
		t.Fatal(err)
	}
	decision, err := shared.Client.AddDecision(t.Context(), thread.ID, client.NewDecision{Category: "decision", Summary: "names are short"})
	if err != nil {
		t.Fatal(err)
	}
	other := shell(t, client.ThreadSpec{Objective: "echo remembered"})
	if _, err := shared.Client.CompleteThread(t.Context(), other.ID, client.ThreadClose{State: "complete", Summary: "It echoed."}); err != nil {
		t.Fatal(err)
	}
	var experience string
	err = testbed.Until(t.Context(), waiting, "an experience", func(ctx context.Context) (bool, error) {
		list, err := shared.Client.ListExperiences(ctx, client.ExperienceFilter{ExecutionID: other.ExecutionID})
		if err == nil && len(list.Experiences) > 0 {
			experience = list.Experiences[0].ID
		}
		return experience != "", err
	})
	if err != nil {
		t.Fatal(err)
	}
	at := func(path string) string { return fmt.Sprintf(`location.pathname === %q`, path) }
	entry := at("/executions/"+done.ExecutionID) + ` && document.querySelector(".detail[aria-label='Selected entry']")`
	for _, c := range []struct{ id, shown string }{
		{ids["task"], entry + ` && document.querySelector(".detail dl").innerText.includes("task")`},
		{ids["message"], entry + ` && document.querySelector(".detail dl").innerText.includes("message")`},
		{delivery.ID, at("/webhooks/"+hook.ID) + ` && document.querySelector(".detail")?.innerText.includes("execution.completed") && document.querySelector("tr.chosen")`},
		{delivery.EventID, at("/executions/" + done.ExecutionID)},
		{decision.ID, at("/threads/"+thread.ID) + ` && document.querySelector("li.chosen")?.innerText.includes("names are short")`},
		{receipt.InputID, at("/threads/"+thread.ID) + ` && document.querySelector(".said.chosen")?.innerText.includes("echo once more")`},
		{experience, at("/memory") + ` && document.querySelector(".detail")?.innerText.includes("It echoed.")`},
		{"key_01ARZ3NDEKTSV4RRFFQ69G5FAV", `document.querySelector(".empty")?.innerText.includes("wardroom auth list-keys")`},
	} {
		if c.id == "" {
			t.Fatalf("there is no id for %s", c.shown)
		}
		t.Run(c.id[:strings.Index(c.id, "_")], func(t *testing.T) {
			p := open(t, "/"+c.id)
			p.until(c.id+" on its screen", c.shown)
			p.shoot("opened")
		})
	}
	t.Run("search", func(t *testing.T) {
		p := open(t, "/system")
		p.until("the screen", `document.querySelector("h1")`)
		p.do(chromedp.KeyEvent("k", chromedp.KeyModifiers(2)))
		p.until("the search", `document.activeElement?.matches("dialog input")`)
		p.do(chromedp.KeyEvent(ids["task"]))
		p.until("the hit", `document.querySelector("dialog li")`)
		p.do(chromedp.KeyEvent(kb.Enter))
		p.until("the task", entry)
	})
	t.Run("unknown", func(t *testing.T) {
		p := openIn(t, "about:blank")
		p.away(true) // what is not found is an error to browsers
		p.do(chromedp.Navigate(shared.URL + "/task_01ARZ3NDEKTSV4RRFFQ69G5FAV"))
		p.until("that there is none", `document.querySelector(".notice.bad")?.innerText.includes("NOT_FOUND")`)
	})
}

// A row that has the focus of the keyboard tells its times, and Escape takes that away; a key shows all times as they are.
func TestTimesByKeyboard(t *testing.T) {
	ran(t)
	p := open(t, "/executions")
	p.until("rows", `document.querySelectorAll("tr[data-index]").length > 0`)
	stops := `document.querySelectorAll("main time[tabindex], main tr[data-index] time a").length`
	p.do(chromedp.Evaluate(`document.querySelector("main").focus()`, nil), chromedp.KeyEvent("j"))
	const exact = `/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} [+-]\d\d:\d\d|UTC/`
	p.until("the times of the row", `document.activeElement.matches("tr[data-index='0']") && document.activeElement.getAttribute("aria-describedby") === "moments" && `+exact+`.test(document.querySelector("#moments")?.innerText) && document.querySelector("#moments").innerText.startsWith("Began")`)
	if p.holds(stops) {
		t.Error("times are stops of Tab")
	}
	if _, description := p.heard(); strings.Count(description, "Began") != 1 {
		t.Errorf("the row is described as %q", description)
	}
	if p.holds(`document.querySelector("tr[data-index='0'] time[title]") || document.querySelector("#moments:not([aria-hidden=true])")`) {
		t.Error("a title or the note itself repeats the description of the row")
	}
	if p.holds(`(() => { const a = document.activeElement.getBoundingClientRect(), b = document.querySelector("#moments").getBoundingClientRect(); return a.top < b.bottom && b.top < a.bottom; })()`) {
		t.Error("the note lies over what has the focus")
	}
	p.checkAxe(t, "times of a row")
	p.shoot("times")
	p.do(chromedp.KeyEvent(kb.Escape))
	p.until("it is taken away, and the title is back", `!document.querySelector("#moments") && document.querySelector("tr[data-index='0'] time[title]") && document.activeElement.matches("tr[data-index='0']") && !document.activeElement.hasAttribute("aria-describedby")`)
	p.do(chromedp.KeyEvent("t"))
	p.until("all times as they are", `[...document.querySelectorAll("main tr time")].every((e) => `+exact+`.test(e.innerText))`)
	p.do(chromedp.KeyEvent("t"))
	p.until("how long ago", `[...document.querySelectorAll("main tr time")].every((e) => !`+exact+`.test(e.innerText))`)
}

// The tile of failures has the number of the list that it leads to, which goes by when executions ended.
func TestFailedWithinTheHour(t *testing.T) {
	putUrgency(t)
	started, err := shared.Client.ExecuteAsync(t.Context(), client.ExecuteRequest{Pattern: "urgency", Input: []byte(`{"text": "x"}`), Options: client.ExecuteOptions{Timeout: 50 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	err = testbed.Until(t.Context(), waiting, "it fails", func(ctx context.Context) (bool, error) {
		e, err := shared.Client.GetExecution(ctx, started.ExecutionID)
		return err == nil && e.Status == "failed", err
	})
	if err != nil {
		t.Fatal(err)
	}
	list, err := shared.Client.ListExecutions(t.Context(), client.ExecutionFilter{Status: "failed", EndedSince: time.Now().Add(-time.Hour)})
	if err != nil || list.Total == 0 {
		t.Fatal(list, err)
	}
	p := open(t, "/")
	p.until("the number", fmt.Sprintf(`[...document.querySelectorAll(".tile")].find((e) => e.innerText.includes("failed in an hour"))?.querySelector("strong").innerText === "%d"`, list.Total))
	p.click(`[...document.querySelectorAll(".tile")].find((e) => e.innerText.includes("failed in an hour"))`)
	p.until("as many in the list", fmt.Sprintf(`new URLSearchParams(location.search).get("ended") === "1h" && document.querySelector(".head .nums")?.innerText === "%d" && document.querySelectorAll("tr[data-index]").length === %d`, list.Total, min(list.Total, 20)))
}

// The list tells which agents worked on an execution.
func TestAgentsOfExecutions(t *testing.T) {
	done := ran(t)
	p := open(t, "/executions")
	p.until("the first of the agents, and how many more", fmt.Sprintf(`[...document.querySelectorAll("th")].some((h) => h.innerText === "Agents") && /ada.*(, |\+\d)/.test(document.querySelector("tr[data-id='%s'] .team")?.innerText)`, done.ExecutionID))
}

// Fields for patterns find any of them, not those of a first page alone.
func TestAnyPatternIsOffered(t *testing.T) {
	const definition = "name: many-%03d\nversion: 1.0.0\ninput:\n  text: {type: string, required: true}\nagents: {capabilities: [urgency], min: 1}\naggregation: {strategy: first}\noutput: {urgency: $first.urgency}\n"
	for n := range 120 {
		if _, err := shared.Client.CreatePattern(t.Context(), client.PatternInput{Definition: fmt.Sprintf(definition, n)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range []int{3, 117} {
		name := fmt.Sprintf("many-%03d", n)
		p := open(t, "/executions")
		p.click(css(".pattern-field input"))
		p.do(chromedp.KeyEvent(name[:len(name)-1]))
		p.until("it is offered", fmt.Sprintf(`[...document.querySelectorAll(".pattern-field option")].some((o) => o.value === %q)`, name))
		p.do(chromedp.KeyEvent(name[len(name)-1:]))
		p.until("it selects", fmt.Sprintf(`new URLSearchParams(location.search).get("pattern") === %q && document.querySelector(".empty")`, name))
		p.do(chromedp.Navigate(shared.URL + "/batches"))
		p.click(button("Start one"))
		p.click(css("dialog input[name=pattern]"))
		p.do(chromedp.KeyEvent(name))
		p.until("it is offered for a batch", fmt.Sprintf(`[...document.querySelectorAll("dialog option")].some((o) => o.value === %q)`, name))
	}
	const fast = "many-042" // its last letter is there before the names that are looked for
	p := open(t, "/executions")
	p.click(css(".pattern-field input"))
	p.do(chromedp.KeyEvent(fast))
	p.until("what is typed fast selects", fmt.Sprintf(`new URLSearchParams(location.search).get("pattern") === %q && document.querySelector(".empty")`, fast))
}

// What is removed elsewhere while its page is open says so, and offers nothing that cannot be done any more.
func TestEndpointRemovedWhileOpen(t *testing.T) {
	hook, err := shared.Client.CreateWebhook(t.Context(), client.WebhookSpec{URL: "http://127.0.0.1:1/", Events: []string{"pattern.deleted"}})
	if err != nil {
		t.Fatal(err)
	}
	p := open(t, "/webhooks/"+hook.ID)
	p.until("it", `[...document.querySelectorAll("button")].some((b) => b.innerText === "Send a test")`)
	p.away(true) // what is gone is an error to browsers
	if err := shared.Client.DeleteWebhook(t.Context(), hook.ID); err != nil {
		t.Fatal(err)
	}
	p.until("that it was removed", `document.querySelector("main .notice.bad")?.innerText.includes("This endpoint was removed")`)
	if p.holds(`[...document.querySelectorAll("main button")].some((b) => /Send a test|Remove|Change|Disable/.test(b.innerText))`) {
		t.Error("what was removed is offered to be changed")
	}
	p.click(button("To the list"))
	p.until("the list without it", fmt.Sprintf(`location.pathname === "/webhooks" && !document.querySelector("tr[data-id='%s']")`, hook.ID))
}

// Whoever has colours of their own sees what is chosen, what has the focus, how far batches are, and what charts and timelines draw.
func TestForcedColours(t *testing.T) {
	done := ran(t)
	putUrgency(t)
	batch, err := shared.Client.StartBatch(t.Context(), client.BatchRequest{Pattern: "urgency", Inputs: []json.RawMessage{[]byte(`{"text": "x"}`), []byte(`{}`)}})
	if err != nil {
		t.Fatal(err)
	}
	// A box that is drawn by its background alone is seen where that differs from the page's.
	const seen = `((list) => list.length > 0 && list.every((e) => getComputedStyle(e).backgroundColor !== getComputedStyle(document.body).backgroundColor || parseFloat(getComputedStyle(e).borderTopWidth) > 0))`
	for _, c := range []struct{ path, marks string }{
		{"/", `[...document.querySelectorAll(".dot")]`},
		{"/?range=24h", `[...document.querySelectorAll("[aria-pressed=true]")].filter((e) => getComputedStyle(e).outlineStyle === "solid")`},
		{"/executions?status=failed", `[...document.querySelectorAll(".chip[aria-pressed=true]")].filter((e) => getComputedStyle(e).outlineStyle === "solid")`},
		{"/executions/" + done.ExecutionID, `[...document.querySelectorAll("[role=treegrid] .bars")].filter((e) => e.offsetWidth)`},
		{"/batches", `[...document.querySelectorAll(".progress > span")].filter((e) => e.offsetWidth)`},
		{"/batches/" + batch.BatchID, `[...document.querySelectorAll(".progress > span")].filter((e) => e.offsetWidth)`},
		{"/inbox", ""}, {"/threads?board=state", ""}, {"/agents", ""}, {"/patterns/startup-team", ""}, {"/system", ""},
	} {
		t.Run(c.path, func(t *testing.T) {
			p := openIn(t, "about:blank")
			p.do(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "forced-colors", Value: "active"}, {Name: "prefers-color-scheme", Value: "dark"}}), chromedp.Navigate(shared.URL+c.path))
			p.until("the screen", `document.querySelector("h1") && !document.querySelector("main .waiting") && matchMedia("(forced-colors: active)").matches`)
			if c.marks != "" {
				p.until("what is drawn is seen", seen+"("+c.marks+")")
			}
			p.shoot("forced")
		})
	}
}

// A screen of 3840 by 2160 shows tables over its width and texts that can be read: nothing is cut off or lies over another.
func TestVeryWide(t *testing.T) {
	done := ran(t)
	for _, path := range []string{"/", "/executions", "/executions/" + done.ExecutionID, "/inbox", "/batches", "/patterns/startup-team", "/threads", "/agents", "/webhooks", "/system"} {
		t.Run(path, func(t *testing.T) {
			p := openIn(t, "about:blank")
			p.do(chromedp.EmulateViewport(3840, 2160), chromedp.Navigate(shared.URL+path))
			p.until("the screen", `document.querySelector("h1") && !document.querySelector("main .waiting")`)
			if p.holds(`Math.max(document.documentElement.scrollWidth, document.querySelector("main").scrollWidth) > 3840`) {
				t.Error("it is wider than the window")
			}
			p.until("rows as far as the window goes, if there are as many", `[...document.querySelectorAll("main .rows")].every((box) => box.querySelectorAll("tr[data-index]").length >= Math.min(Math.floor(box.clientHeight / 40), Number(box.querySelector("table").ariaRowCount ?? 1) - 1, 20))`)
			p.shoot("wide")
		})
	}
}

// A connected agent that is not known any more while its page is open says so as well, and cannot be disconnected.
func TestAgentRemovedWhileOpen(t *testing.T) {
	list, err := shared.Client.ListAgents(t.Context(), client.AgentFilter{Status: "connected"})
	if err != nil || len(list.Agents) == 0 {
		t.Fatal(list, err)
	}
	p := beforeIn(t, `const real = fetch; window.fetch = (to, how) => window.removed && String(to).includes("/api/agents/agent_")
		? Promise.resolve(new Response(JSON.stringify({error: {code: "NOT_FOUND", message: "there is no such agent", details: {}}, requestId: "req_1"}), {status: 404})) : real(to, how);`)
	p.do(chromedp.Navigate(shared.URL + "/agents/" + list.Agents[0].ID))
	p.until("it", `[...document.querySelectorAll("button")].some((b) => b.innerText.startsWith("Disconnect"))`)
	p.do(chromedp.Evaluate(`window.removed = true`, nil))
	p.until("that it was removed", `document.querySelector("main .notice.bad")?.innerText.includes("This agent was removed") && document.querySelectorAll("main .notice.bad").length === 1 && document.querySelector("h1").innerText !== ""`)
	if p.holds(`[...document.querySelectorAll("main button")].some((b) => b.innerText.startsWith("Disconnect"))`) {
		t.Error("an agent that is gone can be disconnected")
	}
}

// Steps that are done at the same time are drawn beside each other, each with its texts inside.
func TestParallelStepsAreDrawn(t *testing.T) {
	p := open(t, "/patterns/startup-team")
	p.until("both, apart, with what they say", `(() => {
		const boxes = [...document.querySelectorAll(".flow .box .box")], [a, b] = boxes.map((e) => e.getBoundingClientRect());
		const inside = (e, r) => [...e.querySelectorAll("span, strong")].every((s) => { const q = s.getBoundingClientRect(); return q.left >= r.left && q.right <= r.right + 1 && q.top >= r.top && q.bottom <= r.bottom + 1; });
		return boxes.length === 2 && a.right <= b.left && a.top === b.top && inside(boxes[0], a) && inside(boxes[1], b) && boxes.every((e) => e.innerText.includes("engineer"));
	})()`)
	p.shoot("drawn")
}
