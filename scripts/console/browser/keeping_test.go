package browser_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/wardroom/wardroom/sdk/client"
)

// An endpoint is made, its secret is shown once; a delivery that failed is shown with what was sent and what came back, and
// is delivered again: one, a selection, all.
func TestDeliveries(t *testing.T) {
	var broken atomic.Bool
	broken.Store(true)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if broken.Load() {
			http.Error(w, "<b>not today</b>", http.StatusBadRequest)
		}
	}))
	t.Cleanup(receiver.Close)
	p := open(t, "/webhooks")
	p.click(button("New"))
	p.click(css("dialog input[name=url]"))
	p.do(chromedp.KeyEvent(receiver.URL + "/in"))
	p.checkAxe(t, "new endpoint")
	p.click(`[...document.querySelectorAll("dialog button")].find((b) => b.innerText === "Make it" && !b.disabled)`)
	p.until("its secret", `document.querySelector("dialog .notice")?.innerText.includes("whsec_")`)
	p.shoot("secret")
	var secret string
	p.do(chromedp.Evaluate(`document.querySelector("dialog .notice .mono").innerText`, &secret))
	p.click(button("Open it"))
	p.until("the endpoint", `location.pathname.startsWith("/webhooks/wh_") && document.querySelector("h1")?.innerText.includes("/in")`)
	if p.holds(`document.body.innerText.includes("` + secret + `")`) {
		t.Error("the secret is shown a second time")
	}
	var id string
	p.do(chromedp.Evaluate(`location.pathname.split("/")[2]`, &id))
	t.Cleanup(func() { _ = shared.Client.DeleteWebhook(context.WithoutCancel(t.Context()), id) })
	for range 2 {
		if _, err := shared.Client.Execute(t.Context(), client.ExecuteRequest{Pattern: "startup-team", Input: []byte(`{"task": "a word counter"}`)}); err != nil {
			t.Fatal(err)
		}
	}
	p.until("two deliveries that do not arrive, without a reload", `document.querySelectorAll("tr[data-index]").length === 2`)
	p.click(css("tr[data-index]"))
	const detail = `document.querySelector(".detail")?.innerText`
	p.until("request and answer", detail+`?.includes("POST `+receiver.URL+`/in") && `+detail+`.includes("execution.completed") && `+detail+`.includes("400") && `+detail+`.includes("<b>not today</b>")`)
	p.checkAxe(t, "a delivery")
	p.shoot("delivery")
	p.click(button("Retry all that failed"))
	p.until("how many", `document.querySelector("dialog [role=status]")?.innerText.length > 0`)
	p.click(css(`dialog button[aria-label="Close"]`))
	broken.Store(false)
	p.click(css("tr[data-index] input[type=checkbox]"))
	p.click(button("Retry"))
	p.click(button("Retry 1"))
	p.until("its outcome", `document.querySelector("dialog tbody td:last-child")?.innerText === "is due"`)
	p.click(`[...document.querySelectorAll("dialog button")].find((b) => b.innerText === "Close")`)
	p.until("that it arrived", `document.querySelector("tr[data-index]")?.innerText.includes("succeeded")`)
	p.click(button("Send a test"))
	p.until("the test", `document.querySelector("[role=status].notice")?.innerText.includes("200")`)
	// Two people change it: who saves last learns of the other, and overwrites nothing.
	p.click(button("Change"))
	p.until("the form", `document.querySelector("dialog input[name=url]")?.value.endsWith("/in")`)
	other := []string{"execution.cancelled"}
	if _, err := shared.Client.UpdateWebhook(t.Context(), id, client.WebhookPatch{Events: other}); err != nil {
		t.Fatal(err)
	}
	p.away(true) // a conflict is an error to browsers
	p.click(`[...document.querySelectorAll("dialog button")].find((b) => b.innerText === "Change it" && !b.disabled)`)
	p.until("that it is another by now", `document.querySelector("dialog .notice.bad")?.innerText.includes("CONFLICT")`)
	if w, err := shared.Client.GetWebhook(t.Context(), id); err != nil || len(w.Events) != 1 || w.Events[0] != other[0] {
		t.Errorf("the other's change is overwritten: %+v, %v", w, err)
	}
	p.click(css(`dialog button[aria-label="Close"]`))
	p.until("what the other changed", `document.querySelector(".head").innerText.includes("`+other[0]+`")`)
	p.click(button("Disable"))
	p.until("that it is off", `document.querySelector(".head .state")?.innerText === "disabled"`)
	p.click(button("Remove"))
	p.click(`[...document.querySelectorAll("dialog button")].find((b) => b.innerText === "Remove")`)
	p.until("the list", `location.pathname === "/webhooks"`)
}

