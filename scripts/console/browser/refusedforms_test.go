package browser_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/wardroom/wardroom/sdk/client"
)

// refusedForms is a script that has what changes something, at an address that a pattern fits, answered by the variable refuses, and
// keeps the keys of these requests. An answer that is late comes once go is called.
func refusedForms(pattern string) string {
	return fmt.Sprintf(`{ const real = window.fetch, fits = new RegExp(%q); window.refuses = "unreachable"; window.keys = []; window.go = undefined;
		const id = {"X-Request-Id": "req_of_the_test"}, json = (status, v, more) => new Response(JSON.stringify(v), {status, headers: {"Content-Type": "application/json", ...id, ...more}});
		const error = (status, code, details, more) => json(status, {error: {code, message: "refused by the test", details}, requestId: "req_of_the_test"}, more);
		const html = (status) => new Response("<html><body>no</body></html>", {status, headers: {"Content-Type": "text/html", ...id}});
		const answers = {
			unreachable: () => { throw new TypeError("Failed to fetch"); },
			cut: () => new Response(new ReadableStream({start(c) { c.enqueue(new TextEncoder().encode('{"id": "x')); c.error(new TypeError("network error")); }}), {headers: {"Content-Type": "application/json", ...id}}),
			late: async () => { await new Promise((done) => { window.go = done; }); return error(503, "INTERNAL_ERROR", {}); },
			"503": () => error(503, "INTERNAL_ERROR", {}, {"Retry-After": "7"}),
			"502 by a proxy": () => json(502, null),
			"503 by a proxy": () => json(503, {error: "no upstream"}),
			"504 by a proxy": () => html(504),
			"413 by a proxy": () => html(413),
			"400": () => error(400, "VALIDATION_ERROR", {errors: [{path: "first", reason: "is wrong"}, {path: "second", reason: "is wrong too"}]}),
			"400 without details": () => error(400, "VALIDATION_ERROR", null),
			"403": () => error(403, "FORBIDDEN", {}), "404": () => error(404, "NOT_FOUND", {}), "412": () => error(412, "CONFLICT", {}), "413": () => error(413, "PAYLOAD_TOO_LARGE", {}),
			"429": () => error(429, "RATE_LIMITED", {}, {"Retry-After": "7"}), "409": () => error(409, "CONFLICT", {}),
		};
		window.fetch = async (address, o) => {
			if (!o?.method || o.method === "GET" || !fits.test(o.method + " " + new URL(address, location.href).pathname)) return real(address, o);
			keys.push(o.headers["Idempotency-Key"] ?? "");
			window.answered = Infinity;
			try { return await answers[refuses](); } finally { answered = performance.now(); }
		}; }`, pattern)
}

// refusals are the answers of refusedForms, and what is shown of them; of the first ones the request may have been done.
var refusals = []struct {
	name  string
	lost  bool
	shows []string
	not   string
}{
	{"unreachable", true, []string{"UNREACHABLE"}, "tries again by itself"},
	{"cut", true, []string{"UNREACHABLE", "req_of_the_test"}, "tries again by itself"},
	{"late", true, []string{"refused by the test", "req_of_the_test"}, ""},
	{"503", true, []string{"refused by the test", "req_of_the_test"}, ""},
	{"502 by a proxy", true, []string{"502", "req_of_the_test"}, "TypeError"},
	{"503 by a proxy", true, []string{"503", "req_of_the_test"}, ""},
	{"504 by a proxy", true, []string{"504", "req_of_the_test"}, ""},
	{"413 by a proxy", false, []string{"413", "too large", "req_of_the_test"}, ""},
	{"400", false, []string{"first is wrong", "second is wrong too", "req_of_the_test"}, ""},
	{"400 without details", false, []string{"refused by the test", "req_of_the_test"}, ""},
	{"403", false, []string{"FORBIDDEN", "refused by the test", "req_of_the_test"}, ""},
	{"404", false, []string{"NOT_FOUND", "refused by the test", "req_of_the_test"}, ""},
	{"412", false, []string{"CONFLICT", "refused by the test", "req_of_the_test"}, ""},
	{"413", false, []string{"PAYLOAD_TOO_LARGE", "refused by the test", "req_of_the_test"}, ""},
	{"429", false, []string{"RATE_LIMITED", "7 seconds", "req_of_the_test"}, ""},
	{"409", false, []string{"CONFLICT", "refused by the test", "req_of_the_test"}, ""},
}

