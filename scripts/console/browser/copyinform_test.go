package browser_test

import (
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/wardroom/wardroom/sdk/client"
)

// A command that is copied of a form has what is typed in it, or is none; to copy it starts nothing.
func TestCopyOfForm(t *testing.T) {
	definition := "name: copied\nversion: 1.0.0\ninput:\n  n: {type: number}\nagents: {capabilities: [urgency], min: 1}\naggregation: {strategy: first}\n"
	if _, err := shared.Client.CreatePattern(t.Context(), client.PatternInput{Definition: definition}); err != nil {
		t.Fatal(err)
	}
	p := beforeIn(t, `{ const real = window.fetch; window.runs = 0; window.fetch = (address, o) => {
		if (o?.method !== "POST" || !new URL(address, location.href).pathname.endsWith("/execute")) return real(address, o);
		runs++;
		return Promise.resolve(new Response(JSON.stringify({error: {code: "VALIDATION_ERROR", message: "looked at"}}), {status: 400, headers: {"Content-Type": "application/json"}}));
	}; window.copied = []; Object.defineProperty(navigator, "clipboard", {value: {writeText: async (text) => { copied.push(text); }}}); }`)
	p.do(chromedp.Navigate(shared.URL + "/patterns/copied"))
	p.click(button("Run"))
	p.click(css("dialog textarea"))
	p.do(chromedp.KeyEvent("many"))
	const copyCLI = `[...document.querySelectorAll("dialog footer button")].find((b) => b.innerText.trim() === "CLI")`
	p.click(copyCLI)
	p.until("an answer", `copied.length > 0 || [...document.querySelectorAll("dialog footer [role=status]")].some((s) => s.textContent !== "")`)
	if !p.holds(`copied.length === 0 && [...document.querySelectorAll("dialog footer [role=status]")].some((s) => s.textContent === "n must be a number")`) {
		t.Errorf("what cannot be read is copied as something else\n%s", p.text())
	}
	p.do(chromedp.Evaluate(`document.querySelector("dialog textarea").select()`, nil), chromedp.KeyEvent("7"))
	p.click(copyCLI)
	p.until("the command", `copied.length > 0 || runs > 0`)
	p.until("what was typed", `copied.at(-1)?.includes('{"n":7}')`)
	if n := p.count(`runs`); n != 0 {
		t.Errorf("to copy a command runs the pattern, %d times", n)
	}
}

// To copy the command of a new thread starts none, and Enter in one of its fields copies nothing.
func TestCopyOfNewThread(t *testing.T) {
	p := beforeIn(t, `{ const real = window.fetch; window.starts = 0; window.looks = 0; window.fetch = (address, o) => {
		const path = new URL(address, location.href).pathname;
		if (o?.method === "POST" && path.endsWith("/prepare")) looks++;
		if (o?.method === "POST" && path.endsWith("/managed-threads")) { starts++; return Promise.reject(new Error("looked at")); }
		return real(address, o);
	}; window.copied = []; Object.defineProperty(navigator, "clipboard", {value: {writeText: async (text) => { copied.push(text); }}}); }`)
	p.do(chromedp.Navigate(shared.URL + "/threads?tab=new"))
	p.click(css("textarea[name=objective]"))
	p.do(chromedp.KeyEvent("echo one"))
	p.choose("select[name=type]", "bash")
	p.click(css("input[name=name]"))
	p.do(chromedp.KeyEvent("copied\r"))
	p.until("what it begins with", `document.querySelector(".plan")`)
	if n := p.count(`copied.length`); n != 0 {
		t.Errorf("Enter copies a command")
	}
	p.click(`[...document.querySelectorAll("form button")].find((b) => b.innerText.trim() === "CLI")`)
	p.until("the command", `copied.length > 0`)
	if n := p.count(`starts`); n != 0 {
		t.Errorf("to copy a command starts the thread")
	}
}

// To withdraw a message that waits sends nothing of what is being written.
func TestWithdrawSendsNothing(t *testing.T) {
	thread := shell(t, client.ThreadSpec{Objective: "echo one"})
	p := beforeIn(t, answering("/api/managed-threads/"+thread.ID+"/queue", `() => ({inputs: [{inputId: "in_01ARZ3NDEKTSV4RRFFQ0000001", message: "waits", state: "waiting", createdAt: "2026-01-02T03:04:05Z"}], queued: 1, limit: 100, offset: 0, hasMore: false})`)+
		`{ const real = window.fetch; window.sent = 0; window.withdrawn = 0; window.fetch = (address, o) => {
			const path = new URL(address, location.href).pathname;
			if (o?.method === "POST" && path.endsWith("/send")) { sent++; return Promise.resolve(new Response("{}", {headers: {"Content-Type": "application/json"}})); }
			if (o?.method === "DELETE" && path.includes("/queue/")) { withdrawn++; return Promise.resolve(new Response(null, {status: 204})); }
			return real(address, o);
		}; }`)
	p.do(chromedp.Navigate(shared.URL + "/threads/" + thread.ID))
	p.click(css(".composer textarea"))
	p.do(chromedp.KeyEvent("rm -rf, no, "))
	p.click(`[...document.querySelectorAll(".composer .queue button")].find((b) => b.innerText === "withdraw")`)
	p.until("that it is withdrawn", `withdrawn === 1`)
	if !p.holds(`sent === 0 && document.querySelector(".composer textarea").value === "rm -rf, no, "`) {
		t.Error("what is half written was sent")
	}
}
