package browser_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	browserpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/wire"
)

// urgency is a pattern that nobody can run here: its executions wait, or fail.
const urgency = "name: urgency\nversion: 1.0.0\ninput:\n  text: {type: string}\nagents: {capabilities: [urgency], min: 1}\naggregation: {strategy: first}\n"

// putUrgency stores it, once for all tests.
func putUrgency(t *testing.T) {
	t.Helper()
	if _, err := shared.Client.GetPattern(t.Context(), "urgency", ""); err == nil {
		return
	}
	if _, err := shared.Client.CreatePattern(t.Context(), client.PatternInput{Definition: urgency}); err != nil {
		t.Fatal(err)
	}
}

// Filters are in the address and are sent; what they select is exported; a selection is cancelled with the outcome of each.
func TestExecutionList(t *testing.T) {
	putUrgency(t)
	blue := "blue-" + rand.Text()[:6] // of this run alone
	var ids []string
	for _, team := range []string{blue, blue, "red"} {
		e, err := shared.Client.ExecuteAsync(t.Context(), client.ExecuteRequest{Pattern: "urgency", Input: []byte(`{"text": "x"}`), Options: client.ExecuteOptions{Metadata: map[string]any{"team": team}}})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, e.ExecutionID)
	}
	p := open(t, "/executions")
	p.click(button("+ filter"))
	p.click(css(`dialog input[placeholder="key"]`))
	p.do(chromedp.KeyEvent("team"))
	p.click(css(`dialog input[name=value]`))
	p.do(chromedp.KeyEvent(blue))
	p.click(`[...document.querySelectorAll("dialog button")].find((b) => b.innerText === "Filter")`)
	const rows = `document.querySelectorAll("main tr[data-index]").length`
	p.until("two that fit", rows+` === 2 && new URLSearchParams(location.search).get("metadata.team") === "`+blue+`"`)
	p.click(button("pending"))
	p.click(button("failed"))
	p.until("several states in the address", `new URLSearchParams(location.search).get("status") === "pending,failed" && `+rows+" === 2")

	p.do(chromedp.Evaluate(`window.files = []; URL.createObjectURL = (b) => { b.text().then((t) => window.files.push(t)); return "data:,"; }; HTMLAnchorElement.prototype.click = () => {}`, nil))
	p.click(button("Export"))
	p.click(button("JSON lines"))
	p.until("the lines", `window.files.length === 1`)
	p.click(button("CSV"))
	p.until("the table", `window.files.length === 2`)
	var files []string
	p.do(chromedp.Evaluate(`window.files`, &files))
	lines := strings.Split(strings.TrimSpace(files[0]), "\n")
	var row struct{ ExecutionID string }
	if err := json.Unmarshal([]byte(lines[0]), &row); err != nil || len(lines) != 2 || row.ExecutionID != ids[1] {
		t.Errorf("exported %q, %v", files[0], err)
	}
	if !strings.HasPrefix(files[1], "executionId,status,") || strings.Count(files[1], "\r\n") != 3 {
		t.Errorf("exported %q", files[1])
	}
	p.click(css(`dialog button[aria-label="Close"]`))

	p.click(css("tr[data-index] input[type=checkbox]"))
	p.click(button("Cancel"))
	p.until("the id", `document.querySelector("dialog table")?.innerText.includes("pending")`)
	p.click(button("Cancel 1"))
	p.until("its outcome", `document.querySelector("dialog table")?.innerText.includes("cancelled")`)
	p.click(`[...document.querySelectorAll("dialog button")].find((b) => b.innerText === "Close")`)
	p.until("its state, in place", `[...document.querySelectorAll("main tr[data-index]")].some((r) => r.innerText.includes("cancelled"))`)
	p.click(button("clear"))
	p.until("all of them, by time as well", rows+` > 2 && location.search === ""`)
	p.click(button("Over time"))
	p.until("the histogram", `document.querySelector(".plot svg[role=img]")?.ariaLabel.startsWith("Made in the last 30 days")`)
}

