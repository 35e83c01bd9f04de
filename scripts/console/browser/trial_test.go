package browser_test

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// What a body would start is not shown beside another body.
func TestTrialIsOfItsBody(t *testing.T) {
	putUrgency(t)
	_, trigger := starters(t)
	p := open(t, "/triggers/"+trigger)
	const said = `[...document.querySelectorAll("form.form [role=status]")].some((e) => e.innerText.includes("it would"))`
	p.click(css("form.form textarea"))
	p.do(chromedp.KeyEvent(`{"text": "one"}`))
	p.click(button("What would it start?"))
	p.until("what it would start", said)
	p.do(chromedp.Evaluate(css("form.form textarea")+`.focus()`, nil), chromedp.KeyEvent(kb.End), chromedp.KeyEvent(" "))
	p.until("what is typed", css("form.form textarea")+`.value.endsWith("} ")`)
	if p.holds(said) {
		t.Error("what the body before would start is told of this one")
	}
}

// A trigger that no request came to says so, and of a schedule that it has not run.
func TestNothingCameYet(t *testing.T) {
	putUrgency(t)
	schedule, trigger := starters(t)
	for path, words := range map[string]string{"/triggers/" + trigger: "No request has come yet.", "/schedules/" + schedule: "It has not run yet."} {
		p := open(t, path)
		p.until("its runs", `document.querySelector("main section p.soft")`)
		if !p.holds(main + `.includes("` + words + `")`) {
			t.Errorf("%s does not say %q\n%s", path, words, p.text())
		}
	}
}
