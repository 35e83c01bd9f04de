package browser_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/wardroom/wardroom/sdk/client"
)

// An answer that is lost on its way is no reason to do anything twice: the click that repeats is the same one to the server.
func TestLostAnswer(t *testing.T) {
	putUrgency(t)
	first := begun(t)
	if _, err := shared.Client.CancelExecution(t.Context(), first, "to be repeated"); err != nil {
		t.Fatal(err)
	}
	for _, one := range []struct{ name, path string }{{"execution", "/executions/" + first}, {"list", "/executions"}} {
		t.Run(one.name, func(t *testing.T) {
			before := repeats(t, shared.Client, first)
			p := openIn(t, "about:blank")
			p.away(true)
			var once sync.Once
			p.insteadOf("*/retry", func(r *network.Request) (a *answer) {
				once.Do(func() {
					send(t, r, "{}")
					a = &answer{status: 503, body: `{"error": {"code": "INTERNAL_ERROR", "message": "the answer is lost"}}`}
				})
				return a
			})
			p.do(chromedp.Navigate(shared.URL + one.path))
			click, outcome := "Run again", `[...document.querySelectorAll("dialog")].some((d) => d.innerText.includes("the answer is lost"))`
			again := func() {
				t.Helper()
				if one.name == "list" {
					if row := fmt.Sprintf(`document.querySelector("tr[data-id='%s'] input")`, first); !p.holds(row + `?.checked`) { // what failed stays selected
						p.click(row)
					}
					p.click(button("Run again"))
					click = "Run again 1"
				}
				p.click(fmt.Sprintf(`[...document.querySelectorAll("dialog button")].find((b) => b.innerText.trim() === %q)`, click))
			}
			if one.name == "execution" {
				p.click(button("Run again"))
			}
			again()
			p.until("that the answer is lost", outcome)
			if one.name == "list" {
				p.click(`[...document.querySelectorAll("dialog button")].find((b) => b.innerText === "Close")`)
			}
			again()
			p.until("the repetition", `document.querySelector("dialog tbody a[href*='/executions/exec_']") || location.pathname.startsWith("/executions/exec_") && !location.pathname.endsWith("`+first+`")`)
			if n := repeats(t, shared.Client, first) - before; n != 1 {
				t.Errorf("%d executions repeat it", n)
			}
		})
	}
}

// send sends a request of a page to the server, and forgets the answer.
func send(t testing.TB, r *network.Request, body string) {
	t.Helper()
	out, err := http.NewRequest(r.Method, r.URL, strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return
	}
	for name, value := range r.Headers {
		if text, ok := value.(string); ok {
			out.Header.Set(name, text)
		}
	}
	answer, err := http.DefaultClient.Do(out)
	if err != nil {
		t.Error(err)
		return
	}
	_ = answer.Body.Close()
	if answer.StatusCode >= 300 {
		t.Errorf("%s %s: %s", r.Method, r.URL, answer.Status)
	}
}

// repeats counts the executions that repeat one.
func repeats(t testing.TB, api *client.Client, id string) (n int) {
	t.Helper()
	list, err := api.ListExecutions(t.Context(), client.ExecutionFilter{Page: client.Page{Limit: 50}})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list.Executions {
		found, err := api.GetExecution(t.Context(), e.ExecutionID)
		if err == nil && found.RetryOf == id {
			n++
		}
	}
	return n
}
