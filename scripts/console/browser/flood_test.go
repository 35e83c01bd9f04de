package browser_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	browserpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/wardroom/wardroom/scripts/testbed"
	"github.com/wardroom/wardroom/sdk/client"
)

// flood is how many bytes TestTerminalFlood has a terminal write; the design's form is 1e9.
var flood = flag.Int64("flood", 50e6, "bytes that a terminal writes in TestTerminalFlood")

// mostOfTab is what a tab may hold while a terminal writes whatever it writes.
const mostOfTab = 150 << 20

// tabHolds is what the page's heap, its document and its buffers hold, without a collection before.
func (p *page) tabHolds() (bytes float64) {
	p.t.Helper()
	p.do(chromedp.ActionFunc(func(ctx context.Context) error {
		used, _, embedder, backing, err := runtime.GetHeapUsage().Do(ctx)
		bytes = used + embedder + backing
		return err
	}))
	return bytes
}

// However much a terminal writes, the tab stays small, and its last screen is the server's.
func TestTerminalFlood(t *testing.T) {
	id := spawnShell(t, "flood")
	p := openFor(t, shared.URL+"/agents/"+id, limit+time.Duration(*flood/1e6)*time.Second)
	p.until("the terminal", `document.querySelector(".xterm") && document.querySelector(".terminal-tab .bar [role=status]")?.innerText === "you look on"`)
	p.do(network.Disable()) // the driver is not told of what comes by the socket
	began := time.Now()
	message := fmt.Sprintf(`seq -f 'line %%.0f of many that a program may write' 100000000 | head -c %d; echo; echo all-o''f-it`, *flood)
	if _, err := shared.Client.SendManagedAgent(t.Context(), id, client.ManagedAgentInput{Message: message}); err != nil {
		t.Fatal(err)
	}
	most := 0.0
	if err := testbed.Until(p.ctx, time.Duration(*flood/1e6)*time.Second+waiting, "the end of what it writes", func(ctx context.Context) (bool, error) {
		most = max(most, p.tabHolds())
		screen, err := shared.Client.ManagedAgentScreen(ctx, id)
		return err == nil && strings.Contains(strings.Join(screen.Lines, "\n"), "all-of-it"), err
	}); err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	p.click(button("For screen readers"))
	const lines = `[...document.querySelectorAll(".xterm-accessibility-tree [role=listitem]")].map((l) => l.innerText).join("\n")`
	p.until("the last line", lines+`.includes("all-of-it")`)
	p.sameScreen(t, id, lines)
	most = max(most, p.tabHolds())
	t.Logf("%d MB in %s; the tab held %.1f MiB at most", *flood/1e6, took.Round(time.Millisecond), most/(1<<20))
	if most > mostOfTab {
		t.Errorf("the tab held %.1f MiB, more than %d", most/(1<<20), mostOfTab>>20)
	}
}

// floodOf is how many bytes the throughput of a terminal is measured over, after the first of them: a page that comes to the front
// draws itself anew.
const (
	floodOf    = 32 << 20
	floodFirst = 16 << 20
)

// noteTaken notes how many bytes a terminal of the page acknowledged, and calls onTaken each time.
const noteTaken = `window.taken = 0; window.onTaken = () => {}; { const Real = window.WebSocket; window.WebSocket = class extends Real { #took = 0; send(data) { if (typeof data === "string" && data.includes('"ack"')) { const n = JSON.parse(data).bytes; taken += n - this.#took; this.#took = n; onTaken(); } super.send(data); } }; }`