// A look at the list that failed for now is made again by itself, and then shows what it was made for.
func TestListTriesAgain(t *testing.T) {
	putUrgency(t)
	p := openIn(t, "about:blank")
	p.away(true) // refusals are errors to browsers
	refusals := 1
	p.instead("*/api/executions?*", func() *answer {
		p.mu.Lock()
		defer p.mu.Unlock()
		if refusals == 0 {
			return nil
		}
		refusals--
		return &answer{status: 503, body: `{"error": {"code": "INTERNAL_ERROR", "message": "not now"}}`}
	})
	begun(t)
	p.do(chromedp.Navigate(shared.URL + "/executions"))
	p.until("rows, live", `document.querySelector("main tr[data-index]") && !document.querySelector("main .notice.bad") && `+live)
	p.mu.Lock()
	refusals = 1
	p.mu.Unlock()
	begun(t)
	p.until("what is new, and no error", button("1 new")+` && !document.querySelector("main .notice.bad")`)
}

// A screen whose answer broke off, or came from a proxy that did not find the server, is read again by itself.
func TestScreenTriesAgain(t *testing.T) {
	p := beforeIn(t, `{ const real = window.fetch, page = (status) => () => new Response("<html>of a proxy</html>", {status});
		window.answers = {"broken": () => new Response(new ReadableStream({start(c) { c.enqueue(new TextEncoder().encode('{"patterns": [')); setTimeout(() => c.error(new TypeError("network error")), 50); }})), "bad-gateway": page(502), "gateway-timeout": page(504)};
		window.fetch = (address, o) => { const make = window.failing; if (!make || new URL(address, location.href).pathname !== "/api/patterns") return real(address, o); window.failing = undefined; return Promise.resolve(make()); }; }`)
	p.do(chromedp.Navigate(shared.URL + "/patterns"))
	p.until("the rows, live", `document.querySelector("main tr[data-index]") && `+live)
	for _, name := range []string{"broken", "bad-gateway", "gateway-timeout"} {
		p.do(chromedp.Evaluate(fmt.Sprintf(`window.failing = answers[%q]; 0`, name), nil))
		definition := "name: " + name + "\nversion: 1.0.0\nagents: {capabilities: [urgency], min: 1}\naggregation: {strategy: first}\n"
		if _, err := shared.Client.CreatePattern(t.Context(), client.PatternInput{Definition: definition}); err != nil {
			t.Fatal(err)
		}
		p.until("the new row after "+name+", and no error", fmt.Sprintf(`!window.failing && document.querySelector("main tr[data-id=%s]") && !document.querySelector("main .notice.bad")`, name))
	}
}

// Two tabs keep and show what was chosen in either.
func TestTabsKeepTheSame(t *testing.T) {
	putUrgency(t)
	one, two := open(t, "/executions?status=failed"), open(t, "/executions?status=running")
	save := func(p *page, name string) {
		p.do(browserpage.BringToFront())
		p.choose("select:has(option[value=save])", "save")
		p.until("the name", `document.activeElement?.matches("dialog input")`)
		p.do(chromedp.KeyEvent(name), chromedp.KeyEvent(kb.Enter))
		p.until("no dialog", `!document.querySelector("dialog")`)
	}
	for _, p := range []*page{one, two} {
		p.until("the screen", `document.querySelector("h1")?.innerText === "Executions" && document.querySelector("option[value=save]")`)
	}
	save(one, "seen in one")
	save(two, "seen in two")
	defer func() { _ = chromedp.Run(two.ctx, chromedp.Evaluate(`localStorage.clear()`, nil)) }()
	one.until("the view of the other", `[...document.querySelectorAll("option")].some((o) => o.value === "v:seen in two")`)
	one.do(chromedp.Reload())
	one.until("both views", `["v:seen in one", "v:seen in two"].every((v) => [...document.querySelectorAll("option")].some((o) => o.value === v))`)
	one.click(css(`button[aria-label="Theme: system"]`))
	two.do(browserpage.BringToFront())
	two.until("the theme of the other", `document.documentElement.dataset.theme === "light"`)
	two.do(chromedp.Evaluate(`document.querySelector("main").focus()`, nil), chromedp.KeyEvent("t"))
	two.until("both settings", `(({theme, times}) => theme === "light" && times === "absolute")(JSON.parse(localStorage.getItem("wardroom")))`)
	// A tab that learns of it late, as one that is behind another does, keeps nothing over what was chosen meanwhile.
	one.do(chromedp.Evaluate(`window.kept = 0; Storage.prototype.setItem = () => window.kept++; dispatchEvent(new StorageEvent("storage", {key: "wardroom"}))`, nil))
	if !one.holds(`window.kept === 0`) {
		t.Error("a tab that heard what another one chose kept it once more")
	}
	two.do(chromedp.Evaluate(`localStorage.clear()`, nil))
	one.until("the settings of a new browser", `document.documentElement.dataset.theme === "system"`)
}

