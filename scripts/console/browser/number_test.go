package browser_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/wardroom/wardroom/sdk/client"
)

// Numbers that a browser would round are shown, and sent again, as they are.
func TestLongNumbers(t *testing.T) {
	putUrgency(t)
	e, err := shared.Client.ExecuteAsync(t.Context(), client.ExecuteRequest{Pattern: "urgency", Input: []byte(`{"text": "x", "order": 12345678901234567891}`)})
	if err != nil {
		t.Fatal(err)
	}
	p := open(t, "/executions/"+e.ExecutionID+"?tab=data")
	p.until("the number", `document.querySelector("main").innerText.includes("12345678901234567891")`)
	p.click(button("Run with changes"))
	p.until("the number to run with", `[...document.querySelectorAll("dialog textarea")].some((f) => f.value.includes("12345678901234567891"))`)
	p.click(`[...document.querySelectorAll("dialog button")].find((b) => b.innerText === "Run")`)
	p.until("the new execution", `!location.pathname.endsWith("`+e.ExecutionID+`")`)
	var id string
	p.do(chromedp.Evaluate(`location.pathname.split("/")[2]`, &id))
	again, err := shared.Client.GetExecution(t.Context(), id)
	if err != nil || !strings.Contains(string(again.Input), "12345678901234567891") {
		t.Errorf("it runs with %s, %v", again.Input, err)
	}
	for _, one := range []string{e.ExecutionID, id} {
		if _, err := shared.Client.CancelExecution(t.Context(), one, "not needed"); err != nil {
			t.Error(err)
		}
	}
}