// How much plain text a terminal takes, beside the same emulator that is fed from memory: both in the same run.
func BenchmarkConsoleFlood(b *testing.B) {
	id := spawnShell(b, "throughput")
	send := func(in client.ManagedAgentInput) {
		if _, err := shared.Client.SendManagedAgent(b.Context(), id, in); err != nil {
			b.Fatal(err)
		}
	}
	real := beforeIn(b, noteTaken)
	real.do(chromedp.Navigate(shared.URL + "/agents/" + id))
	real.until("the terminal", `document.querySelector(".xterm-screen canvas, .xterm-rows > div") && document.querySelector(".terminal-tab .bar [role=status]")?.innerText === "you look on"`)
	bare := beforeIn(b, `window.WebSocket = class { static OPEN = 1; close() {} send() {} };`)
	bare.do(chromedp.Navigate(shared.URL + "/agents/" + id))
	bare.until("the emulator", `document.querySelector(".xterm-screen canvas, .xterm-rows > div")`)
	size, err := shared.Client.ManagedAgentScreen(b.Context(), id)
	if err != nil {
		b.Fatal(err)
	}
	bare.do(chromedp.Evaluate(fmt.Sprintf(`(async () => {
		let m;
		for (const e of performance.getEntriesByType("resource")) if (e.name.includes("chunk-") && e.name.endsWith(".js")) { const one = await import(e.name); if (one.Screen) m = one; }
		const box = document.createElement("div"); box.className = "terminal"; document.querySelector(".terminal-box").replaceChildren(box);
		const screen = new m.Screen(box, {address: () => "/", dark: () => false, onTheme: () => () => {}, onWake: () => () => {}}, () => {}, () => {}), term = screen.term; term.resize(%d, %d); // as large as the agent's
		const text = new TextEncoder().encode("a line of plain text as programs write it, so many words long and no more\r\n".repeat(840)); // about 64 KiB
		globalThis.feed = (first, bytes) => new Promise((done) => { let under = 0, took = 0, began = 0; const fill = () => { while (under < 1 << 20) { under += text.length; screen.waiting += text.length; term.write(text, () => { screen.take(text.length); screen.waiting -= text.length; under -= text.length; took += text.length; if (!began && took >= first) { began = performance.now(); took = 0; } if (began && took >= bytes) { if (took < 2 * bytes) { took = 2 * bytes; done(performance.now() - began); } return; } fill(); }); } }; fill(); });
	})()`, size.Cols, size.Rows), nil, awaited))
	bare.until("its graphics", `document.querySelector(".xterm-screen canvas, .xterm-rows > div")`)
	var ours, memory, oursBusy, memoryBusy float64
	measure := func(p *page, script string, sum, busy *float64) {
		p.do(network.Disable(), browserpage.BringToFront(), performance.Enable().WithTimeDomain(performance.EnableTimeDomainThreadTicks))
		before := p.spent()["TaskDuration"]
		var ms float64
		p.do(chromedp.Evaluate(script, &ms, awaited))
		*sum += ms
		*busy += p.spent()["TaskDuration"] - before
	}
	n := 0
	for b.Loop() {
		// What is written ends before the other form is measured: neither has to share the processors.
		send(client.ManagedAgentInput{Message: "yes 'a line of plain text as programs write it, so many words long and no more'"})
		measure(real, fmt.Sprintf(`new Promise((done) => { const from = taken; let began = 0; onTaken = () => { if (!began && taken - from >= %[1]d) began = performance.now(); if (taken - from >= %[1]d + %[2]d) { onTaken = () => {}; done(performance.now() - began); } }; })`, floodFirst, floodOf), &ours, &oursBusy)
		send(client.ManagedAgentInput{Keys: []string{"CTRL_C"}})
		untilReady(b, id)
		measure(bare, fmt.Sprintf(`feed(%d, %d)`, floodFirst, floodOf), &memory, &memoryBusy)
		n++
	}
	mb := float64(n) * floodOf / 1e6
	b.ReportMetric(mb/(ours/1000), "MB/s")
	b.ReportMetric(mb/(memory/1000), "memory-MB/s")
	b.ReportMetric(memory/ours, "ratio")
	b.ReportMetric(memoryBusy/oursBusy, "busy-ratio") // by the time of the page's thread: how busy the machine is does not count
	b.ReportMetric(real.tabHolds()/(1<<20), "tab-MiB")
}

// relay is a way to a server that counts what comes back.
type relay struct {
	net.Listener
	to   string
	came atomic.Int64

	mu    sync.Mutex
	conns []net.Conn // closed at the end; guarded by mu
	wg    sync.WaitGroup
}

// newRelay returns a way to an address, and the address of it.
func newRelay(t testing.TB, to string) (r *relay, url string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r = &relay{Listener: listener, to: to}
	r.wg.Go(r.accept)
	t.Cleanup(func() {
		_ = r.Close()
		r.mu.Lock()
		for _, c := range r.conns {
			_ = c.Close()
		}
		r.mu.Unlock()
		r.wg.Wait()
	})
	return r, "http://" + listener.Addr().String()
}

func (r *relay) accept() {
	for {
		from, err := r.Accept()
		if err != nil {
			return
		}
		to, err := net.Dial("tcp", r.to)
		if err != nil {
			_ = from.Close()
			continue
		}
		r.mu.Lock()
		r.conns = append(r.conns, from, to)
		r.mu.Unlock()
		end := func() { _, _ = from.Close(), to.Close() }
		r.wg.Go(func() { defer end(); _, _ = io.Copy(to, from) })
		r.wg.Go(func() { defer end(); _, _ = io.Copy(counted{from, &r.came}, to) })
	}
}

type counted struct {
	io.Writer
	n *atomic.Int64
}

func (c counted) Write(b []byte) (int, error) {
	n, err := c.Writer.Write(b)
	c.n.Add(int64(n))
	return n, err
}

