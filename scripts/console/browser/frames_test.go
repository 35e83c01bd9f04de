package browser_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/cdproto/systeminfo"
	"github.com/chromedp/cdproto/tracing"
	"github.com/chromedp/chromedp"

	"github.com/wardroom/wardroom/sdk/client"
)

// barePage writes sixty plain rows into a document, as many as a list of the console has, in a box that scrolls.
const barePage = `document.body.style.margin = 0;
	const box = document.createElement("div"); box.style.cssText = "height: 100vh; overflow: auto; font: 13px sans-serif"; box.className = "box";
	for (let i = 0; i < 60; i++) { const row = document.createElement("div"); row.style.cssText = "height: 32px; border-bottom: 1px solid silver"; row.textContent = "row " + i + " of a plain page that is so many words long"; box.append(row); }
	document.body.append(box); 0`

// drawn are the frames of a page: their lengths, and what all processes of the browser worked for them.
type drawn struct {
	ms    []float64
	cpu   float64 // seconds
	spent map[string]float64
}

// add has a script run in each of some frames, with i as their number.
func (d *drawn) add(p *page, script string, n int) {
	p.t.Helper()
	before, spent := p.browserTime(), p.spent()
	var ms []float64
	p.do(chromedp.Evaluate(fmt.Sprintf(`new Promise((done) => { const out = []; let last = performance.now(); let i = 0; const f = (now) => { out.push(now - last); last = now; if (i++ < %d) { %s; requestAnimationFrame(f); } else done(out.slice(1)); }; requestAnimationFrame(f); })`, n, script), &ms, awaited))
	d.ms = append(d.ms, ms...)
	d.cpu += p.browserTime() - before
	if d.spent == nil {
		d.spent = map[string]float64{}
	}
	for name, after := range p.spent() {
		d.spent[name] += after - spent[name]
	}
}

// browserTime is how long the browser's processes that draw worked until now, in seconds.
func (p *page) browserTime() (seconds float64) {
	p.t.Helper()
	p.do(chromedp.ActionFunc(func(ctx context.Context) error {
		all, err := systeminfo.GetProcessInfo().Do(cdp.WithExecutor(ctx, chromedp.FromContext(ctx).Browser))
		for _, one := range all {
			seconds += one.CPUTime
		}
		return err
	}))
	return seconds
}

// reportFrames reports frames of a page of the console beside those of a bare page of the same run. Times of threads and processes do not
// depend on how busy the machine is otherwise; lengths of frames do.
func reportFrames(b *testing.B, ours, bare *drawn) {
	b.Helper()
	report(b, ours.ms, "frame")
	report(b, bare.ms, "bare")
	b.ReportMetric(ours.ms[len(ours.ms)*95/100]/bare.ms[len(bare.ms)*95/100], "p95-ratio")
	b.ReportMetric(ours.cpu*1000/float64(len(ours.ms)), "cpu-ms/frame")
	b.ReportMetric(bare.cpu*1000/float64(len(bare.ms)), "bare-cpu-ms/frame")
	for _, name := range []string{"ScriptDuration", "LayoutDuration", "RecalcStyleDuration", "TaskDuration"} {
		b.ReportMetric(ours.spent[name]*1000/float64(len(ours.ms)), name+"-ms/frame")
	}
}

// bareFrames are frames of a bare page in the same browser.
func bareFrames(b *testing.B, n int) *drawn {
	b.Helper()
	p := openIn(b, "about:blank")
	p.do(chromedp.Evaluate(barePage, nil), performance.Enable().WithTimeDomain(performance.EnableTimeDomainThreadTicks))
	d := &drawn{}
	d.add(p, `const r = document.querySelector(".box"); r.scrollTop = (i * 30) % (r.scrollHeight - r.clientHeight)`, n)
	return d
}

const framesOf = 60 // of one turn of a bench

