package browser_test

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// What is opened by an address and is not there has a way to the list of its kind.
func TestNotFoundLeadsToTheList(t *testing.T) {
	for list, prefix := range map[string]string{
		"executions": "exec_", "batches": "batch_", "threads": "thread_", "schedules": "sched_", "triggers": "trig_", "webhooks": "wh_", "patterns": "none-", "agents": "agent_",
	} {
		t.Run(list, func(t *testing.T) {
			p := openIn(t, "about:blank")
			p.away(true) // a refusal is an error to browsers
			p.do(chromedp.Navigate(shared.URL + "/" + list + "/" + prefix + "01ARZ3NDEKTSV4RRFFQ69G5FAV"))
			p.until("that it is not there", `document.querySelector("main .notice.bad")?.innerText.includes("NOT_FOUND")`)
			if !p.holds(`document.querySelector("main .notice.bad a")`) {
				t.Fatalf("there is no way to the list\n%s", p.text())
			}
			p.click(`document.querySelector("main .notice.bad a")`)
			p.until("the list", `location.pathname === "/`+list+`" && document.querySelector("h1")`)
		})
	}
}