// What is sent by a form, or a button, and refused, lost or late: the reason is shown with its request, what was typed stays, it can be
// sent again, and is then the same request to the server where it makes something.
func TestRefusedForms(t *testing.T) {
	putUrgency(t)
	schedule, trigger := starters(t)
	hook := refusing(t, shared.Server, "pattern.deleted")
	thread := shell(t, client.ThreadSpec{Objective: "echo one"})
	agent := spawnShell(t, "refused-forms")
	id := begun(t)
	over := begun(t)
	if _, err := shared.Client.CancelExecution(t.Context(), over, "to be repeated"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = shared.Client.CancelExecution(context.WithoutCancel(t.Context()), id, "not needed")
	})
	inDialog := func(text string) string {
		return fmt.Sprintf(`[...document.querySelectorAll("dialog button")].find((b) => b.innerText.trim().startsWith(%q) && b.type === "submit") ?? [...document.querySelectorAll("dialog footer button")].find((b) => b.innerText.trim().startsWith(%[1]q))`, text)
	}
	for _, one := range []struct {
		name, path, sends string
		open              []string // what is pressed before
		typed             map[string]string
		submit            string
		keyed             bool // it makes something
	}{
		{"a run", "/patterns/urgency", "POST .*/execute", []string{"Run"}, map[string]string{`document.querySelector("dialog textarea")`: "typed"}, inDialog("Run"), true},
		{"a batch", "/batches", "POST .*/batch/execute", []string{"Start"}, map[string]string{`document.querySelector("dialog textarea")`: `{"text": "typed"}`, `document.querySelector("dialog input[name=pattern]")`: "urgency"}, inDialog("Start"), true},
		{"a look at a thread", "/threads?tab=new", "POST .*/prepare", nil, map[string]string{`document.querySelector("textarea[name=objective]")`: "typed"}, button("Look at"), false},
		{"a message", "/threads/" + thread.ID, "POST .*/send", nil, map[string]string{`document.querySelector(".composer textarea")`: "typed"}, button("Send"), true},
		{"a decision", "/threads/" + thread.ID + "?tab=memory", "POST .*/shared-decisions", nil, map[string]string{`document.querySelector("form.saying textarea")`: "typed"}, button("Write it down"), true},
		{"an agent", "/agents", "POST .*/managed-agents", []string{"Start one"}, map[string]string{`document.querySelector("dialog input[name=name]")`: "typed"}, inDialog("Start"), true},
		{"an endpoint", "/webhooks", "POST .*/webhooks", []string{"New"}, map[string]string{`document.querySelector("dialog input[name=url]")`: "http://127.0.0.1:9/typed"}, inDialog("Make it"), true},
		{"a change of an endpoint", "/webhooks/" + hook.ID, "PATCH .*/webhooks", []string{"Change"}, map[string]string{`document.querySelector("dialog input[name=url]")`: "http://127.0.0.1:9/typed"}, inDialog("Change it"), false},
		{"a definition", "/patterns/urgency?tab=edit", "POST .*/patterns$", nil, map[string]string{`document.querySelector("textarea[aria-label=Definition]")`: "name: urgency\nversion: 1.0.77\nagents: {capabilities: [urgency], min: 1}\n"}, button("Save"), true},
		{"a body for a trigger", "/triggers/" + trigger, "POST .*/test", nil, map[string]string{`document.querySelector("main form textarea")`: `{"typed": 1}`}, button("What would"), false},
		{"a cancel", "/executions/" + id, "POST .*/cancel", []string{"Cancel"}, nil, inDialog("Cancel the"), false},
		{"a repetition", "/executions/" + over, "POST .*/retry", []string{"Run again"}, nil, inDialog("Run again"), true},
		{"a run by hand", "/schedules/" + schedule, "POST .*/run", []string{"Run now"}, nil, inDialog("Run now"), true},
		{"a pause", "/schedules/" + schedule, "POST .*/pause", nil, nil, button("Pause"), false},
		{"a switch", "/triggers/" + trigger, "PATCH ", nil, nil, button("Disable"), false},
		{"a test", "/webhooks/" + hook.ID, "POST .*/test", nil, nil, button("Send a test"), false},
		{"a new secret", "/webhooks/" + hook.ID, "PATCH ", []string{"New secret"}, nil, inDialog("Make it"), false},
		{"a restart", "/agents/" + agent + "?tab=about", "POST .*/restart", []string{"Restart"}, nil, inDialog("Restart"), false},
		{"a stop", "/threads/" + thread.ID, "DELETE ", []string{"Stop"}, nil, inDialog("Stop the"), false},
	} {
		t.Run(one.name, func(t *testing.T) {
			p := beforeIn(t, refusedForms(one.sends))
			p.away(true)
			p.do(chromedp.Navigate(shared.URL + one.path))
			p.until("the screen", live+` && document.querySelector("h1")`)
			for _, text := range one.open {
				p.click(button(text))
				p.until("its dialog", `document.querySelector("dialog")`)
			}
			for field, text := range one.typed {
				p.fill(field, text)
			}
			lost := 0
			for _, r := range refusals {
				p.do(chromedp.Evaluate(fmt.Sprintf(`refuses = %q; window.before = keys.length; 0`, r.name), nil))
				p.click(one.submit)
				if r.name == "late" {
					p.until("that it is sent", `window.go`)
					if p.holds(fmt.Sprintf(`(%s) && !(%[1]s).disabled`, one.submit)) {
						t.Error("it can be sent again while its answer is awaited")
					}
					p.do(chromedp.Evaluate(`go(); 0`, nil))
				}
				p.until("that it was sent: "+r.name, `keys.length > before`)
				const said = `(document.querySelector("dialog .notice.bad") ?? document.querySelector("main .notice.bad"))?.innerText`
				p.until("the outcome of "+r.name, fmt.Sprintf(`%s?.includes(%q) || performance.now() > answered + 2000`, said, r.shows[0]))
				for _, text := range r.shows {
					if !p.holds(fmt.Sprintf(`%s?.includes(%q)`, said, text)) {
						t.Errorf("%s: %q is not shown\n%s", r.name, text, p.notice())
					}
				}
				if r.not != "" && p.holds(fmt.Sprintf(`%s?.includes(%q)`, said, r.not)) {
					t.Errorf("%s: it is misleading\n%s", r.name, p.notice())
				}
				for field, text := range one.typed {
					if !p.holds(fmt.Sprintf(`%s?.value === %q`, field, text)) {
						t.Fatalf("%s: what was typed is gone\n%s", r.name, p.text())
					}
				}
				if r.lost {
					lost++
				}
			}
			if one.keyed && p.count(fmt.Sprintf(`new Set(keys.slice(0, %d)).size`, lost)) != 1 || one.keyed && !p.holds(`keys.every(Boolean)`) {
				var keys []string
				p.do(chromedp.Evaluate(`keys`, &keys))
				t.Errorf("what is sent again is another request: %q", keys)
			}
		})
	}
}

// notice returns the text of the failures that the page shows.
func (p *page) notice() (text string) {
	p.do(chromedp.Evaluate(`[...document.querySelectorAll(".notice.bad")].map((n) => n.innerText).join("\n--\n")`, &text))
	return text
}