// How even scrolling is, beside a bare page in the same browser.
func BenchmarkConsoleFrames(b *testing.B) {
	measure := func(b *testing.B, p *page, each string) {
		b.Helper()
		p.do(performance.Enable().WithTimeDomain(performance.EnableTimeDomainThreadTicks))
		ours := &drawn{}
		for b.Loop() {
			ours.add(p, each, framesOf)
		}
		bare := bareFrames(b, len(ours.ms))
		reportFrames(b, ours, bare)
	}
	b.Run("List100000", func(b *testing.B) {
		p := beforeIn(b, "")
		n := 0
		p.instead("*/api/executions?*", func() *answer {
			p.mu.Lock()
			defer p.mu.Unlock()
			n++
			return &answer{status: 200, body: manyExecutions(b, n-1)}
		})
		p.do(chromedp.Navigate(shared.URL + "/executions"))
		p.until("rows", `document.querySelectorAll("main tr[data-index]").length > 20`)
		measure(b, p, `document.querySelector(".rows").scrollTop += 90`)
	})
	for _, n := range []int{10_000, 100_000} {
		b.Run(fmt.Sprintf("Timeline%d", n), func(b *testing.B) {
			address, id := longTimeline(b, n)
			const shown = `document.querySelectorAll("[role=treegrid] [role=row]").length > 20`
			p := beforeIn(b, onceTrue(shown))
			first := p.shownAfter(b, address+"/executions/"+id, shown)
			measure(b, p, `document.querySelector(".timeline").scrollTop += 60`)
			b.ReportMetric(first, "shown-ms")
		})
	}
	for _, one := range []struct{ name, each string }{
		{"Pan", `el.dispatchEvent(new WheelEvent("wheel", {shiftKey: true, deltaY: i % 60 < 30 ? 25 : -25, clientX: r.x + r.width / 2, clientY: r.y + 90, bubbles: true, cancelable: true}))`},
		{"Zoom", `el.dispatchEvent(new WheelEvent("wheel", {ctrlKey: true, deltaY: i % 20 < 10 ? -25 : 25, clientX: r.x + r.width * 0.7, clientY: r.y + 90, bubbles: true, cancelable: true}))`},
	} {
		b.Run("Timeline10000"+one.name, func(b *testing.B) {
			address, id := longTimeline(b, 10_000)
			p := openIn(b, address+"/executions/"+id)
			p.until("the timeline", `document.querySelectorAll("[role=treegrid] [role=row]").length > 20`)
			p.click(css(`button[aria-label="Zoom in"]`)) // a part of it, with the whole in small
			p.until("the strip", `document.querySelector(".strip")`)
			measure(b, p, `const el = document.querySelector(".timeline"), r = el.getBoundingClientRect(); `+one.each)
		})
	}
	b.Run("BusyTimeline", func(b *testing.B) {
		id, more := talk(b)
		p := openFor(b, shared.URL+"/executions/"+id+"?kind=message", 3*limit)
		p.until("the remarks", fmt.Sprintf(`Number(document.querySelector("[role=treegrid]")?.getAttribute("aria-rowcount")) > %d`, (talkers-1)*remarksOf))
		more()
		measure(b, p, `document.querySelector(".timeline").scrollTop += 30`)
	})
}

// longTimeline returns the address of the server with an execution that has so many tasks in its timeline.
func longTimeline(t testing.TB, n int) (address, id string) {
	t.Helper()
	done, err := shared.Client.Execute(t.Context(), client.ExecuteRequest{Pattern: "startup-team", Input: []byte(`{"task": "a word counter"}`)})
	if err != nil {
		t.Fatal(err)
	}
	tl, err := shared.Client.GetTimeline(t.Context(), done.ExecutionID)
	if err != nil {
		t.Fatal(err)
	}
	var body map[string]any
	if err := json.Unmarshal(tl.Body, &body); err != nil {
		t.Fatal(err)
	}
	var entries []any
	for i := range n {
		from := time.Unix(1_700_000_000+int64(i), 0).UTC()
		if i%100 == 0 {
			entries = append(entries, map[string]any{"kind": "step", "id": fmt.Sprint(i / 100), "name": "Step", "status": "completed", "startedAt": from, "endedAt": from.Add(105 * time.Second)})
		}
		entries = append(entries, map[string]any{"kind": "task", "id": fmt.Sprintf("task_%d", i), "name": "ada", "role": "engineer", "step": fmt.Sprint(i / 100), "status": "completed", "startedAt": from, "endedAt": from.Add(5 * time.Second)})
	}
	body["entries"] = entries
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	to, err := url.Parse(shared.URL)
	if err != nil {
		t.Fatal(err)
	}
	others := httputil.NewSingleHostReverseProxy(to)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/executions/"+done.ExecutionID+"/timeline" {
			others.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(text)
	}))
	t.Cleanup(front.CloseClientConnections)
	t.Cleanup(front.Close)
	return front.URL, done.ExecutionID
}

