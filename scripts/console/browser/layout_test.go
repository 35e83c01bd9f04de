package browser_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/wardroom/wardroom/sdk/client"
)

const phone = 360 // pixels that a phone is wide

// openOf opens a tab of a width at a path of the console, and waits until the screen is there.
func openOf(t testing.TB, width int64, path string) *page {
	t.Helper()
	p := openIn(t, "about:blank")
	p.do(chromedp.EmulateViewport(width, 800), chromedp.Navigate(shared.URL+path))
	p.until("the screen", `document.querySelector("h1") && !document.querySelector("main .waiting")`)
	return p
}

// each is a list of texts that an expression makes of the page.
func (p *page) each(expression string) (texts []string) {
	p.t.Helper()
	p.do(chromedp.Evaluate(expression, &texts, func(e *runtime.EvaluateParams) *runtime.EvaluateParams { return e.WithReturnByValue(true) }))
	return texts
}

// changing is a script that has a function change what the server answers to reads of a path.
func changing(path, change string) string {
	return fmt.Sprintf(`{ const real = window.fetch, change = %s; window.fetch = async (address, o) => {
		const answer = await real(address, o);
		if (o?.method !== "GET" || new URL(address, location.href).pathname !== %q || !answer.ok) return answer;
		return new Response(JSON.stringify(change(await answer.json())), {headers: {"Content-Type": "application/json"}});
	}; }`, change, path)
}

// The tab that is shown is in view on a phone, however many stand before it.
func TestChosenTabInView(t *testing.T) {
	done := ran(t)
	const whole = `((nav, tab) => tab.left >= nav.left && tab.right <= nav.right)(document.querySelector(".tabs").getBoundingClientRect(), document.querySelector(".tabs [aria-current]").getBoundingClientRect())`
	for _, path := range []string{"/executions/" + done.ExecutionID + "?tab=journal", "/system?tab=settings", "/patterns/startup-team?tab=edit"} {
		t.Run(path, func(t *testing.T) {
			p := openOf(t, phone, path)
			p.until("the chosen tab", `document.querySelector(".tabs [aria-current]")`)
			if !p.holds(whole) {
				t.Error("the chosen tab is not in view")
			}
			p.click(css(".tabs a"))
			p.until("the first tab", `document.querySelector(".tabs a").matches("[aria-current]")`)
			if !p.holds(whole) {
				t.Error("the first tab is not in view")
			}
		})
	}
}

// No word of a table or of a screen's title is broken for want of room: a table that is wider than a phone scrolls in itself.
func TestWordsStayWhole(t *testing.T) {
	ran(t)
	agents, err := shared.Client.ListAgents(t.Context(), client.AgentFilter{})
	if err != nil {
		t.Fatal(err)
	}
	id := ""
	for _, a := range agents.Agents {
		if a.Name == "ada" { // the architect of each team
			id = a.ID
		}
	}
	p := openOf(t, phone, "/agents/"+id)
	p.until("a task", `document.querySelector("main table.plain td")`)
	if broken := p.each(`[...document.querySelectorAll("main table.plain th")].filter((h) => h.getBoundingClientRect().height > 40).map((h) => h.innerText)`); len(broken) > 0 {
		t.Errorf("heads of columns are broken: %q", broken)
	}
	if p.holds(`document.querySelector("main").scrollWidth > innerWidth`) {
		t.Error("the page is wider than its window")
	}
	spawnShell(t, "an-agent-with-a-name-that-is-longer-than-its-screen-is-wide-on-a-phone-and-elsewhere")
	for _, width := range []int64{phone, 1440} {
		p := openOf(t, width, "/agents?tab=wall")
		p.until("the screen of the agent", `document.querySelector(".tile-screen")`)
		if high := p.each(`[...document.querySelectorAll(".tile-screen > a")].filter((a) => a.getBoundingClientRect().height > 44).map((a) => a.innerText)`); len(high) > 0 {
			t.Errorf("at %d titles of screens are broken: %q", width, high)
		}
	}
}

