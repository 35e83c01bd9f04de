package browser_test

import (
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// The times of executions to compare with are of the zone that all times are of.
func TestTimesToCompareWith(t *testing.T) {
	putUrgency(t)
	id, other := begun(t), begun(t)
	p := openIn(t, "about:blank")
	p.do(emulation.SetTimezoneOverride("Asia/Tokyo"), chromedp.Navigate(shared.URL+"/executions/"+id+"?tab=data"))
	option := `document.querySelector(".compare option[value='` + other + `']")`
	p.until("the other one", option)
	if !p.holds(option + `.innerText.includes("+09:00")`) {
		t.Errorf("the time has no zone\n%s", p.text())
	}
}
