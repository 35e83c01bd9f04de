package browser_test

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// hurried is a script that has what a page does again and again done twenty times as often.
const hurried = `{ const real = window.setInterval; window.setInterval = (what, ms, ...more) => real(what, ms / 20, ...more); }`

// What an agent's process uses now is read again while it is looked at.
func TestAgentUsesNow(t *testing.T) {
	id := spawnShell(t, "used-now")
	p := beforeIn(t, hurried+answering("/api/managed-agents/"+id+"/metrics", `() => ({cpuPercent: 1, memoryBytes: 1024, uptimeSeconds: 60, messagesSent: window.made.length})`))
	p.do(chromedp.Navigate(shared.URL + "/agents/" + id + "?tab=about"))
	sent := func(n string) string {
		return `[...document.querySelectorAll("main .facts div")].some((d) => d.innerText.replace(/\s+/g, " ") === "Messages ` + n + `")`
	}
	p.until("what it uses", sent("1"))
	p.until("what it uses by now", sent("4")) // a page that begins to hear of events may read once more
}

// That there is nothing to measure, as of a runtime that has no figures, or while an agent has no process, is no failure.
func TestAgentWithoutFigures(t *testing.T) {
	id := spawnShell(t, "not-measured")
	for _, code := range []string{"UNIMPLEMENTED", "NOT_RUNNING"} {
		p := beforeIn(t, hurried+`{ const real = window.fetch; window.asked = 0; window.fetch = (address, o) => {
			if (!new URL(address, location.href).pathname.endsWith("/metrics")) return real(address, o);
			asked++;
			return Promise.resolve(new Response(JSON.stringify({error: {code: "INTERNAL_ERROR", message: "no figures", details: {runtimeCode: "`+code+`"}}}), {status: 500, headers: {"Content-Type": "application/json"}}));
		}; }`)
		p.do(chromedp.Navigate(shared.URL + "/agents/" + id + "?tab=about"))
		p.until("the agent, and a second look for figures", `document.querySelector("main .facts") && asked > 1`)
		if p.holds(`document.querySelector("main .notice.bad") || ` + main + `.includes("Uses now")`) {
			t.Errorf("%s is shown as a failure\n%s", code, p.text())
		}
	}
}