// Rows of lists show on a phone what they are of, and what can be done with them.
func TestNarrowLists(t *testing.T) {
	putUrgency(t)
	name := "named-" + strings.Repeat("at-length-", 7) + "by-a-person"
	definition := "name: " + name + "\nversion: 1.0.0\nagents: {capabilities: [urgency], min: 1}\naggregation: {strategy: first}\n"
	if _, err := shared.Client.CreatePattern(t.Context(), client.PatternInput{Definition: definition}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = shared.Client.DeletePattern(context.WithoutCancel(t.Context()), name, "") })
	id := asks(t)
	if _, err := shared.Client.StartBatch(t.Context(), client.BatchRequest{Pattern: "urgency", Inputs: []json.RawMessage{[]byte(`{"text": "x"}`)}}); err != nil {
		t.Fatal(err)
	}
	p := openOf(t, phone, "/patterns")
	p.until("the pattern", `document.querySelector("tr[data-id='`+name+`'] button")`)
	if !p.holds(`document.querySelector("tr[data-id='` + name + `'] button").getBoundingClientRect().right <= innerWidth`) {
		t.Error("a pattern with a long name cannot be run without scrolling to the side")
	}
	for _, one := range []struct{ path, row string }{{"/executions", "tr[data-id='" + id + "']"}, {"/batches", "tr[data-index]"}} {
		p := openOf(t, phone, one.path)
		p.until("the row", css(one.row))
		if one.path == "/executions" {
			p.until("what it waits for", fmt.Sprintf(`document.querySelector(%q).innerText.includes("waits for people")`, one.row))
		}
		if width := p.count(fmt.Sprintf(`Math.round(document.querySelector(%q).getBoundingClientRect().width)`, one.row+" td.grow")); width < 90 {
			t.Errorf("%s: %d pixels are left for the pattern\n%s", one.path, width, p.text())
		}
	}
}

// Rows of a list are of one height, whatever is in them: which are drawn goes by it.
func TestRowsOfOneHeight(t *testing.T) {
	ran(t)
	p := beforeIn(t, changing("/api/patterns", `(body) => ({...body, patterns: body.patterns.map((row, i) => i > 0 ? row : ({...row, use: {active: 12345, completed: 123456, failed: 12345, cancelled: 1234, since: "2026-01-02T03:04:05Z"}}))})`))
	for _, width := range []int64{1440, 768, phone} {
		p.do(chromedp.EmulateViewport(width, 800), chromedp.Navigate(shared.URL+"/patterns"))
		p.until("the use of patterns", `document.querySelector("main .uses")`)
		if heights := p.each(`[...new Set([...document.querySelectorAll("main tr[data-index]")].map((r) => String(r.getBoundingClientRect().height)))]`); len(heights) != 1 {
			t.Errorf("at %d rows are %v high", width, heights)
		}
	}
}

// A list of one version begins below the line that there is one.
func TestOneVersionIsBelowItsLine(t *testing.T) {
	p := openOf(t, 1440, "/patterns/startup-team?tab=versions")
	p.until("the version", `document.querySelector(".versions p") && document.querySelector("main tr[data-index]")`)
	if gap := p.count(`Math.round(document.querySelector("main .rows").getBoundingClientRect().top - document.querySelector(".versions p").getBoundingClientRect().bottom)`); gap > 40 {
		t.Errorf("%d pixels of nothing are between them", gap)
	}
}

// Times and numbers of charts are as large on a phone as elsewhere.
func TestChartsOnPhones(t *testing.T) {
	ran(t)
	for _, width := range []int64{phone, 1440} {
		p := openOf(t, width, "/")
		p.until("the chart", `document.querySelectorAll(".plot .ticks text").length > 6`)
		if small := p.each(`[...document.querySelectorAll(".plot .ticks text")].filter((e) => e.textContent && e.getBoundingClientRect().height < 12).map((e) => e.textContent)`); len(small) > 0 {
			t.Errorf("at %d these are hard to read: %q", width, small)
		}
		if out := p.each(`[...document.querySelectorAll(".plot .ticks text")].filter((e) => ((t, s) => t.left < s.left - 1 || t.right > s.right + 1)(e.getBoundingClientRect(), e.ownerSVGElement.getBoundingClientRect())).map((e) => e.textContent)`); len(out) > 0 {
			t.Errorf("at %d these are cut off: %q", width, out)
		}
	}
}

