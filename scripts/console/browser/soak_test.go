package browser_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/wardroom/wardroom/scripts/testbed"
	"github.com/wardroom/wardroom/sdk/client"
)

// soakFor is how long TestSoak goes on; the design's form is eight hours. 0: it is skipped.
var soakFor = flag.Duration("soak", 0, "let a page soak for so long in events, changes of screen and terminals")

// held is what a page and its server hold once nothing goes on.
type held struct {
	heap                              float64 // bytes after a collection
	nodes, listeners, documents, sock int
}

func (h held) String() string {
	return fmt.Sprintf("heap %.1f MiB, %d nodes, %d listeners, %d documents, %d sockets of the server", h.heap/(1<<20), h.nodes, h.listeners, h.documents, h.sock)
}

// held measures after a collection of garbage.
func (p *page) held() (h held) {
	p.t.Helper()
	p.do(performance.Enable(), heapprofiler.CollectGarbage(), heapprofiler.CollectGarbage(), chromedp.ActionFunc(func(ctx context.Context) error {
		metrics, err := performance.GetMetrics().Do(ctx)
		if err != nil {
			return err
		}
		for _, m := range metrics {
			switch m.Name {
			case "Nodes":
				h.nodes = int(m.Value)
			case "JSEventListeners":
				h.listeners = int(m.Value)
			case "Documents":
				h.documents = int(m.Value)
			}
		}
		h.heap, _, _, _, err = runtime.GetHeapUsage().Do(ctx)
		return err
	}))
	h.sock = sockets(p.t, shared.PID())
	return h
}

// sockets counts the sockets that a process has open.
func sockets(t testing.TB, pid int) (n int) {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	fds, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if to, err := os.Readlink(filepath.Join(dir, fd.Name())); err == nil && strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n
}

// A page that stays open in events, changes of screen and terminals holds no more at its end than after a tenth of the time.
func TestSoak(t *testing.T) {
	if *soakFor == 0 {
		t.Skip("-soak says how long")
	}
	a, err := shared.Client.SpawnManagedAgent(t.Context(), client.ManagedAgentSpec{Type: "bash", Name: "soaked"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = shared.Client.StopManagedAgent(context.WithoutCancel(t.Context()), a.ID, true, 0) })
	err = testbed.Until(t.Context(), time.Minute, "the shell is ready", func(ctx context.Context) (bool, error) {
		now, err := shared.Client.GetManagedAgent(ctx, a.ID)
		return err == nil && now.Status == client.ManagedReady, err
	})
	if err != nil {
		t.Fatal(err)
	}
	p := openFor(t, shared.URL+"/", *soakFor+2*limit)
	p.until("a live page", live)
	executions, screens, terminals := 0, 0, 0
	visit := func(to, shown string) {
		t.Helper()
		p.do(chromedp.Evaluate(fmt.Sprintf(`history.pushState({}, "", %q); dispatchEvent(new PopStateEvent("popstate")); 0`, to), nil))
		p.until("the screen "+to, fmt.Sprintf(`location.pathname + location.search === %q && document.querySelector("h1") && !document.querySelector("main .waiting")`, to)+shown)
		screens++
	}
	round := func() {
		done, err := shared.Client.Execute(t.Context(), client.ExecuteRequest{Pattern: "startup-team", Input: []byte(`{"task": "a word counter"}`)})
		if err != nil {
			t.Fatal(err)
		}
		executions++
		visit("/executions/"+done.ExecutionID, ` && document.querySelectorAll("[role=treegrid] [role=row]").length > 3`)
		visit("/executions/"+done.ExecutionID+"?tab=workflow", "")
		for _, to := range []string{"/inbox", "/executions", "/patterns", "/patterns/startup-team", "/threads", "/threads?board=state", "/agents?tab=wall", "/memory", "/webhooks", "/system"} {
			visit(to, "")
		}
		visit("/agents/"+a.ID, ` && document.querySelector(".xterm") && document.querySelector(".terminal-tab .bar [role=status]")?.innerText === "read-only"`)
		terminals++
		visit("/", ` && document.querySelectorAll(".tile").length >= 6 && !document.querySelector(".xterm")`)
	}
	// At rest only the stream and what the browser keeps for its next requests is open.
	rest := func() held {
		t.Helper()
		visit("/webhooks", "")
		visit("/", ` && document.querySelectorAll(".tile").length >= 6`)
		return p.held()
	}
	began := time.Now()
	for time.Since(began) < *soakFor/10 || screens < 60 {
		round()
	}
	first := rest()
	t.Logf("after %s: %s", time.Since(began).Round(time.Second), first)
	for time.Since(began) < *soakFor || screens < 120 {
		round()
	}
	last := rest()
	t.Logf("after %s, %d executions, %d changes of screen, %d terminals: %s", time.Since(began).Round(time.Second), executions, screens, terminals, last)
	if last.heap > first.heap+10<<20 || last.nodes > first.nodes+500 || last.listeners > first.listeners+50 || last.documents > first.documents+1 || last.sock > first.sock+6 {
		t.Errorf("it holds more than after a tenth of the time:\n%s\n%s", first, last)
	}
}