// What a list costs a tab while executions come and go as fast as the server takes them.
func BenchmarkConsoleBusyList(b *testing.B) {
	r, address := newRelay(b, shared.Host)
	told := soakEventsOf(b, 4, 50)
	p := openFor(b, address+"/executions", 5*limit)
	p.until("rows, live", `document.querySelectorAll("main tr[data-index]").length > 20 && `+live)
	p.until("what is new", `[...document.querySelectorAll("button")].some((e) => / new/.test(e.innerText))`)
	p.do(performance.Enable().WithTimeDomain(performance.EnableTimeDomainThreadTicks))
	started := func() int64 {
		h, err := shared.Client.ListExecutions(b.Context(), client.ExecutionFilter{Page: client.Page{Limit: 1}})
		if err != nil {
			b.Fatal(err)
		}
		return int64(h.Total)
	}
	before, came, executions, began := told.Load(), r.came.Load(), started(), time.Now()
	ours := &drawn{}
	for b.Loop() {
		ours.add(p, `{ const r = document.querySelector(".rows"); r.scrollTop = (r.scrollTop + 40) % Math.max(1, r.scrollHeight - r.clientHeight); }`, framesOf)
	}
	seconds := time.Since(began).Seconds()
	b.ReportMetric(float64(r.came.Load()-came)/1024/seconds, "KiB/s")
	b.ReportMetric(float64(told.Load()-before)/seconds, "events/s")
	b.ReportMetric(float64(started()-executions)/seconds, "executions/s")
	report(b, ours.ms, "frame")
	for _, name := range []string{"ScriptDuration", "TaskDuration"} {
		b.ReportMetric(100*ours.spent[name]/seconds, name+"-%-of-a-core")
	}
	bytes, _ := p.heapOf()
	var rows int
	p.do(chromedp.Evaluate(`document.querySelectorAll("main tr[data-index]").length`, &rows))
	b.ReportMetric(bytes/(1<<20), "heap-MiB")
	b.ReportMetric(float64(rows), "rows")
}

// manyServed returns the address of the server with a list of 100,000 executions, one made each second.
func manyServed(t testing.TB) string {
	t.Helper()
	to, err := url.Parse(shared.URL)
	if err != nil {
		t.Fatal(err)
	}
	others := httputil.NewSingleHostReverseProxy(to)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/executions" {
			others.ServeHTTP(w, r)
			return
		}
		newest := 100_000
		if at, err := time.Parse(time.RFC3339, r.URL.Query().Get("until")); err == nil {
			newest = int(at.Unix() - 1_700_000_000)
		}
		if from, err := strconv.Atoi(r.URL.Query().Get("cursor")); err == nil {
			newest = from
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, executionsFrom(t, newest, newest-100))
	}))
	t.Cleanup(front.CloseClientConnections)
	t.Cleanup(front.Close)
	return front.URL
}

// How long a jump to a time in a list of 100,000 takes, to the frame that shows it.
func BenchmarkConsoleJump(b *testing.B) {
	p := openFor(b, manyServed(b)+"/executions", 3*limit)
	p.until("rows", `document.querySelectorAll("main tr[data-index]").length > 20`)
	p.do(performance.Enable().WithTimeDomain(performance.EnableTimeDomainThreadTicks))
	before := p.spent()["TaskDuration"]
	var all []float64
	for b.Loop() {
		for i := range 10 {
			n := 95_000 - (len(all)%19)*5000 - i
			to, err := json.Marshal(fmt.Sprintf("/executions?until=%s&turn=%d", url.QueryEscape(time.Unix(1_700_000_000+int64(n), 0).UTC().Format(time.RFC3339)), len(all)))
			if err != nil {
				b.Fatal(err)
			}
			var ms float64
			p.do(chromedp.Evaluate(fmt.Sprintf(`new Promise((done) => { const id = %q; const is = () => document.querySelector("main tr[data-index='0']")?.dataset.id === id; const began = performance.now();
				const seen = () => { if (!is()) return; looks.disconnect(); requestAnimationFrame(() => { const m = new MessageChannel(); m.port1.onmessage = () => done(performance.now() - began); m.port2.postMessage(0); }); };
				const looks = new MutationObserver(seen); looks.observe(document.body, {childList: true, subtree: true, attributes: true}); history.pushState({}, "", %s); dispatchEvent(new PopStateEvent("popstate")); seen(); })`, fmt.Sprintf("exec_01ARZ3NDEKTSV4RRFFQ%07d", n), to), &ms, awaited))
			all = append(all, ms)
		}
	}
	b.ReportMetric((p.spent()["TaskDuration"]-before)*1000/float64(len(all)), "busy-ms/jump")
	report(b, all, "jump")
}

// Lines that make the scrollback longer set no timer each, as they would for a scroll bar that shows itself.
func TestTerminalSetsFewTimers(t *testing.T) {
	id := spawnShell(t, "timers")
	p := beforeIn(t, fakeTerminal+`window.timers = 0; { const real = window.setTimeout; window.setTimeout = (...of) => { timers++; return real(...of); }; }`)
	p.do(chromedp.Navigate(shared.URL + "/agents/" + id))
	p.click(button("For screen readers"))
	p.until("the socket", `window.sockets.length === 1 && sockets[0].onmessage`)
	const lines = 4000
	p.do(chromedp.Evaluate(fmt.Sprintf(`timers = 0; sockets[0].says({type: "attached"}); for (let i = 0; i < %d; i += 100) sockets[0].writes("a line\r\n".repeat(100)); sockets[0].writes("all-of-it"); 0`, lines), nil))
	p.until("the last line", `document.querySelector(".xterm-accessibility-tree")?.innerText.includes("all-of-it")`)
	var timers int
	p.do(chromedp.Evaluate(`timers`, &timers))
	if timers > lines/4 {
		t.Errorf("%d lines set %d timers", lines, timers)
	}
}