// States of a board stand close together on a phone, also those in which there is nothing.
func TestBoardOnPhones(t *testing.T) {
	shell(t, client.ThreadSpec{Name: "on the phone", Objective: "echo hello"})
	p := openOf(t, phone, "/threads?board=state")
	p.until("the board", `document.querySelector(".board .card")`)
	if apart := p.each(`[...document.querySelectorAll(".board section")].filter((s) => s.nextElementSibling?.getBoundingClientRect().top - s.getBoundingClientRect().bottom > 24).map((s) => s.innerText)`); len(apart) > 0 {
		t.Errorf("below these there is room that nothing takes: %q", apart)
	}
}

// What kind an entry is of stands apart from that it is on the critical path.
func TestBadgeStandsApart(t *testing.T) {
	done := ran(t)
	p := open(t, "/executions/"+done.ExecutionID+"?sel=step:0")
	p.until("the entry", `document.querySelector(".detail .facts dd .badge")`)
	gap := p.count(`((badge) => { const text = document.createRange(); text.selectNodeContents(badge.parentElement); text.setEndBefore(badge); return Math.round(badge.getBoundingClientRect().left - text.getBoundingClientRect().right); })(document.querySelector(".detail .facts dd .badge"))`)
	if gap < 4 {
		t.Errorf("%d pixels are between them", gap)
	}
}

// Fields that stand beside each other stand below each other on a phone, and none lies over another one.
func TestFieldsOfDialogsOnPhones(t *testing.T) {
	for _, one := range [][2]string{{"/executions", "+ filter"}, {"/agents?tab=managed", "Start one"}, {"/batches", "Start one"}, {"/webhooks", "New"}} {
		t.Run(one[0], func(t *testing.T) {
			p := openOf(t, phone, one[0])
			p.click(button(one[1]))
			p.until("the fields", `document.querySelectorAll("dialog form input").length > 1`)
			if over := p.each(`(() => {
				const box = document.querySelector("dialog").getBoundingClientRect(), all = [...document.querySelectorAll("dialog :is(input, select, textarea)")].filter((e) => e.checkVisibility()).map((e) => [e, e.getBoundingClientRect()]);
				return all.filter(([e, r], i) => r.right > box.right || all.some(([, o], j) => i < j && r.left < o.right && o.left < r.right && r.top < o.bottom && o.top < r.bottom)).map(([e]) => e.name || e.placeholder || e.type);
			})()`); len(over) > 0 {
				t.Errorf("over others, or over the edge: %q", over)
			}
		})
	}
}

// A line above what scrolls begins where that begins.
func TestLineAboveTable(t *testing.T) {
	for path, below := range map[string]string{"/system": "table", "/executions/" + team(t).ExecutionID + "?tab=journal": "ol, ul"} {
		p := openOf(t, 1440, path)
		p.until("the line", `document.querySelector("main .scrolls > .bar")`)
		var apart float64
		p.do(chromedp.Evaluate(fmt.Sprintf(`document.querySelector("main .scrolls > .bar > *").getBoundingClientRect().left - document.querySelector("main .scrolls").querySelector(%q).getBoundingClientRect().left`, below), &apart))
		if apart > 1 {
			t.Errorf("%s: the line begins %.0f pixels to the right of what is below it", path, apart)
		}
	}
}

// The times above a timeline are whole, also the last one.
func TestLastTimeIsWhole(t *testing.T) {
	id := team(t).ExecutionID
	p := beforeIn(t, changing("/api/executions/"+id+"/timeline", `(body) => { const at = (ms) => new Date(Date.parse(body.startedAt) + ms).toISOString();
		return {...body, completedAt: at(126), entries: [{kind: "step", id: "0", name: "one", status: "completed", startedAt: at(0), endedAt: at(126), sequence: 1}]}; }`))
	p.do(chromedp.EmulateViewport(1440, 900), chromedp.Navigate(shared.URL+"/executions/"+id))
	const times = `[...document.querySelectorAll(".times .lanes span")]`
	p.until("the times", times+`.length > 3`)
	if cut := p.each(times + `.filter((s) => s.getBoundingClientRect().right > document.querySelector(".times .lanes").getBoundingClientRect().right).map((s) => s.innerText)`); len(cut) > 0 {
		t.Errorf("cut off: %q", cut)
	}
}