// Workspaces are removed after a look at which: those that hold work that is nowhere else say so.
func TestWorkspacePrune(t *testing.T) {
	thread := shell(t, client.ThreadSpec{Objective: "echo work > WORK.md", Preparation: client.ThreadPreparation{Workspace: &client.WorkspaceSpec{Repo: repository(t)}}})
	p := open(t, "/system?tab=workspaces")
	p.until("it", `[...document.querySelectorAll("tr[data-index]")].some((r) => r.dataset.id === "`+thread.Workspace.ID+`")`)
	p.click(button("Remove expired ones"))
	p.until("the dry run", `document.querySelector("dialog [role=status]")?.innerText.includes("would be removed")`)
	p.checkAxe(t, "prune")
	p.shoot("prune")
	if _, err := shared.Client.GetWorkspace(t.Context(), thread.Workspace.ID); err != nil {
		t.Errorf("the look removed something: %v", err)
	}
	p.click(`[...document.querySelectorAll("dialog footer button")][0]`)
	p.until("the list", `!document.querySelector("dialog")`)
}

// What threads came to is found by its words; a decision that is written down is there for the next one.
func TestMemory(t *testing.T) {
	thread := shell(t, client.ThreadSpec{Objective: "echo quetzalcoatl", Role: "singer"})
	p := open(t, "/threads/"+thread.ID+"?tab=memory")
	p.click(`[...document.querySelectorAll("textarea")].find((e) => e.closest("label")?.innerText.includes("decision"))`)
	p.do(chromedp.KeyEvent("words are split at spaces"))
	p.click(button("Write it down"))
	p.until("the decision", `[...document.querySelectorAll("section")].find((s) => s.querySelector("h2")?.innerText === "Decided")?.querySelector("ol")?.innerText.includes("words are split at spaces")`)
	p.checkAxe(t, "memory of a thread")
	if _, err := shared.Client.CompleteThread(t.Context(), thread.ID, client.ThreadClose{State: "complete", Summary: "It sang."}); err != nil {
		t.Fatal(err)
	}
	p.do(chromedp.Evaluate(`document.activeElement.blur()`, nil))
	p.goBy("m", `location.pathname === "/memory"`)
	p.click(css("main .find"))
	p.do(chromedp.KeyEvent("quetzalcoatl"))
	p.until("what it came to", `new URLSearchParams(location.search).get("q") === "quetzalcoatl" && document.querySelectorAll("tr[data-index]").length === 1`)
	p.do(chromedp.KeyEvent(kb.Escape))
	p.click(css("tr[data-index]"))
	p.until("it in full, with what was decided", `document.querySelector(".detail")?.innerText.includes("words are split at spaces") && document.querySelector(".detail").innerText.includes("singer")`)
	p.checkAxe(t, "memory")
	p.shoot("memory")
}

