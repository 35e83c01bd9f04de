package browser_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"
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

// A number that a person types goes to the server as it was typed, in a field, in JSON, and in a body that is tried.
func TestTypedNumbers(t *testing.T) {
	putUrgency(t)
	definition := "name: numbered\nversion: 1.0.0\ninput:\n  n: {type: number}\nagents: {capabilities: [urgency], min: 1}\naggregation: {strategy: first}\n"
	if _, err := shared.Client.CreatePattern(t.Context(), client.PatternInput{Definition: definition}); err != nil {
		t.Fatal(err)
	}
	sent := make(chan string, 1)
	p := openIn(t, "about:blank")
	p.away(true) // the answers are errors to browsers
	p.insteadOf("*/api/*", func(r *network.Request) *answer {
		if r.Method != http.MethodPost || !strings.HasSuffix(strings.Split(r.URL, "?")[0], "/execute") && !strings.HasSuffix(r.URL, "/test") {
			return nil
		}
		var body []byte
		for _, e := range r.PostDataEntries {
			part, err := base64.StdEncoding.DecodeString(e.Bytes)
			if err != nil {
				t.Error(err)
			}
			body = append(body, part...)
		}
		sent <- string(body)
		return &answer{status: http.StatusBadRequest, body: `{"error": {"code": "VALIDATION_ERROR", "message": "looked at"}}`}
	})
	told := func(want ...string) {
		t.Helper()
		select {
		case body := <-sent:
			for _, w := range want {
				if !strings.Contains(body, w) {
					t.Errorf("sent %s, without %s", body, w)
				}
			}
		case <-p.ctx.Done():
			t.Fatal(p.text())
		}
	}
	p.do(chromedp.Navigate(shared.URL + "/patterns/numbered"))
	p.click(button("Run"))
	p.click(css("dialog textarea"))
	p.do(chromedp.KeyEvent("1e25"))
	p.click(css("dialog details summary"))
	p.click(css("dialog details textarea"))
	p.do(chromedp.KeyEvent(`{"far": 1e400, "fine": 0.12345678901234567890}`))
	p.click(`[...document.querySelectorAll("dialog button")].find((b) => b.innerText === "Run")`)
	told(`"far":1e400`, `"fine":0.12345678901234567890`)
	p.click(css("dialog textarea"))
	p.do(chromedp.Evaluate(`document.querySelector("dialog textarea").select()`, nil), chromedp.KeyEvent("1e400"))
	p.click(`[...document.querySelectorAll("dialog button")].find((b) => b.innerText === "Run")`)
	told(`"n":1e400`)

	_, tr := starters(t)
	p.do(chromedp.Navigate(shared.URL + "/triggers/" + tr))
	p.click(css("main textarea"))
	p.do(chromedp.KeyEvent(`{"order": 12345678901234567891}`))
	p.click(button("What would it start"))
	told(`"order":12345678901234567891`)
}

// A field for a number, or for JSON, in which there is nothing but a new line has nothing in it, and no zero.
func TestBlankNumber(t *testing.T) {
	definition := "name: blank\nversion: 1.0.0\ninput:\n  n: {type: number}\n  list: {type: array}\nagents: {capabilities: [urgency], min: 1}\naggregation: {strategy: first}\n"
	if _, err := shared.Client.CreatePattern(t.Context(), client.PatternInput{Definition: definition}); err != nil {
		t.Fatal(err)
	}
	p := beforeIn(t, `{ const real = window.fetch; window.fetch = (address, o) => {
		if (o?.method !== "POST" || !new URL(address, location.href).pathname.endsWith("/execute")) return real(address, o);
		window.sent = o.body;
		return Promise.resolve(new Response(JSON.stringify({error: {code: "VALIDATION_ERROR", message: "looked at"}}), {status: 400, headers: {"Content-Type": "application/json"}}));
	}; }`)
	p.do(chromedp.Navigate(shared.URL + "/patterns/blank"))
	p.click(button("Run"))
	for _, n := range []string{"0", "1"} {
		p.do(chromedp.Evaluate(`window.sent = undefined`, nil))
		p.click(`document.querySelectorAll("dialog form > .body > label textarea")[` + n + `]`)
		p.do(chromedp.KeyEvent("\r"))
		p.click(`[...document.querySelectorAll("dialog button")].find((b) => b.innerText === "Run")`)
		p.until("an answer", `document.querySelector("dialog .notice.bad") && !document.querySelector("dialog footer .main").disabled`)
		var sent string
		p.do(chromedp.Evaluate(`window.sent ?? ""`, &sent))
		if sent != `{"input":{}}` {
			t.Errorf("sent %q\n%s", sent, p.text())
		}
	}
}
