package browser_test

import (
	"crypto/rand"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/wardroom/wardroom/sdk/client"
)

// What is opened by an address and is not there has a way to the list of its kind.
func TestNotFoundLeadsToTheList(t *testing.T) {
	for list, address := range map[string]string{
		"executions": "executions/exec_01ARZ3NDEKTSV4RRFFQ69G5FAV", "batches": "batches/batch_01ARZ3NDEKTSV4RRFFQ69G5FAV", "threads": "threads/thread_01ARZ3NDEKTSV4RRFFQ69G5FAV",
		"schedules": "schedules/sched_01ARZ3NDEKTSV4RRFFQ69G5FAV", "triggers": "triggers/trig_01ARZ3NDEKTSV4RRFFQ69G5FAV", "webhooks": "webhooks/wh_01ARZ3NDEKTSV4RRFFQ69G5FAV",
		"patterns": "patterns/none?version=1.0.0", "agents": "agents/agent_01ARZ3NDEKTSV4RRFFQ69G5FAV", "agents?tab=managed": "agents/magent_01ARZ3NDEKTSV4RRFFQ69G5FAV",
	} {
		t.Run(list, func(t *testing.T) {
			p := openIn(t, "about:blank")
			p.away(true) // a refusal is an error to browsers
			p.do(chromedp.Navigate(shared.URL + "/" + address))
			p.until("that it is not there", `document.querySelector("main .notice.bad")?.innerText.includes("NOT_FOUND")`)
			if !p.holds(`document.querySelector("main .notice.bad a")`) {
				t.Fatalf("there is no way to the list\n%s", p.text())
			}
			p.click(`document.querySelector("main .notice.bad a")`)
			p.until("the list", `location.pathname + location.search === "/`+list+`" && document.querySelector("h1")`)
		})
	}
}

// What is not there beside what the address names, which is, leads away from nothing.
func TestNotFoundOfAnotherThing(t *testing.T) {
	name := "removed-" + strings.ToLower(rand.Text()[:6])
	if _, err := shared.Client.CreatePattern(t.Context(), client.PatternInput{Definition: strings.Replace(urgency, "name: urgency", "name: "+name, 1)}); err != nil {
		t.Fatal(err)
	}
	e, err := shared.Client.ExecuteAsync(t.Context(), client.ExecuteRequest{Pattern: name, Input: []byte(`{"text": "x"}`)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := shared.Client.CancelExecution(t.Context(), e.ExecutionID, "over"); err != nil {
		t.Fatal(err)
	}
	if _, err := shared.Client.DeletePattern(t.Context(), name, ""); err != nil {
		t.Fatal(err)
	}
	p := open(t, "/executions/"+e.ExecutionID)
	p.away(true)
	p.click(button("Run with changes"))
	p.until("that the pattern is not there", `document.querySelector("dialog .notice.bad")?.innerText.includes("NOT_FOUND")`)
	if p.holds(`document.querySelector("dialog .notice.bad a")`) {
		t.Errorf("the page of an execution that is there offers the way back to the list\n%s", p.text())
	}
}