// What is chosen from comes after the bar that it is in, and moves nothing there: a click goes where it was aimed.
func TestNothingMovesInBars(t *testing.T) {
	const places = `[...document.querySelectorAll(".head .bar *, form.bar *")].filter((e) => e.matches("button, input, select")).map((e) => { const r = e.getBoundingClientRect(); return [r.x, r.y, r.width].join(); })`
	for _, one := range []struct{ name, path, late, bar string }{
		{"executions", "/executions", "*/api/patterns?*", button("+ filter")},
		{"batches", "/batches", "*/api/patterns?*", `document.querySelector(".bar select")`},
		{"agents", "/agents?tab=managed", "*/api/runtimes*", button("Filter")},
	} {
		t.Run(one.name, func(t *testing.T) {
			p := openIn(t, "about:blank")
			held := newGate()
			var once sync.Once
			p.instead(one.late, func() *answer { once.Do(func() { held.hold(p) }); return nil })
			p.do(chromedp.Navigate(shared.URL + one.path))
			p.await(held, "what is chosen from")
			p.until("the bar", one.bar+` && !document.querySelector("main .waiting")`)
			var before, after []string
			p.do(chromedp.Evaluate(`window.choices = document.querySelectorAll(".bar option").length; `+places, &before))
			close(held.opened)
			p.until("the choices", `document.querySelectorAll(".bar option").length > window.choices`)
			p.do(chromedp.Evaluate(places, &after))
			if len(before) < 2 || !slices.Equal(before, after) {
				t.Errorf("before they came %q, then %q", before, after)
			}
		})
	}
	t.Run("states", func(t *testing.T) {
		p := open(t, "/executions")
		p.until("the bar", button("cancelled"))
		var before, after []string
		p.do(chromedp.Evaluate(places, &before))
		p.click(button("pending"))
		p.until("that it is pressed", `document.querySelector(".chip[aria-pressed=true]")`)
		p.do(chromedp.Evaluate(places+".slice(0, "+fmt.Sprint(len(before))+")", &after))
		if !slices.Equal(before, after) {
			t.Errorf("before a state was chosen %q, then %q", before, after)
		}
	})
}

// A batch is started from text whose lines are checked first, and shown item by item.
func TestBatch(t *testing.T) {
	putUrgency(t)
	p := open(t, "/batches")
	p.click(button("Start one"))
	p.click(css("dialog input[name=pattern]"))
	p.do(chromedp.KeyEvent("urgency"))
	p.click(css("dialog textarea"))
	p.do(chromedp.KeyEvent(`{"text": "a"}` + "\n" + `{"text": "b"` + "\n"))
	p.until("the line that cannot be read", `document.querySelector("dialog .problems")?.innerText.includes("line 2")`)
	if p.holds(button("Start 1")) {
		t.Error("a batch with a line that cannot be read can be started")
	}
	p.do(chromedp.Evaluate(`document.querySelector("dialog textarea").select()`, nil), chromedp.KeyEvent("text\n\"a, and b\"\nc\n"))
	p.click(button("Start 2 items"))
	p.until("the batch", `location.pathname.startsWith("/batches/batch_") && document.querySelectorAll("tr[data-index]").length === 2 && document.querySelector(".item-map svg")`)
	p.click(button("Cancel"))
	p.click(button("Cancel the batch"))
	p.until("its end", `document.querySelector(".head .state")?.innerText.includes("cancelled") && document.querySelector(".item-map svg").ariaLabel === "Items: 2 cancelled. The list below opens them."`)
	p.shoot("batch")
}

