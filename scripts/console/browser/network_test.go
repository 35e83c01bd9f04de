package browser_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	browserpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/wardroom/wardroom/scripts/testbed"
	"github.com/wardroom/wardroom/sdk/client"
)

// lossy is a way to a server on which 30 of a hundred packets are lost: what is lost comes later, as TCP sends it again, and a
// connection that loses too many in a row is cut.
type lossy struct {
	net.Listener
	to   string
	over chan struct{} // closed at the end

	mu     sync.Mutex // guards all below
	random *rand.Rand
	lost   int
	cut    int
	conns  map[net.Conn]bool // nil: closed
	wg     sync.WaitGroup
}

const (
	lossOf    = 0.3
	resentIn  = 200 * time.Millisecond // doubled with each loss of the same packet
	lossesCut = 4                      // losses of one packet that end a connection
	packet    = 8 << 10
)

// newLossy returns the address of a lossy way to an address.
func newLossy(t testing.TB, to string) (l *lossy, url string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l = &lossy{Listener: listener, to: to, over: make(chan struct{}), random: rand.New(rand.NewPCG(1, 2)), conns: map[net.Conn]bool{}}
	l.wg.Go(l.accept)
	t.Cleanup(l.end)
	return l, "http://" + listener.Addr().String()
}

func (l *lossy) end() {
	_ = l.Close()
	close(l.over)
	l.mu.Lock()
	for c := range l.conns {
		_ = c.Close()
	}
	l.conns = nil
	l.mu.Unlock()
	l.wg.Wait()
}

func (l *lossy) accept() {
	for {
		from, err := l.Accept()
		if err != nil {
			return
		}
		to, err := net.Dial("tcp", l.to)
		if err != nil {
			_ = from.Close()
			continue
		}
		l.mu.Lock()
		if l.conns == nil {
			_, _ = from.Close(), to.Close()
		} else {
			l.conns[from], l.conns[to] = true, true
			l.wg.Go(func() { l.carry(from, to) })
			l.wg.Go(func() { l.carry(to, from) })
		}
		l.mu.Unlock()
	}
}

