package browser_test

import (
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// A touch that the browser takes for a scroll picks nothing in a chart.
func TestChartTouchTakenOver(t *testing.T) {
	putUrgency(t)
	begun(t)
	p := open(t, "/executions?time=1")
	p.until("the chart", `document.querySelector(".plot svg.picks")`)
	var box [4]float64
	p.do(chromedp.Evaluate(`(() => { const r = document.querySelector(".plot svg.picks").getBoundingClientRect(); return [r.x, r.y, r.width, r.height]; })()`, &box))
	at := func(part float64) *input.TouchPoint {
		return &input.TouchPoint{X: box[0] + box[2]*part, Y: box[1] + box[3]/2}
	}
	touch := func(kind input.TouchType, points ...*input.TouchPoint) chromedp.Action {
		return input.DispatchTouchEvent(kind, points)
	}
	p.do(touch(input.TouchStart, at(0.4)), touch(input.TouchMove, at(0.5)), touch(input.TouchMove, at(0.6)))
	p.until("what would be picked", `document.querySelector(".plot .picked")`)
	p.do(touch(input.TouchCancel, []*input.TouchPoint{}...))
	p.until("that nothing would be picked any more", `!document.querySelector(".plot .picked")`)
	if p.holds(`location.search.includes("since")`) {
		t.Error("the touch has picked a time")
	}
}
