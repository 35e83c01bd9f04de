package browser_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"

	"github.com/wardroom/wardroom/sdk/client"
)

// manyExecutions is a page of the list of executions that says that there are 100,000, and has as many rows as a page may.
func manyExecutions(t testing.TB, cursor int) string {
	t.Helper()
	return executionsFrom(t, 100_000-cursor*100, cursor+1)
}

// executionsFrom is a page of a hundred, from the one with a number down, with the cursor of the next one.
func executionsFrom(t testing.TB, newest, next int) string {
	t.Helper()
	var rows []map[string]any
	for i := range 100 {
		n := newest - i
		rows = append(rows, map[string]any{"executionId": fmt.Sprintf("exec_01ARZ3NDEKTSV4RRFFQ%07d", n), "status": []string{"completed", "failed", "running"}[i%3], "pattern": "urgency", "version": "1.0.0",
			"createdAt": time.Unix(1_700_000_000+int64(n), 0).UTC(), "startedAt": time.Unix(1_700_000_000+int64(n), 0).UTC(), "duration": 1900, "createdBy": "anonymous", "metadata": map[string]string{"team": "blue"}})
	}
	out, err := json.Marshal(map[string]any{"executions": rows, "total": 100_000, "limit": 100, "offset": 0, "hasMore": true, "nextCursor": fmt.Sprint(next)})
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// heapOf is the heap of the page after a collection, and how many nodes it has.
func (p *page) heapOf() (bytes float64, nodes int) {
	p.t.Helper()
	p.do(heapprofiler.CollectGarbage())
	p.do(chromedp.Evaluate(`performance.memory.usedJSHeapSize`, &bytes), chromedp.Evaluate(`document.querySelectorAll("*").length`, &nodes))
	return bytes, nodes
}

// However long a list is, few of its rows are in the document, and the heap stays small.
func TestLongList(t *testing.T) {
	p := openIn(t, "about:blank")
	pages := 0
	p.instead("*/api/executions?*", func() *answer {
		p.mu.Lock()
		defer p.mu.Unlock()
		pages++
		return &answer{status: 200, body: manyExecutions(p.t, pages-1)}
	})
	p.do(chromedp.Navigate(shared.URL + "/executions"))
	p.until("rows", `document.querySelectorAll("main tr[data-index]").length > 20`)
	// Each frame goes to the end, which has the next page read: 2,000 rows of it.
	p.do(chromedp.Evaluate(`new Promise((done) => { const r = document.querySelector(".rows"); const f = () => { if (r.scrollHeight > 2000 * 32) return done(0); r.scrollTop = r.scrollHeight; requestAnimationFrame(f); }; f(); })`, nil, awaited))
	p.until("the rows in view", `document.querySelectorAll("main tr[data-index]").length > 20`)
	var shown int
	p.do(chromedp.Evaluate(`document.querySelectorAll("main tr[data-index]").length`, &shown))
	bytes, nodes := p.heapOf()
	t.Logf("%d rows in the document, %d elements, heap %.1f MiB", shown, nodes, bytes/(1<<20))
	if shown > 60 || bytes > 60<<20 {
		t.Errorf("%d rows are in the document (60 at most), and the heap has %.1f MiB (60 at most)", shown, bytes/(1<<20))
	}
}

// The end of what was read of a list comes into view while it is read again, since something happened: the next page follows all the same.
func TestEndWhileReadAgain(t *testing.T) {
	p := openIn(t, "about:blank")
	held, release := make(chan struct{}), make(chan struct{})
	pages := 0
	p.instead("*/api/executions?*", func() *answer {
		p.mu.Lock()
		pages++
		n := pages
		p.mu.Unlock()
		if n == 2 { // what the event has read
			close(held)
			select {
			case <-release:
			case <-p.ctx.Done():
			}
			return &answer{status: 200, body: manyExecutions(p.t, 0)}
		}
		return &answer{status: 200, body: manyExecutions(p.t, min(n-1, 1))}
	})
	p.do(chromedp.Navigate(shared.URL + "/executions"))
	p.until("rows, live", `document.querySelectorAll("main tr[data-index]").length > 20 && `+live)
	putUrgency(t)
	e, err := shared.Client.ExecuteAsync(t.Context(), client.ExecuteRequest{Pattern: "urgency", Input: []byte(`{"text": "x"}`)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = shared.Client.CancelExecution(context.WithoutCancel(t.Context()), e.ExecutionID, "not needed")
	})
	select {
	case <-held:
	case <-p.ctx.Done():
		t.Fatal("the list was not read again")
	}
	p.do(chromedp.Evaluate(`(() => { const r = document.querySelector(".rows"); r.scrollTop = r.scrollHeight; })(); 0`, nil))
	p.until("the last row", `document.querySelector("main tr[data-index='99']")`)
	close(release)
	p.until("the next page", `document.querySelector(".rows").scrollHeight > 150 * 32`)
}

// The answer to a look at the list that comes after the list was read anew takes nothing of that away.
func TestListReadAnewMeanwhile(t *testing.T) {
	const known = 100_000
	held, release := make(chan struct{}), make(chan struct{})
	newest := []int{known, known + 1, known + 2, known + 1, known + 3} // of each answer: the third one comes after the fourth
	p := openIn(t, "about:blank")
	asked := 0
	p.instead("*/api/executions?*", func() *answer {
		p.mu.Lock()
		n := min(asked, len(newest)-1)
		asked++
		p.mu.Unlock()
		if n == 2 {
			close(held)
			select {
			case <-release:
			case <-p.ctx.Done():
			}
		}
		return &answer{status: 200, body: executionsFrom(p.t, newest[n], 1)}
	})
	p.do(chromedp.Navigate(shared.URL + "/executions"))
	p.until("rows, live", `document.querySelectorAll("main tr[data-index]").length > 20 && `+live)
	putUrgency(t)
	happens := func() {
		t.Helper()
		e, err := shared.Client.ExecuteAsync(t.Context(), client.ExecuteRequest{Pattern: "urgency", Input: []byte(`{"text": "x"}`)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_, _ = shared.Client.CancelExecution(context.WithoutCancel(t.Context()), e.ExecutionID, "not needed")
		})
	}
	happens()
	p.until("the new one to wait", button("1 new"))
	happens()
	select {
	case <-held:
	case <-p.ctx.Done():
		t.Fatal("the list was not looked at again")
	}
	p.click(button("1 new"))
	row := fmt.Sprintf(`document.querySelector("tr[data-id='exec_01ARZ3NDEKTSV4RRFFQ%07d']")`, known+1)
	p.until("the new row", row)
	close(release)
	happens()
	p.until("the two that came since", button("2 new"))
	if !p.holds(row) {
		t.Error("the row is gone")
	}
}

// A hundred changes of screen leave no more behind than the first ten did: neither memory nor elements.
func TestScreensLeaveNothing(t *testing.T) {
	done, err := shared.Client.Execute(t.Context(), client.ExecuteRequest{Pattern: "startup-team", Input: []byte(`{"task": "a word counter"}`)})
	if err != nil {
		t.Fatal(err)
	}
	p := open(t, "/")
	p.until("the overview", `document.querySelectorAll(".tile").length >= 6`)
	around := func() {
		for _, to := range []string{"/inbox", "/executions", "/executions/" + done.ExecutionID, "/patterns/startup-team", "/threads", "/threads?board=state", "/agents", "/agents?tab=wall", "/memory", "/webhooks", "/"} {
			p.do(chromedp.Evaluate(fmt.Sprintf(`history.pushState({}, "", %q); dispatchEvent(new PopStateEvent("popstate")); 0`, to), nil))
			p.until("the screen "+to, fmt.Sprintf(`location.pathname + location.search === %q && document.querySelector("h1") && !document.querySelector("main .waiting")`, to))
		}
	}
	for range 2 {
		around()
	}
	before, nodes := p.heapOf()
	for range 8 {
		around()
	}
	after, left := p.heapOf()
	t.Logf("heap %.2f MiB, then %.2f; elements %d, then %d", before/(1<<20), after/(1<<20), nodes, left)
	if after > before+10<<20 || left > nodes+200 {
		t.Errorf("88 changes of screen leave %.1f MiB and %d elements more", (after-before)/(1<<20), left-nodes)
	}
}

// spent is what the page's main thread was busy with, in seconds.
func (p *page) spent() map[string]float64 {
	p.t.Helper()
	out := map[string]float64{}
	p.do(chromedp.ActionFunc(func(ctx context.Context) error {
		metrics, err := performance.GetMetrics().Do(ctx)
		for _, m := range metrics {
			switch m.Name {
			case "ScriptDuration", "LayoutDuration", "RecalcStyleDuration", "TaskDuration":
				out[m.Name] = m.Value
			}
		}
		return err
	}))
	return out
}

// shownAfter opens an address, and returns the milliseconds until a condition was true, by the page's own clock.
func (p *page) shownAfter(b *testing.B, address, condition string) float64 {
	var ms float64
	p.do(chromedp.Navigate(address))
	p.until("the screen", condition)
	p.do(chromedp.Evaluate(`window.shownAt ?? performance.now()`, &ms))
	return ms
}

// onceTrue is a script that notes when a condition was true for the first time, by frames.
func onceTrue(condition string) string {
	return `const look = () => { let is = false; try { is = Boolean(` + condition + `); } catch {} if (is) window.shownAt = performance.now(); else requestAnimationFrame(look); }; requestAnimationFrame(look);`
}

// What the design promises of speed, measured: times are no tests. `make bench` runs it.
func BenchmarkConsole(b *testing.B) {
	b.Run("FirstLoad", func(b *testing.B) {
		const usable = `document.querySelectorAll(".tile strong").length >= 6 && [...document.querySelectorAll(".tile strong")].every((n) => /\d/.test(n.innerText))`
		var all []float64
		for b.Loop() {
			p := beforeIn(b, onceTrue(usable))
			p.do(network.ClearBrowserCache())
			all = append(all, p.shownAfter(b, shared.URL+"/", usable))
		}
		report(b, all, "usable")
	})
	b.Run("Screen", func(b *testing.B) {
		p := beforeIn(b, "")
		p.do(chromedp.Navigate(shared.URL + "/"))
		p.until("the overview", `document.querySelectorAll(".tile").length >= 6`)
		var all, document []float64
		// By the time of the page's thread: how busy the machine is otherwise does not count.
		p.do(performance.Enable().WithTimeDomain(performance.EnableTimeDomainThreadTicks))
		before := p.spent()
		i := 0
		for b.Loop() {
			to, condition := "/executions", `document.querySelector("main tr[data-index]")`
			if i++; i%2 == 0 {
				to, condition = "/patterns", `document.querySelector("main tr[data-id='startup-team']")`
			}
			// When the document has it, and when a frame shows it: what lies between is the browser's drawing.
			var ms [2]float64
			p.do(chromedp.Evaluate(fmt.Sprintf(`new Promise((done) => { const began = performance.now(); const is = () => location.pathname === "%[1]s" && %[2]s; const seen = () => { if (!is()) return; looks.disconnect(); const there = performance.now() - began; requestAnimationFrame(() => { const m = new MessageChannel(); m.port1.onmessage = () => done([there, performance.now() - began]); m.port2.postMessage(0); }); }; const looks = new MutationObserver(seen); looks.observe(document.body, {childList: true, subtree: true}); document.querySelector("nav a[href='%[1]s']").click(); seen(); })`, to, condition), &ms, awaited))
			document, all = append(document, ms[0]), append(all, ms[1])
		}
		report(b, all, "change")
		report(b, document, "document")
		for name, after := range p.spent() {
			b.ReportMetric((after-before[name])*1000/float64(i), strings.TrimSuffix(name, "Duration")+"-ms/change")
		}
	})
}

// report reports the median and the 95th of a hundred of some milliseconds.
func report(b *testing.B, ms []float64, name string) {
	b.Helper()
	slices.Sort(ms)
	if len(ms) == 0 {
		return
	}
	b.ReportMetric(ms[len(ms)/2], name+"-ms-p50")
	b.ReportMetric(ms[len(ms)*95/100], name+"-ms-p95")
}
