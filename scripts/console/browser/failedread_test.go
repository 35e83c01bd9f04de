package browser_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/wardroom/wardroom/sdk/client"
)

// failing is a script that has the reads of what a pattern fits fail until a person wants another try.
func failing(pattern string) string {
	return fmt.Sprintf(`{ const real = window.fetch, fits = new RegExp(%q); let fails = true; addEventListener("click", (e) => { if (e.target.closest?.(".notice.bad")) fails = false; }, true); window.fetch = (address, o) => {
		const url = new URL(address, location.href);
		if (!fails || o?.method !== "GET" || !fits.test(url.pathname + url.search)) return real(address, o);
		return Promise.resolve(new Response(JSON.stringify({error: {code: "INTERNAL_ERROR", message: "failed by the test"}}), {status: 500, headers: {"Content-Type": "application/json", "X-Request-Id": "req_of_the_test"}}));
	}; }`, pattern)
}

// A read that failed is neither waited for for ever, nor shown as if there were nothing: its reason is there, and the way to read again.
func TestFailedReadIsShown(t *testing.T) {
	thread := shell(t, client.ThreadSpec{Objective: "echo one"})
	putUrgency(t)
	id := begun(t)
	t.Cleanup(func() { _, _ = shared.Client.CancelExecution(context.WithoutCancel(t.Context()), id, "not needed") })
	const question = `{kind: "question", id: "q_01ARZ3NDEKTSV4RRFFQ0000001", status: "open", startedAt: "2026-01-02T03:04:05Z", firstSequence: 1, lastSequence: 1}`
	for _, one := range []struct{ name, path, fails, script, there, again string }{
		{name: "events of a thread", path: "/threads/" + thread.ID + "?tab=events", fails: "/events[?]", there: `document.querySelector("main .journal li")`},
		{name: "queue of a thread", path: "/threads/" + thread.ID, fails: "/queue[?]", there: `document.querySelector(".talk-box .agent")`},
		{name: "figures of an agent", path: "/agents/" + thread.ManagedAgentID + "?tab=about", fails: "/metrics$", there: main + `.includes("Uses now")`},
		{name: "checks", path: "/", fails: "/api/health", there: `document.querySelector(".tile")`},
		{name: "questions of an execution", path: "/executions/" + id, fails: "/questions[?]", there: `document.querySelector("main h1")`},
		{name: "a question", path: "/executions/" + id + "?sel=question:q_01ARZ3NDEKTSV4RRFFQ0000001", fails: "/api/questions/", there: `document.querySelector(".detail h2")`,
			script: answering("/api/executions/"+id+"/timeline", `() => ({executionId: "`+id+`", status: "running", lastSequence: 1, entries: [`+question+`]})`) +
				answering("/api/questions/q_01ARZ3NDEKTSV4RRFFQ0000001", `() => ({id: "q_01ARZ3NDEKTSV4RRFFQ0000001", executionId: "`+id+`", kind: "question", status: "answered", role: "lead", text: "Why?", answeredBy: "ann", createdAt: "2026-01-02T03:04:05Z"})`)},
		{name: "use of workspaces", path: "/system?tab=workspaces", fails: "/workspaces/usage", there: `document.querySelector("main tr[data-index]") || document.querySelector("main .empty")`},
		{name: "what may stand in a definition", path: "/patterns/urgency?tab=edit", fails: "/api/schemas/pattern", there: `document.querySelector("textarea[aria-label=Definition]")`},
		{name: "executions to compare with", path: "/executions/" + id + "?tab=data", fails: "/api/executions[?].*pattern=", there: `document.querySelector(".compare select")`},
		{name: "runtimes of a new thread", path: "/threads?tab=new", fails: "/api/runtimes", there: `document.querySelector("textarea[name=objective]")`},
		{name: "patterns to jump to", path: "/inbox", fails: "/api/patterns", there: `document.querySelector(".jumping")`, again: "dialog "},
	} {
		t.Run(one.name, func(t *testing.T) {
			p := beforeIn(t, one.script+failing(one.fails))
			p.away(true)
			p.do(chromedp.Navigate(shared.URL + one.path))
			if one.again != "" {
				p.click(css("header .jump"))
				p.do(chromedp.KeyEvent("triage"))
			}
			p.until("the rest of the screen, and the reason, or none", fmt.Sprintf(`document.querySelector(%q) || (%s) && performance.now() > 5000`, one.again+".notice.bad", one.there))
			if !p.holds(fmt.Sprintf(`document.querySelector(%q)?.innerText.includes("failed by the test") && document.querySelector(%[1]q).innerText.includes("req_of_the_test")`, one.again+".notice.bad")) {
				t.Fatalf("that the read failed is not shown\n%s", p.text())
			}
			p.click(fmt.Sprintf(`[...document.querySelectorAll(%q)].find((b) => b.innerText === "Try again")`, one.again+".notice.bad button"))
			p.until("the screen as it is", fmt.Sprintf(`!document.querySelector(%q) && (%s)`, one.again+".notice.bad", one.there))
		})
	}
}

