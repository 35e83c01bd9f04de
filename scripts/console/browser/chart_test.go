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

// What is picked by dragging begins and ends where the pointer is.
func TestChartPicksUnderPointer(t *testing.T) {
	putUrgency(t)
	begun(t)
	p := open(t, "/executions?time=1")
	p.until("the chart", `document.querySelector(".plot svg.picks")`)
	var box [4]float64
	p.do(chromedp.Evaluate(`(() => { const r = document.querySelector(".plot svg.picks").getBoundingClientRect(); return [r.x, r.y, r.width, r.height]; })()`, &box))
	from, to, y := box[0]+box[2]*0.3, box[0]+box[2]*0.9, box[1]+box[3]/2
	mouse := func(kind input.MouseType, x float64) chromedp.Action {
		return input.DispatchMouseEvent(kind, x, y).WithButton(input.Left).WithClickCount(1)
	}
	p.do(mouse(input.MousePressed, from), mouse(input.MouseMoved, (from+to)/2), mouse(input.MouseMoved, to))
	p.until("what would be picked", `document.querySelector(".plot .picked")?.width.baseVal.value > 1`)
	var picked [2]float64
	p.do(chromedp.Evaluate(`(() => { const r = document.querySelector(".plot .picked").getBoundingClientRect(); return [r.left, r.right]; })()`, &picked))
	if picked[0] < from-3 || picked[0] > from+3 || picked[1] < to-3 || picked[1] > to+3 {
		t.Errorf("from %.0f to %.0f the pointer picks %.0f to %.0f", from, to, picked[0], picked[1])
	}
	p.do(mouse(input.MouseReleased, to))
}

// The chart of durations names its lines in words that people use, which the point under the pointer has too, and a point alone is
// large enough to be seen.
func TestChartOfDurations(t *testing.T) {
	p := beforeIn(t, changing("/api/overview", `(o) => ({...o, minutes: [{at: new Date(Date.parse(o.at) - 18e5).toISOString(), started: 2, completed: 2, failed: 0, cancelled: 0, p50Ms: 1200, p95Ms: 60000}], hours: []})`))
	p.do(chromedp.Navigate(shared.URL + "/"))
	const chart = `[...document.querySelectorAll(".plot")].find((f) => f.innerText.includes("Duration"))`
	p.until("the chart", chart+`?.querySelector("path.p50")`)
	if !p.holds(chart + `.querySelector("h2").textContent === "Duration: median and 95th percentile" && ` + chart + `.querySelector("svg").ariaLabel.includes("median 1.2 s, 95th percentile 1m 00s")`) {
		t.Errorf("it does not say what its lines are\n%s", p.text())
	}
	for _, line := range []string{"p50", "p95"} {
		if !p.holds(chart + `.querySelector("path.` + line + `.alone")?.getAttribute("d") && parseFloat(getComputedStyle(` + chart + `.querySelector("path.` + line + `.alone")).strokeWidth) >= 5`) {
			t.Errorf("the point of %s is not to be seen", line)
		}
	}
	var box [4]float64
	p.do(chromedp.Evaluate(`(() => { const r = `+chart+`.querySelector("svg").getBoundingClientRect(); return [r.x, r.y, r.width, r.height]; })()`, &box))
	height := box[3]
	for x := box[2] * 0.4; x < box[2]*0.7; x += 2 {
		p.do(input.DispatchMouseEvent(input.MouseMoved, box[0]+x, box[1]+height/2))
		if p.holds(chart + `.querySelector("figcaption .nums").textContent.endsWith("median 1.2 s, 95th percentile 1m 00s")`) {
			return
		}
	}
	t.Errorf("nothing under the pointer says it\n%s", p.text())
}
