package browser_test

import (
	"fmt"
	"testing"

	browserpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// Each tab has its own draft of a new pattern; what a closed tab leaves is offered to the next one, and none takes another's away.
func TestDraftsOfTabs(t *testing.T) {
	const area = `document.querySelector(".paper textarea")`
	write := func(p *page, name string) {
		t.Helper()
		p.until("the template", area+`?.value.startsWith("name: my-pattern\n")`)
		p.do(chromedp.Evaluate(fmt.Sprintf(`(() => { const e = %s; e.value = e.value.replace("my-pattern", %q); e.dispatchEvent(new Event("input", {bubbles: true})); })()`, area, name), nil))
		p.until("the draft", fmt.Sprintf(`document.querySelector(".editing").innerText.includes("draft, kept") && Object.values(localStorage).some((v) => v.includes(%q))`, "name: "+name))
	}
	reload := func(p *page, name string) {
		t.Helper()
		p.do(browserpage.BringToFront(), chromedp.Reload())
		p.until("a text after a reload", area+`?.value`)
		if !p.holds(area + `.value.startsWith("name: ` + name + `\n")`) {
			t.Errorf("the draft of %s is another one\n%s", name, p.text())
		}
	}
	one := open(t, "/patterns?tab=new")
	defer func() { _ = chromedp.Run(one.ctx, chromedp.Evaluate(`localStorage.clear()`, nil)) }()
	write(one, "first")
	two := open(t, "/patterns?tab=new")
	write(two, "second")
	reload(one, "first")
	reload(two, "second")
	if err := chromedp.Cancel(two.ctx); err != nil {
		t.Fatal(err)
	}

	offer := func(name string) string {
		return fmt.Sprintf(`[...document.querySelectorAll(".editing p.bar")].find((p) => p.innerText.includes(%q))?.querySelector("button")`, name+"@1.0.0")
	}
	three := open(t, "/patterns?tab=new")
	three.until("the draft of the closed tab, offered", offer("second"))
	three.checkAxe(t, "drafts of other tabs")
	three.click(offer("second"))
	three.until("it", area+`.value.startsWith("name: second\n") && document.activeElement === `+area)
	three.click(button("Give it up"))
	three.click(offer("first"))
	three.until("a copy of what is written elsewhere", area+`.value.startsWith("name: first\n")`)
	reload(one, "first")
}
