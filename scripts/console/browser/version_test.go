package browser_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/wardroom/wardroom/sdk/client"
)

// Versions that cannot be read are not an empty list of them.
func TestVersionsNotRead(t *testing.T) {
	putUrgency(t)
	p := openIn(t, "about:blank")
	p.away(true) // refusals are errors to browsers
	p.instead("*/api/patterns/urgency/versions*", func() *answer {
		return &answer{status: 500, body: `{"error": {"code": "INTERNAL_ERROR", "message": "broken"}}`}
	})
	p.do(chromedp.Navigate(shared.URL + "/patterns/urgency?tab=versions"))
	p.until("the tab", `document.querySelector("main .notice.bad, main table[aria-label=Versions]")`)
	if !p.holds(`document.querySelector("main .notice.bad")?.innerText.includes("broken")`) {
		t.Errorf("why there are no versions is not shown\n%s", p.text())
	}
}

// Of many versions all are counted, and listed as far as one looks.
func TestManyVersions(t *testing.T) {
	putUrgency(t)
	p := beforeIn(t, answering("/api/patterns/urgency/versions", `(q) => {
		const from = Number(q.get("offset") ?? 0), n = Math.min(100, 250 - from);
		return {versions: Array.from({length: n}, (_, i) => ({version: "1.0." + (249 - from - i), createdAt: "2026-01-02T03:04:05Z"})), total: 250, limit: 100, offset: from, hasMore: from + n < 250};
	}`))
	p.away(true) // the server has none of these versions
	p.do(chromedp.Navigate(shared.URL + "/patterns/urgency?tab=versions"))
	p.until("versions", `document.querySelector("main table[aria-label=Versions] tr[data-index]")`)
	if !p.holds(`document.querySelector(".tabs a[aria-current]").innerText.includes("250")`) {
		t.Errorf("the tab counts what was read\n%s", p.text())
	}
	p.do(chromedp.Evaluate(`new Promise((done) => { const r = document.querySelector(".rows"); let n = 0; const f = () => { if (window.made.length >= 3 || n++ > 600) return done(0); r.scrollTop = r.scrollHeight; requestAnimationFrame(f); }; f(); })`, nil, awaited))
	p.until("the last one", `(document.querySelector(".rows").scrollTop = 1e6, [...document.querySelectorAll("tr[data-index]")].some((r) => r.innerText.startsWith("1.0.0")))`)
}

// A choice that shows something else keeps the focus.
func TestChoiceKeepsFocus(t *testing.T) {
	for _, version := range []string{"1.0.0", "1.1.0"} {
		definition := "name: chosen-version\nversion: " + version + "\nagents: {capabilities: [urgency], min: 1}\naggregation: {strategy: first}\n"
		if _, err := shared.Client.CreatePattern(t.Context(), client.PatternInput{Definition: definition}); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		_, _ = shared.Client.DeletePattern(context.WithoutCancel(t.Context()), "chosen-version", "")
	})
	for _, one := range []struct{ name, path, value, shown string }{
		{"version", "/patterns/chosen-version", "1.0.0", `document.querySelector("main .drawing, main .scrolls")`},
		{"workspaces", "/system?tab=workspaces", "removed", `document.querySelector("main .empty, main tr[data-index]")`},
	} {
		t.Run(one.name, func(t *testing.T) {
			p := open(t, one.path)
			p.until("what is shown first", one.shown)
			p.do(chromedp.Evaluate(`document.querySelector("main select").focus()`, nil))
			p.choose("main select", one.value)
			p.until("the choice", fmt.Sprintf(`location.search.includes(%q) && document.querySelector("main select")?.value === %q && %s`, "="+one.value, one.value, one.shown))
			if !p.holds(`document.activeElement === document.querySelector("main select")`) {
				t.Error("the focus is lost")
			}
		})
	}
}

// So does a field of a filter that is sent by Enter.
func TestSentFilterKeepsFocus(t *testing.T) {
	for _, one := range []struct{ path, field string }{{"/agents?tab=managed", "name"}, {"/audit", "actor"}} {
		t.Run(one.field, func(t *testing.T) {
			p := openIn(t, "about:blank")
			p.away(true) // a server without an audit trail refuses it
			p.do(chromedp.Navigate(shared.URL + one.path))
			p.click(css("main input[name=" + one.field + "]"))
			p.do(chromedp.KeyEvent("somebody\r"))
			p.until("the filter in the address", `new URLSearchParams(location.search).get("`+one.field+`") === "somebody"`)
			p.do(chromedp.Evaluate(`new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))`, nil, awaited))
			if !p.holds(`document.activeElement?.name === "` + one.field + `" && document.activeElement.value === "somebody"`) {
				t.Error("the focus is lost, or what was typed")
			}
			p.do(chromedp.Evaluate(`history.back()`, nil))
			p.until("an empty field", `!location.search.includes("somebody") && document.querySelector("main input[name=`+one.field+`]").value === ""`)
		})
	}
}