// Try again reads at once, however long the read before took, and shows that it goes on for as long as it does.
func TestTryAgainIsSeen(t *testing.T) {
	p := beforeIn(t, `{ const real = window.fetch; let reads = 0; window.fetch = async (address, o) => {
		if (o?.method !== "GET" || new URL(address, location.href).pathname !== "/api/webhooks") return real(address, o);
		if (++reads === 1) {
			await new Promise((over) => setTimeout(over, 1200));
			return new Response(JSON.stringify({error: {code: "UNAVAILABLE", message: "maintenance"}}), {status: 503, headers: {"Content-Type": "application/json", "Retry-After": "600"}});
		}
		window.asked = performance.now();
		await new Promise((go) => { window.goOn = go; });
		return real(address, o);
	}; addEventListener("click", () => { window.pressed = performance.now(); }, true); }`)
	p.away(true)
	p.do(chromedp.Navigate(shared.URL + "/webhooks"))
	p.click(button("Try again"))
	p.until("the next read", `window.goOn`)
	if p.holds(`asked - pressed > 2500`) {
		t.Error("it is not read at once")
	}
	if !p.holds(`document.querySelector("main .notice.bad button[aria-busy=true]")?.innerText.startsWith("Trying")`) {
		t.Errorf("that it is being read is not shown\n%s", p.text())
	}
	p.do(chromedp.Evaluate(`goOn()`, nil))
	p.until("the list", `!document.querySelector("main .notice.bad") && document.querySelector("main .empty, main tr[data-index]")`)
}

// A form that is refused for several reasons has all of them, and what was typed.
func TestEachProblemIsNamed(t *testing.T) {
	p := beforeIn(t, `{ const real = window.fetch; window.fetch = (address, o) => real(address, o?.body && new URL(address, location.href).pathname.endsWith("/prepare")
		? {...o, body: JSON.stringify({...JSON.parse(o.body), name: "x".repeat(2000), role: "y".repeat(2000)})} : o); }`)
	p.away(true)
	p.do(chromedp.Navigate(shared.URL + "/threads?tab=new"))
	p.click(css("textarea[name=objective]"))
	p.do(chromedp.KeyEvent("echo one"))
	p.choose("select[name=type]", "bash")
	p.click(button("Look at"))
	p.until("the refusal", `document.querySelector("main .notice.bad")`)
	if !p.holds(`["name", "role"].every((n) => [...document.querySelectorAll("main .notice.bad li")].some((l) => l.innerText.startsWith(n)))`) {
		t.Errorf("not all is named that is wrong\n%s", p.text())
	}
	if !p.holds(`document.querySelector("textarea[name=objective]").value === "echo one"`) {
		t.Error("what was typed is gone")
	}
	p.checkAxe(t, "a refusal for several reasons")
}

// Of more reasons than a page has place for it is shown how many there are.
func TestManyProblemsAreCounted(t *testing.T) {
	p := beforeIn(t, `{ const real = window.fetch; window.fetch = (address, o) => new URL(address, location.href).pathname.endsWith("/prepare")
		? Promise.resolve(new Response(JSON.stringify({error: {code: "VALIDATION_ERROR", message: "refused by the test", details: {errors: Array.from({length: 62}, (_, i) => ({path: "field" + i, reason: "is wrong"}))}}}), {status: 400, headers: {"Content-Type": "application/json"}})) : real(address, o); }`)
	p.do(chromedp.Navigate(shared.URL + "/threads?tab=new"))
	p.choose("select[name=type]", "bash")
	p.fill(`document.querySelector("textarea[name=objective]")`, "echo one")
	p.click(button("Look at"))
	p.until("the refusal", `document.querySelector("main .notice.bad li")`)
	if !p.holds(`((list) => list.length === 51 && list.at(-1).innerText === "and 12 further ones")([...document.querySelectorAll("main .notice.bad li")])`) {
		t.Errorf("it is not shown that there are more\n%s", p.notice())
	}
}

// What is asked for while a read goes on is read once that is over, however long it took.
func TestReadAgainAfterALongRead(t *testing.T) {
	p := beforeIn(t, `{ const real = window.fetch; window.began = []; window.ended = []; window.fetch = async (address, o) => {
		if (o?.method !== "GET" || !/^\/api\/health\?.*detailed/.test(address)) return real(address, o);
		began.push(performance.now());
		if (window.slow) await new Promise((over) => setTimeout(over, 1200));
		const answer = await real(address, o);
		ended.push(performance.now());
		return answer;
	}; }`)
	p.do(chromedp.Navigate(shared.URL + "/system"))
	p.until("the list", `document.querySelector("main .bar button") && began.length === ended.length`)
	const press = `document.querySelector("main .bar button").click()`
	p.do(chromedp.Evaluate(`slow = true; before = began.length; `+press, nil))
	p.until("the long read", `began.length > before`)
	p.do(chromedp.Evaluate(press, nil))
	p.until("the next read", `began.length > before + 1`)
	if p.holds(`began[before + 1] - ended[before] > 2000`) {
		t.Error("it is not read at once")
	}
}