// Keys may come faster than rows are drawn: Enter opens the row that the last j went to, not that which had the focus before.
func TestFastKeys(t *testing.T) {
	putUrgency(t)
	for range 3 {
		if _, err := shared.Client.ExecuteAsync(t.Context(), client.ExecuteRequest{Pattern: "urgency", Input: []byte(`{"text": "x"}`)}); err != nil {
			t.Fatal(err)
		}
	}
	p := open(t, "/executions")
	p.until("rows", `document.querySelectorAll("main tr[data-index]").length > 2`)
	var want string
	p.do(chromedp.Evaluate(`(() => {
		const key = (k) => (document.activeElement ?? document.body).dispatchEvent(new KeyboardEvent("keydown", { key: k, bubbles: true, cancelable: true }));
		const id = document.querySelector('main tr[data-index="2"]').dataset.id;
		for (const k of ["j", "j", "j", "Enter"]) key(k);
		return id;
	})()`, &want))
	p.until("the third one", `location.pathname.endsWith(`+fmt.Sprintf("%q", want)+`)`)
}

// A schedule is paused, resumed and run; what a body would start is told; both from the keyboard of nobody but the page.
func TestSchedulesAndTriggers(t *testing.T) {
	putUrgency(t)
	s, tr := starters(t)
	p := open(t, "/schedules")
	p.click(css(`tr[data-id="` + s + `"]`))
	p.click(button("Pause"))
	p.until("the pause", `document.querySelector(".head .state")?.innerText === "paused"`)
	p.click(button("Resume"))
	p.until("the end of the pause", `document.querySelector(".head .state")?.innerText === "active"`)
	p.click(button("Run now"))
	p.click(`[...document.querySelectorAll("dialog button")].find((b) => b.innerText === "Run now")`)
	p.until("what it started", `location.pathname.startsWith("/executions/exec_")`)
	p.do(chromedp.NavigateBack())
	p.until("its run", `document.querySelector("main table")?.innerText.includes("started")`)

	p.do(chromedp.Navigate(shared.URL + "/" + tr))
	p.until("the trigger by its id", `location.pathname.startsWith("/triggers/") && document.querySelector("textarea")`)
	p.click(css("main textarea"))
	p.do(chromedp.KeyEvent(`{"body": {"title": "Help"}}`))
	p.click(button("What would it start?"))
	p.until("what it would start", `document.querySelector("form [role=status]")?.innerText.includes("Help")`)
	p.click(button("Disable"))
	p.until("that it is off", `document.querySelector(".head .state")?.innerText === "disabled"`)
}

// starters makes a schedule and a trigger, which end with the test.
func starters(t *testing.T) (schedule, trigger string) {
	t.Helper()
	target := client.Target{Execution: &client.ExecutionTarget{Pattern: "urgency", Input: []byte(`{"text": "by the clock"}`)}}
	s, err := shared.Client.CreateSchedule(t.Context(), client.ScheduleSpec{ScheduleSpec: wire.ScheduleSpec{Name: "console-" + t.Name(), ScheduleTiming: wire.ScheduleTiming{Cron: "0 3 1 1 *"}}, Target: target})
	if err != nil {
		t.Fatal(err)
	}
	target = client.Target{Execution: &client.ExecutionTarget{Pattern: "urgency"}}
	r, err := shared.Client.CreateTrigger(t.Context(), client.TriggerSpec{TriggerSpec: wire.TriggerSpec{Name: "console-" + t.Name(), Mapping: map[string]string{"text": "$.body.title"}}, Target: target})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		_ = shared.Client.DeleteSchedule(ctx, s.ID)
		_ = shared.Client.DeleteTrigger(ctx, r.ID)
	})
	return s.ID, r.ID
}

