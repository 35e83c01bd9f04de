package browser_test

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// A year of five digits, as it is easily typed, is refused where it stands.
func TestYearOfFilter(t *testing.T) {
	p := open(t, "/executions")
	p.click(button("+ filter"))
	p.until("the field", `document.querySelector("dialog input[name=since]")`)
	p.do(chromedp.Evaluate(`document.querySelector("dialog input[name=since]").value = "20266-01-02T03:04"`, nil))
	p.click(`document.querySelector("dialog footer .main")`)
	if !p.holds(`document.querySelector("dialog input[name=since]:invalid")`) {
		t.Errorf("what is no time of the API is taken, to %s", p.text())
	}
}
