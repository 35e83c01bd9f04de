package browser_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/wardroom/wardroom/scripts/testbed"
	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
	"github.com/wardroom/wardroom/sdk/client"
)

// soakFor is how long TestSoak goes on at most. 0: it is skipped.
var soakFor = flag.Duration("soak", 0, "let a page soak in events, changes of screen and terminals until it had its fill of all, and for so long at most")

// What a page has had after eight hours of the design's form: the soak ends with it, however little time it took.
var (
	soakEvents    = flag.Int64("soak-events", 1_000_000, "events that are a page's fill in TestSoak")
	soakScreens   = flag.Int("soak-screens", 10_000, "changes of screen that are a page's fill in TestSoak")
	soakTerminals = flag.Int("soak-terminals", 500, "terminals that are a page's fill in TestSoak")
	soakAtOnce    = flag.Int("soak-at-once", 50, "executions at once that make the events of TestSoak")
)

// soaking is the pattern of the executions that make events. Its agent answers at once.
const soaking = "name: soaking\nversion: 1.0.0\nagents: {capabilities: [soaking]}\n"

// soakEventsOf has executions of so many batches, so many of each at once, come and go until the test ends, and counts the events that the server tells a page of.
func soakEventsOf(t testing.TB, batches, atOnce int) *atomic.Int64 {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	t.Cleanup(func() { cancel(); running.Wait() })
	ready := make(chan struct{})
	var once sync.Once
	a, err := agent.New(agent.Options{URL: shared.URL, Name: "soaking", Capabilities: []string{"soaking"}, MaxConcurrentTasks: max(100, batches*atOnce), Inline: true,
		Handler:      func(context.Context, *agent.Task) (any, error) { return map[string]any{"level": "low"}, nil },
		OnRegistered: func(protocol.Registered) { once.Do(func() { close(ready) }) }})
	if err != nil {
		t.Fatal(err)
	}
	running.Go(func() { _ = a.Run(ctx) })
	<-ready
	if _, err := shared.Client.CreatePattern(ctx, client.PatternInput{Definition: soaking}); err != nil {
		t.Fatal(err)
	}
	feed, err := shared.Client.FollowEvents(ctx, client.FeedFilter{Topics: []string{"executions", "inbox", "threads", "agents", "patterns", "schedules", "triggers", "health"}})
	if err != nil {
		t.Fatal(err)
	}
	var told atomic.Int64
	running.Go(func() {
		defer feed.Close()
		for event, err := range feed.Events() {
			if err != nil {
				if ctx.Err() == nil {
					t.Errorf("the events of the soak: %v", err)
				}
				return
			}
			if event.Type == "event" {
				told.Add(1)
			}
		}
	})
	for range batches {
		running.Go(func() {
			inputs := slices.Repeat([]json.RawMessage{json.RawMessage(`{"text": "soaked"}`)}, 500)
			for ctx.Err() == nil {
				b, err := shared.Client.StartBatch(ctx, client.BatchRequest{Pattern: "soaking", Inputs: inputs, Concurrency: atOnce})
				if err == nil {
					err = testbed.Until(ctx, 10*time.Minute, "a batch of the soak is over", func(ctx context.Context) (bool, error) {
						now, err := shared.Client.GetBatchPage(ctx, b.BatchID, client.Page{Limit: 1})
						return err == nil && now.CompletedAt != nil, err
					})
				}
				if err != nil && ctx.Err() == nil {
					t.Errorf("a batch of the soak: %v", err)
					return
				}
			}
		})
	}
	return &told
}

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
	err = testbed.Until(t.Context(), waiting, "the shell is ready", func(ctx context.Context) (bool, error) {
		now, err := shared.Client.GetManagedAgent(ctx, a.ID)
		return err == nil && now.Status == client.ManagedReady, err
	})
	if err != nil {
		t.Fatal(err)
	}
	p := openFor(t, shared.URL+"/", *soakFor+2*limit)
	p.until("a live page", live)
	events := soakEventsOf(t, 4, *soakAtOnce)
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
		visit("/agents/"+a.ID, ` && document.querySelector(".xterm") && document.querySelector(".terminal-tab .bar [role=status]")?.innerText === "you look on"`)
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
	done := func() float64 { // from 0 to 1
		had := min(float64(events.Load())/float64(*soakEvents), float64(screens)/float64(*soakScreens), float64(terminals)/float64(*soakTerminals))
		return max(had, float64(time.Since(began))/float64(*soakFor))
	}
	report := func() string {
		return fmt.Sprintf("after %s, %d events, %d executions of an org chart, %d changes of screen, %d terminals: ", time.Since(began).Round(time.Second), events.Load(), executions, screens, terminals)
	}
	for done() < 0.1 || screens < 60 {
		round()
	}
	first := rest()
	t.Log(report(), first)
	last := first
	for tenth := 2; tenth <= 10; tenth++ { // of all of them, to see what grows and how
		for done() < float64(tenth)/10 || screens < 12*tenth {
			round()
		}
		last = rest()
		t.Log(report(), last)
	}
	if last.heap > first.heap+10<<20 || last.nodes > first.nodes+500 || last.listeners > first.listeners+50 || last.documents > first.documents+1 || last.sock > first.sock+6 {
		t.Errorf("it holds more than after its first tenth:\n%s\n%s", first, last)
	}
}