// A pattern is written with what the server says of its lines, stored as a new version, and no version is overwritten.
func TestPatternEditor(t *testing.T) {
	const text = "name: edited\nversion: 1.0.0 # first\nagents: {capabilities: [urgency], min: 1}\naggregation: {strategy: first}\n"
	if _, err := shared.Client.CreatePattern(t.Context(), client.PatternInput{Definition: text}); err != nil {
		t.Fatal(err)
	}
	p := open(t, "/patterns/edited?tab=edit")
	const area = `document.querySelector(".paper textarea")`
	p.until("the text as it was stored, with its comment", area+`?.value.includes("# first") && document.querySelector(".editing [role=status]").innerText.includes("would take it")`)
	write := func(text string) {
		t.Helper()
		p.do(chromedp.Evaluate(fmt.Sprintf(`(() => { const e = %s; e.value = %q; e.dispatchEvent(new Event("input", {bubbles: true})); })()`, area, text), nil))
	}
	write(strings.Replace(text, "strategy", "stratgy", 1))
	p.until("the problem at its line", `document.querySelector("#problems button")?.innerText.startsWith("4:") && document.querySelector(".gutter .bad")?.innerText === "4" && document.querySelector(".beside span")`)
	if p.holds(button("Save")) {
		t.Error("what the server would refuse can be saved")
	}
	p.checkAxe(t, "editor")
	p.shoot("editor")

	// What may stand at a place is offered, and told in words; what is taken is what was offered.
	write(strings.Replace(text, "aggregation: {strategy: first}", "aggregation:\n  ", 1))
	p.until("an empty line under a key", area+`.value.endsWith("aggregation:\n  \n")`)
	p.do(chromedp.Evaluate(`(() => { const e = `+area+`; e.focus(); e.setSelectionRange(e.value.length - 1, e.value.length - 1); })()`, nil), chromedp.KeyEvent(" ", chromedp.KeyModifiers(2)))
	p.until("the keys of it", `[...document.querySelectorAll(".offers li")].some((l) => l.innerText.startsWith("strategy"))`)
	p.do(chromedp.KeyEvent("str"))
	p.until("those that begin so", `document.querySelectorAll(".offers li").length === 1`)
	p.checkAxe(t, "offers")
	p.shoot("offers")
	p.do(chromedp.KeyEvent(kb.Tab))
	p.until("the key", area+`.value.endsWith("\n  strategy: \n") && !document.querySelector(".offers")`)
	p.do(chromedp.KeyEvent("firs"))
	p.until("its values", `document.querySelector(".offers li")?.innerText.startsWith("first")`)
	p.do(chromedp.KeyEvent(kb.Tab))
	p.until("a text that the server would take, told in words and drawn", area+`.value.endsWith("\n  strategy: first\n") && document.querySelector(".editing [role=status]").innerText.includes("would take it") && document.querySelector(".help-line").innerText.startsWith("aggregation.strategy") && document.querySelector(".drawn .box")?.innerText.includes("urgency")`)
	write(text)
	write(strings.Replace(text, "first", "second", 1))
	p.away(true) // a conflict is an error to browsers
	p.click(button("Save as 1.0.0"))
	p.until("both texts: the version is there already", `document.querySelector(".both .diff") && document.querySelector(".notice.bad")?.innerText.includes("CONFLICT")`)
	p.do(chromedp.Reload())
	p.until("the draft after a reload", area+`?.value.includes("# second")`)
	p.click(button("Make it 1.0.1"))
	p.click(button("Save as 1.0.1"))
	p.until("the new version", `new URLSearchParams(location.search).get("version") === "1.0.1"`)
	p.do(chromedp.Navigate(shared.URL + "/patterns/edited?tab=versions"))
	p.until("what is new in it", `document.querySelector(".diff .add")?.innerText.includes("1.0.1 # second") && document.querySelector(".diff .del")?.innerText.includes("1.0.0 # first")`)
}

// The list of patterns says what became of their executions, while they run, and leads to them.
func TestPatternsInUse(t *testing.T) {
	putUrgency(t)
	p := open(t, "/patterns")
	const row = `document.querySelector("main tr[data-id=urgency]")`
	p.until("the pattern, and "+live, row+" && "+live)
	e, err := shared.Client.ExecuteAsync(t.Context(), client.ExecuteRequest{Pattern: "urgency", Input: []byte(`{"text": "x"}`)})
	if err != nil {
		t.Fatal(err)
	}
	var before int
	p.until("that one is active", row+`?.innerText.match(/\d+ active/)`)
	p.do(chromedp.Evaluate(`Number(`+row+`.innerText.match(/(\d+) cancelled/)?.[1] ?? 0)`, &before))
	if _, err := shared.Client.CancelExecution(t.Context(), e.ExecutionID, "enough"); err != nil {
		t.Fatal(err)
	}
	p.until("that one more was cancelled", fmt.Sprintf(`Number(%s.innerText.match(/(\d+) cancelled/)?.[1]) === %d`, row, before+1))
	p.click(`[...` + row + `.querySelectorAll("a")].find((a) => a.innerText.includes("cancelled"))`)
	p.until("those", `location.pathname === "/executions" && new URLSearchParams(location.search).get("pattern") === "urgency" && document.querySelector("main tr[data-id='`+e.ExecutionID+`']")`)
}