// carry carries packets one way until either side ends, or too many of one are lost.
func (l *lossy) carry(from, to net.Conn) {
	defer func() {
		_, _ = from.Close(), to.Close()
		l.mu.Lock()
		delete(l.conns, from)
		l.mu.Unlock()
	}()
	buf := make([]byte, packet)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if !l.send() {
				return
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// send waits as long as a packet needs to arrive, and reports whether it does.
func (l *lossy) send() bool {
	wait := time.Duration(0)
	for losses := 0; ; losses++ {
		l.mu.Lock()
		lost := l.random.Float64() < lossOf
		if lost {
			l.lost++
		}
		if losses == lossesCut {
			l.cut++
		}
		l.mu.Unlock()
		switch {
		case losses == lossesCut:
			return false
		case !lost:
			select {
			case <-time.After(wait): // the fault itself
			case <-l.over:
			}
			return true
		}
		wait += resentIn << losses
	}
}

// Where 30 of a hundred packets are lost the page loads, is live, shows what happens, and what is done in it is done once.
func TestLossyNetwork(t *testing.T) {
	l, url := newLossy(t, shared.Host)
	workThroughLoss(t, shared.Client, url)
	l.mu.Lock()
	t.Logf("%d packets were lost, %d connections cut", l.lost, l.cut)
	l.mu.Unlock()
}

// What is lost several times in a row comes after minutes: TCP doubles the time until it sends anything again. The console gives a
// request 30 s, and a stream 15 s to begin and 60 s of silence, and then tries again by itself over another connection; before there is a
// console a person loads the page again. So a wait is a row of tries that know nothing of each other, of which about one in fifty comes
// too late where 30 of a hundred packets are lost; lossWait has four of the longest kind.
const (
	patience = 20 * time.Second // of a person, with a page that does not come
	lossWait = 5 * time.Minute  // of one wait
	lossTest = 12 * time.Minute // of all
)

// workThroughLoss works in the page of a server that loses packets on its way.
func workThroughLoss(t *testing.T, api *client.Client, url string) {
	t.Helper()
	p := openFor(t, "about:blank", lossTest)
	began := time.Now()
	until := func(what, expression string) {
		t.Helper()
		from := time.Now()
		err := testbed.Until(p.ctx, lossWait, what, func(ctx context.Context) (bool, error) {
			var is bool
			err := chromedp.Run(ctx, chromedp.Evaluate("Boolean("+expression+")", &is))
			return is, err
		})
		if err != nil {
			t.Fatalf("%v\n%s", err, p.text())
		}
		t.Logf("%s: %s", what, time.Since(from).Round(time.Millisecond))
	}
	p.away(true)
	// The page, or a script of it, may be lost with its connection.
	tries, tried := 0, time.Time{}
	if err := testbed.Until(p.ctx, lossWait, "a live page", func(ctx context.Context) (bool, error) {
		if time.Since(tried) > patience {
			tries, tried = tries+1, time.Now()
			if err := p.load(ctx, url+"/executions"); err != nil {
				return false, err
			}
		}
		var shown bool
		// While it loads there may be nothing to ask.
		err := chromedp.Run(ctx, chromedp.Evaluate(`Boolean(document.querySelector("h1")?.innerText.startsWith("Executions") && !document.querySelector("main .waiting") && `+live+`)`, &shown))
		return shown && err == nil, nil
	}); err != nil {
		t.Fatalf("%v\n%s", err, p.text())
	}
	t.Logf("a live page: %s, loaded %d times", time.Since(began).Round(time.Millisecond), tries)
	// Each execution that comes is shown, once.
	const fresh = `[...document.querySelectorAll("main button")].find((b) => /^\d+ new/.test(b.innerText.trim()))`
	var done *client.Execution
	for range 3 {
		var err error
		if done, err = api.Execute(t.Context(), client.ExecuteRequest{Pattern: "startup-team", Input: []byte(`{"task": "a word counter"}`)}); err != nil {
			t.Fatal(err)
		}
		row := `document.querySelectorAll("tr[data-id='` + done.ExecutionID + `']").length`
		until("its row", row+` || `+fresh+`?.click()`)
		if !p.holds(row + " === 1") {
			t.Errorf("the execution %s has no row any more, or several", done.ExecutionID)
		}
	}
	tl, err := api.GetTimeline(t.Context(), done.ExecutionID)
	if err != nil {
		t.Fatal(err)
	}
	p.do(chromedp.Evaluate(`history.pushState({}, "", "/executions/`+done.ExecutionID+`"); dispatchEvent(new PopStateEvent("popstate")); 0`, nil))
	until("its timeline, with all tasks", fmt.Sprintf(`[...document.querySelectorAll("[role=treegrid] [role=row]")].filter((r) => r.dataset.key.startsWith("task:")).length === %d`, strings.Count(string(tl.Body), `"kind":"task"`)))
	until("the end of the execution", button("Run again"))
	p.click(button("Run again"))
	p.click(`[...document.querySelectorAll("dialog button")].find((b) => b.innerText === "Run again")`)
	// The answer may be lost with its connection; then the page says so, and the same click again does nothing twice.
	const again = `[...document.querySelectorAll("dialog button")].find((b) => b.innerText === "Run again" && !b.disabled)`
	until("the execution that repeats it", `(document.querySelector("dialog .notice.bad") && `+again+`?.click(), location.pathname.startsWith("/executions/exec_") && location.pathname !== "/executions/`+done.ExecutionID+`")`)
	if n := repeats(t, api, done.ExecutionID); n != 1 {
		t.Errorf("%d executions repeat it", n)
	}
	t.Logf("all: %s", time.Since(began).Round(time.Millisecond))
}

// load begins to load an address, and returns without waiting for the page.
func (p *page) load(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := chromedp.Run(ctx, chromedp.ActionFunc(func(ctx context.Context) error {
		_, _, _, _, err := browserpage.Navigate(address).Do(ctx)
		return err
	}))
	if ctx.Err() != nil { // not even the beginning of it came
		return nil
	}
	return err
}

// A server that takes five seconds for each answer: the page says that it reads, goes on to other screens meanwhile, keeps
// what it shows, and a write is made once however often the button is clicked.
func TestSlowAnswers(t *testing.T) {
	putUrgency(t)
	p := openIn(t, "about:blank")
	var pause atomic.Int64
	pause.Store(int64(5 * time.Second))
	p.instead("*/api/*", func() *answer {
		select {
		case <-time.After(time.Duration(pause.Load())): // the fault itself
		case <-p.ctx.Done():
		}
		return nil
	})
	p.do(chromedp.Navigate(shared.URL + "/patterns"))
	p.until("that it is read", `document.querySelector("main .waiting")`)
	p.click(css(`nav a[href$="/webhooks"]`))
	p.until("another screen, at once", `location.pathname === "/webhooks" && document.querySelector("main .waiting") && document.querySelector("h1")`)
	p.click(css(`nav a[href$="/patterns"]`))
	p.until("the list", `document.querySelector("main tr[data-id=urgency]") && !document.querySelector("main .notice.bad")`)
	pause.Store(int64(time.Second)) // from here on it is not how long an answer takes, but what is pressed before it
	p.do(chromedp.Evaluate(`history.pushState({}, "", "/patterns/urgency"); dispatchEvent(new PopStateEvent("popstate")); 0`, nil))
	p.until("the pattern", `document.querySelector("h1")?.innerText === "urgency"`)
	before := p.made(t)
	p.click(button("Run"))
	const start = `[...document.querySelectorAll("dialog button.main")].find((b) => /^(Run|Start)/.test(b.innerText.trim()))`
	p.until("the form", start)
	p.do(chromedp.Evaluate(`(() => { const b = `+start+`; b.click(); b.click(); setTimeout(() => b.click(), 50); })()`, nil))
	p.until("a button that is busy", start+`?.disabled || location.pathname.startsWith("/executions/")`)
	p.until("the execution", `location.pathname.startsWith("/executions/exec_") || document.querySelector("dialog")?.innerText.includes("exec_")`)
	if n := p.made(t) - before; n != 1 {
		t.Errorf("%d executions were made by three clicks", n)
	}
}

// made counts the executions of the pattern that nothing can run.
func (p *page) made(t testing.TB) int {
	t.Helper()
	list, err := shared.Client.ListExecutions(t.Context(), client.ExecutionFilter{Pattern: "urgency"})
	if err != nil {
		t.Fatal(err)
	}
	return list.Total
}

// A server that is upgraded under an open tab: the page says so, and is loaded anew without loss of what was being written.
func TestUpgradedUnderTab(t *testing.T) {
	dir := t.TempDir()
	next := filepath.Join(dir, "wardroom")
	// As make builds it, so that all but the link is taken from what was compiled for that.
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-tags", "nomsgpack", "-ldflags", "-s -w -X github.com/wardroom/wardroom/appliance/cmd.version=99.0.0", "-o", next, "./appliance/cmd/wardroom")
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	data := filepath.Join(dir, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	server, err := testbed.NewDevServer(shared.binary, data)
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	if _, err := server.Client.CreatePattern(t.Context(), client.PatternInput{Definition: urgency}); err != nil {
		t.Fatal(err)
	}
	editor, thread := openIn(t, server.URL+"/patterns/urgency?tab=edit"), openIn(t, server.URL+"/threads?tab=new")
	thread.click(css("textarea[name=objective]"))
	thread.do(chromedp.KeyEvent("count the words"))
	editor.do(browserpage.BringToFront())
	const area = `document.querySelector(".editing textarea")`
	editor.click(area)
	editor.do(chromedp.KeyEvent("# half a thought\n"))
	editor.until("the draft", area+`.value.includes("# half a thought") && document.querySelector(".editing").innerText.includes("draft, kept")`)
	editor.away(true)
	thread.away(true)
	server.Kill()
	server.Command.Args[0] = next
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, p := range []*page{editor, thread} {
		p.do(browserpage.BringToFront())
		p.until("that the server is another version", `document.querySelector("main .notice")?.innerText.includes("another version now: 99.0.0")`)
	}
	thread.until("what was typed, before", `document.querySelector("textarea[name=objective]").value === "count the words"`)
	thread.click(button("Load it"))
	thread.until("the new page, with what was typed", `!document.querySelector("main .notice") && document.querySelector("textarea[name=objective]")?.value === "count the words"`)
	editor.do(browserpage.BringToFront())
	editor.click(button("Load it"))
	editor.until("the new page, with the draft", `!document.querySelector("main > .notice") && `+area+`?.value.includes("# half a thought")`)
}

// What is removed while it is open says so, stays on the screen as it was, and nothing else breaks.
func TestRemovedWhileOpen(t *testing.T) {
	request := client.ExecuteRequest{Pattern: "startup-team", Input: []byte(`{"task": "a word counter"}`)}
	if _, err := shared.Client.Execute(t.Context(), request); err != nil { // one that stays
		t.Fatal(err)
	}
	done, err := shared.Client.Execute(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	p := open(t, "/executions/"+done.ExecutionID)
	p.until("its timeline, live", live+` && document.querySelectorAll("[role=treegrid] [role=row]").length > 3`)
	p.away(true) // what is gone is an error to browsers
	if err := shared.Client.DeleteExecution(t.Context(), done.ExecutionID); err != nil {
		t.Fatal(err)
	}
	// Retention tells nobody: it is seen with the next thing that is read.
	p.click(`[...document.querySelectorAll("[role=row]")].find((r) => r.dataset.key?.startsWith("task:"))`)
	p.until("that it is gone", `[...document.querySelectorAll(".notice.bad")].some((n) => n.innerText.includes("NOT_FOUND") && n.innerText.includes("retention"))`)
	p.until("what it was", fmt.Sprintf(`document.querySelectorAll("[role=treegrid] [role=row]").length > 3 && document.querySelector("h1")?.innerText.includes("startup-team") && location.pathname.endsWith(%q)`, done.ExecutionID))
	p.shoot("removed")
	p.do(chromedp.Navigate(shared.URL + "/executions/" + done.ExecutionID))
	p.until("that there is none", `document.querySelector(".notice.bad")?.innerText.includes("NOT_FOUND")`)
	p.click(css(`nav a[href$="/executions"]`))
	p.until("the list without it", `document.querySelectorAll("main tr[data-index]").length > 0 && !document.querySelector("tr[data-id='`+done.ExecutionID+`']") && !document.querySelector("main .notice.bad")`)
}
