package browser_test

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// What an agent's process uses now is read again while it is looked at.
func TestAgentUsesNow(t *testing.T) {
	id := spawnShell(t, "used-now")
	p := beforeIn(t, answering("/api/managed-agents/"+id+"/metrics", `() => ({cpuPercent: 1, memoryBytes: 1024, uptimeSeconds: 60, messagesSent: window.made.length})`))
	p.do(chromedp.Navigate(shared.URL + "/agents/" + id + "?tab=about"))
	sent := func(n string) string {
		return `[...document.querySelectorAll("main .facts div")].some((d) => d.innerText.replace(/\s+/g, " ") === "Messages ` + n + `")`
	}
	p.until("what it uses", sent("1"))
	p.until("what it uses by now", sent("4")) // a page that begins to hear of events may read once more
}