// Notifications come only once they are switched on, of what begins to wait while the page is not looked at, once each.
func TestNotifications(t *testing.T) {
	p := open(t, "/system?tab=settings")
	p.do(chromedp.Evaluate(`window.told = []; window.Notification = class { static permission = "granted"; static requestPermission = () => Promise.resolve("granted"); constructor(title, o) { window.told.push(title + ": " + o.body + " #" + o.tag); } close() {} }; document.hasFocus = () => false; 0`, nil))
	p.until("a live page", `document.querySelector(".live:not(.off)")?.innerText.includes("live")`)
	ask := func() string {
		t.Helper()
		e, err := shared.Client.ExecuteAsync(t.Context(), client.ExecuteRequest{Pattern: "enterprise-review", Input: []byte(`{"task": "a command that counts words"}`)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_, _ = shared.Client.CancelExecution(context.WithoutCancel(t.Context()), e.ExecutionID, "over")
		})
		return e.ExecutionID
	}
	ask()
	p.until("the question", `Number(document.querySelector(".inbox-count .nums").innerText) > 0`)
	if p.holds(`window.told.length > 0`) {
		t.Error("notifications are shown before they are switched on")
	}
	p.choose("label.choice:has(option[value=on]):last-of-type select", "on")
	p.until("the setting", `JSON.parse(localStorage.getItem("wardroom")).notify === true`)
	ask()
	p.until("one notification", `window.told.length === 1 && window.told[0].includes("asks")`)
	p.do(chromedp.Evaluate(`localStorage.removeItem("wardroom")`, nil))
}

// The log of a plugin is followed as it comes.
func TestPluginLog(t *testing.T) {
	p := open(t, "/system?tab=plugins")
	p.click(button("Log"))
	p.until("the log", `document.querySelector("pre.text") && document.querySelector(".bar [role=status]")?.innerText === "followed as it comes"`)
	p.do(chromedp.Evaluate(`window.linesBefore = document.querySelector("pre.text").innerText.split("\n").length; 0`, nil))
	p.checkAxe(t, "log of a plugin")
	p.click(button("Restart"))
	p.click(`[...document.querySelectorAll("dialog button")].find((b) => b.innerText === "Restart")`)
	p.until("what it logs then, without a reload", `document.querySelector("pre.text").innerText.split("\n").length > window.linesBefore && document.querySelector(".card:has([aria-pressed=true]) .state")?.innerText === "ready"`)
	// One that is disabled has no log, nothing to restart, and no time since which it is so if it never ran.
	p.until("what a disabled plugin offers", `[...document.querySelectorAll(".card")].every((c) => c.querySelector(".state").innerText !== "disabled" || !c.querySelector("button") && !/\d{4,}d/.test(c.innerText))`)
	p.shoot("log")
}

// The server's own log is followed as it comes, by level and text, which are in the address.
func TestServerLog(t *testing.T) {
	const log = `document.querySelector("pre.text")?.innerText`
	p := open(t, "/system")
	p.click(button("Server log"))
	p.until("lines that were written before", log+`?.includes("wardroom") && document.querySelector(".bar [role=status]").innerText === "followed as it comes"`)
	p.checkAxe(t, "log of the server")
	refuse := func(id string) { // each refused request is a line
		if _, err := shared.Client.GetExecution(t.Context(), id); err == nil {
			t.Fatal("an execution that is not there was found")
		}
	}
	refuse("exec_01HZZZZZZZZZZZZZZZZZZZZZZZ")
	p.until("the line of a refusal, without a reload", log+`.includes("getExecution")`)
	p.choose(".bar select", "error")
	p.until("lines of another level to go", `!`+log+`?.includes("getExecution") && location.search.includes("level=error")`)
	p.choose(".bar select", "info")
	p.do(chromedp.Focus("input.find"), chromedp.SendKeys("input.find", "GETexec"))
	p.until("lines with a text alone", log+`?.includes("getExecution") && `+log+`.split("\n").every((l) => /getexec/i.test(l)) && location.search.includes("text=GETexec")`)
	refuse("exec_01HZZZZZZZZZZZZZZZZZZZZZZY")
	p.until("the next such line", log+`.split("\n").length >= 2`)
	p.shoot("log")
}