// counted has a script run in each of some frames, and returns how often the browser did what, by the names that its tracing has.
func (p *page) counted(script string, n int) map[string]int {
	p.t.Helper()
	ctx, cancel := context.WithCancel(p.ctx)
	defer cancel()
	counts, over := map[string]int{}, make(chan struct{})
	chromedp.ListenBrowser(ctx, func(ev any) {
		switch e := ev.(type) {
		case *tracing.EventDataCollected:
			for _, text := range e.Value {
				var one struct{ Name string }
				if json.Unmarshal(text, &one) == nil {
					counts[one.Name]++
				}
			}
		case *tracing.EventTracingComplete:
			close(over)
		}
	})
	browser := cdp.WithExecutor(ctx, chromedp.FromContext(ctx).Browser)
	config := &tracing.TraceConfig{IncludedCategories: []string{"devtools.timeline", "cc"}, ExcludedCategories: []string{"*"}}
	if err := tracing.Start().WithTransferMode(tracing.TransferModeReportEvents).WithTraceConfig(config).Do(browser); err != nil {
		p.t.Fatal(err)
	}
	new(drawn).add(p, script, n)
	if err := tracing.End().Do(browser); err != nil {
		p.t.Fatal(err)
	}
	select {
	case <-over:
	case <-ctx.Done():
		p.t.Fatal(ctx.Err())
	}
	return counts
}

// What is scrolled is moved: it is not painted again, and its rows are left alone but for those that come into view, and for
// times and durations, which go by.
func TestScrolledRowsAreMoved(t *testing.T) {
	address, id := longTimeline(t, 2000)
	for _, one := range []struct{ name, path, box, row string }{
		{"timeline", "/executions/" + id, ".timeline", "[role=treegrid] [role=row]"},
		{"list", "/executions", ".rows", "main tr[data-index]"},
	} {
		t.Run(one.name, func(t *testing.T) {
			p := openIn(t, "about:blank")
			pages := 0
			if one.name == "list" {
				p.instead("*/api/executions?*", func() *answer {
					p.mu.Lock()
					defer p.mu.Unlock()
					pages++
					return &answer{status: 200, body: manyExecutions(t, pages-1)}
				})
			}
			p.do(chromedp.Navigate(address + one.path))
			p.until("rows", fmt.Sprintf(`document.querySelectorAll(%q).length > 20`, one.row))
			// There and back, so that all rows are had, and no page of them comes in between.
			const step, n, height = 8, 90, 32
			scroll := fmt.Sprintf(`document.querySelector(%q).scrollTop = (i %% %d) * %d`, one.box, n, step)
			p.do(chromedp.Evaluate(fmt.Sprintf(`document.querySelector(%q).scrollTop = %d; 0`, one.box, n*step), nil))
			p.until("the rows there", fmt.Sprintf(`document.querySelector(%q).scrollHeight > 3000 && document.querySelector(%q)`, one.box, fmt.Sprintf(`%s [data-index="%d"]`, one.box, n*step/height+10)))
			p.do(chromedp.Evaluate(fmt.Sprintf(`document.querySelector(%q).scrollTop = 0; 0`, one.box), nil))
			p.until("the first row", fmt.Sprintf(`document.querySelector(%q)`, one.box+` [data-index="0"]`))
			p.do(chromedp.Evaluate(fmt.Sprintf(`window.work = {rows: 0, of: 0}; new MutationObserver((all) => { for (const m of all) { if (m.type === "childList" && m.target.querySelector("[data-index]")) { for (const n of m.addedNodes) if (n.dataset?.index) work.rows++; } else if (m.target.parentElement?.closest("[data-index]") && !m.target.parentElement.closest("time, .nums")) work.of++; } }).observe(document.querySelector(%q), {subtree: true, childList: true, attributes: true, characterData: true}); 0`, one.box), nil))
			counts := p.counted(scroll, n)
			var work struct{ Rows, Of int }
			p.do(chromedp.Evaluate(`work`, &work))
			t.Logf("%d frames: %d tiles drawn, %d paints, %d layouts; %d rows made, %d changes within rows", n, counts["RasterTask"], counts["Paint"], counts["Layout"], work.Rows, work.Of)
			if counts["RasterTask"] == 0 {
				t.Fatal("the browser told nothing of what it drew")
			}
			if most := 10 * n; counts["RasterTask"] > most {
				t.Errorf("%d tiles were drawn in %d frames (%d at most): what scrolls is drawn anew", counts["RasterTask"], n, most)
			}
			if most := n*step/height + 8; work.Rows > most || work.Of > 0 {
				t.Errorf("%d rows were made (%d at most), and %d changes were made within rows that were there", work.Rows, most, work.Of)
			}
		})
	}
}

// A page on which nothing happens draws nothing: what runs does not turn.
func TestNothingTurns(t *testing.T) {
	p := openIn(t, "about:blank")
	p.instead("*/api/executions?*", func() *answer { return &answer{status: 200, body: manyExecutions(t, 0)} })
	p.do(chromedp.Navigate(shared.URL + "/executions"))
	p.until("executions that run", `document.querySelectorAll("main .mark.runs").length > 5`)
	if p.holds(`document.getAnimations().some((a) => a.effect.getTiming().iterations === Infinity)`) {
		t.Error("something turns for as long as it is looked at, and has the browser draw 60 frames a second for it")
	}
}
