package browser_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/wardroom/wardroom/scripts/testbed"
	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
	"github.com/wardroom/wardroom/sdk/client"
)

const (
	talkers   = 11   // of which the last one talks once the timeline is open
	remarksOf = 1000 // that one talker makes, which is the most for one task
)

// talkative is an org chart in which all talkers talk at the same time.
func talkative() string {
	return "name: talkative\nversion: 1.0.0\nstructure:\n  name: talkative\n  roles:\n    boss: {name: Boss, capabilities: [bossing], singleton: true}\n" +
		fmt.Sprintf("    talker: {name: Talker, capabilities: [talking], reportsTo: boss, minInstances: %[1]d, maxInstances: %[1]d}\n", talkers) +
		"workflow:\n  steps:\n    - type: parallel\n      steps:\n" + strings.Repeat("        - {type: assign, role: talker, task: talk, timeout: 600000}\n", talkers-1) +
		"        - {type: assign, role: talker, task: talk later, timeout: 600000}\n"
}

// talk begins an execution in which ten agents made 10,000 remarks, and returns its id and what has the eleventh make
// another 1,000, at 100 a second.
func talk(t testing.TB) (id string, more func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	t.Cleanup(func() { cancel(); running.Wait() })
	begin := make(chan struct{})
	var turn, spoke sync.WaitGroup
	spoke.Add(talkers - 1)
	handler := func(ctx context.Context, task *agent.Task) (any, error) {
		last := strings.Contains(string(task.Input), "talk later") // its remarks stand below all others
		if last {
			select {
			case <-begin:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		for i := range remarksOf {
			if err := task.Tell(ctx, agent.Message{To: "boss", Content: i}); err != nil {
				return nil, err
			}
		}
		if !last {
			spoke.Done()
		}
		<-ctx.Done() // the execution goes on as long as it is looked at
		return nil, ctx.Err()
	}
	for i := range talkers + 1 {
		capability := "talking"
		if i == talkers {
			capability = "bossing"
		}
		turn.Add(1)
		var once sync.Once
		a, err := agent.New(agent.Options{URL: shared.URL, Name: fmt.Sprintf("talker-%d", i), Capabilities: []string{capability}, Handler: handler,
			OnRegistered: func(protocol.Registered) { once.Do(turn.Done) }})
		if err != nil {
			t.Fatal(err)
		}
		running.Go(func() { _ = a.Run(ctx) })
	}
	turn.Wait()
	if _, err := shared.Client.GetPattern(ctx, "talkative", ""); err != nil {
		if _, err := shared.Client.CreatePattern(ctx, client.PatternInput{Definition: talkative()}); err != nil {
			t.Fatal(err)
		}
	}
	e, err := shared.Client.ExecuteAsync(ctx, client.ExecuteRequest{Pattern: "talkative", Input: []byte(`{"task": "talk"}`)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = shared.Client.CancelExecution(context.WithoutCancel(ctx), e.ExecutionID, "looked at") })
	spoke.Wait()
	last, still := uint64(0), 0
	if err := testbed.Until(ctx, limit, "10,000 remarks are in the timeline, and nothing changes", func(ctx context.Context) (bool, error) {
		tl, err := shared.Client.GetTimeline(ctx, e.ExecutionID)
		if err != nil || strings.Count(string(tl.Body), `"kind":"message"`) < (talkers-1)*remarksOf {
			return false, err
		}
		var now struct{ LastSequence uint64 }
		if err := json.Unmarshal(tl.Body, &now); err != nil {
			return false, err
		}
		if now.LastSequence != last {
			last, still = now.LastSequence, 0
		}
		still++
		return still > 3, nil
	}); err != nil {
		t.Fatal(err)
	}
	return e.ExecutionID, func() { close(begin) }
}

// countWork counts what a page does: events that it receives together, canvases that are drawn, and changes of the timeline in the
// document.
const countWork = `window.work = {told: 0, drawn: 0, writes: 0, rows: 0};
	const port = Object.getOwnPropertyDescriptor(MessagePort.prototype, "onmessage");
	Object.defineProperty(MessagePort.prototype, "onmessage", {...port, set(f) { port.set.call(this, (e) => { if (e.data?.kind === "events") work.told++; f(e); }); }});
	const context = HTMLCanvasElement.prototype.getContext;
	HTMLCanvasElement.prototype.getContext = function (...of) { work.drawn++; return context.apply(this, of); };
	window.countWrites = () => new MutationObserver((all) => { for (const m of all) { work.writes++; for (const n of m.addedNodes) if (n.getAttribute?.("role") === "row") work.rows++; } })
		.observe(document.querySelector(".timeline"), {subtree: true, childList: true, attributes: true, characterData: true});`

// A timeline of 10,000 entries that is open takes what changed, a hundred events a second, and is never read whole again. What
// it does for that depends on what is in view: rows that did not change are left alone.
func TestBusyTimeline(t *testing.T) {
	id, more := talk(t)
	p := beforeIn(t, countWork)
	var mu sync.Mutex // guards all below
	whole, parts, bytes, largest := 0, 0, int64(0), 0.0
	of := map[network.RequestID]bool{} // requests for parts; false: for the whole
	packed := 0.0                      // bytes of the whole on the wire
	chromedp.ListenTarget(p.ctx, func(ev any) {
		mu.Lock()
		defer mu.Unlock()
		switch e := ev.(type) {
		case *network.EventRequestWillBeSent:
			u, err := url.Parse(e.Request.URL)
			if err != nil || !strings.HasSuffix(u.Path, id+"/timeline") {
				return
			}
			if part := u.Query().Get("since") != ""; part {
				of[e.RequestID] = true
				parts++
			} else {
				of[e.RequestID] = false
				whole++
			}
		case *network.EventDataReceived:
			if of[e.RequestID] {
				bytes += e.DataLength
			}
		case *network.EventLoadingFinished:
			if part, is := of[e.RequestID]; part {
				largest = max(largest, e.EncodedDataLength)
			} else if is {
				packed = e.EncodedDataLength
			}
		}
	})
	p.do(chromedp.Navigate(shared.URL + "/executions/" + id + "?kind=message"))
	const said = `document.querySelectorAll("[role=row]").length > 20 && Number(document.querySelector("[role=treegrid]").getAttribute("aria-rowcount"))`
	p.until("the remarks", fmt.Sprintf("%s > %d", said, (talkers-1)*remarksOf))
	p.click(css(`button[aria-label="Zoom in"]`)) // so that the overview strip is shown
	p.until("the strip", `document.querySelector(".strip canvas")`)
	p.do(chromedp.Evaluate(`document.querySelector(".timeline").scrollTop = 3200; 0`, nil))
	p.until("the rows there", `document.querySelector("[role=row][data-index='100']")`)
	p.do(chromedp.Evaluate(`countWrites(); Object.assign(work, {told: 0, drawn: 0, first: `+said+`}); window.began = performance.now(); 0`, nil))
	more()
	p.until("all remarks", fmt.Sprintf("%s >= work.first + %d", said, remarksOf))
	var work struct {
		Told, Drawn, Writes, Rows, Shown int
		Seconds                          float64
	}
	p.do(chromedp.Evaluate(`({...work, shown: document.querySelectorAll(".timeline [role=row]").length, seconds: (performance.now() - began) / 1000})`, &work))
	mu.Lock()
	defer mu.Unlock()
	t.Logf("the whole is %.0f KiB on the wire", packed/1024)
	if packed == 0 || packed > 300<<10 {
		t.Errorf("a timeline of 10,000 entries is %.0f KiB on the wire, 300 at most", packed/1024)
	}
	t.Logf("%.1f s, %d parts of %.0f KiB in all, %.1f KiB packed the largest, %d bytes a remark; told %d times, strip drawn %d times, %d rows in the document, %d rows made, %d changes of the document",
		work.Seconds, parts, float64(bytes)/1024, largest/1024, bytes/remarksOf, work.Told, work.Drawn, work.Shown, work.Rows, work.Writes)
	if whole != 1 || parts < 2 || largest > 128<<10 || bytes > 1024*remarksOf {
		t.Errorf("the timeline was read whole %d times, and %d parts came, of up to %.0f KiB", whole, parts, largest/1024)
	}
	if float64(work.Told) > 10*work.Seconds+2 || float64(work.Drawn) > 2*work.Seconds+2 {
		t.Errorf("in %.1f s the page was told of events %d times, and drew the strip %d times", work.Seconds, work.Told, work.Drawn)
	}
	// Each second the bars in view move: left, width, words of the duration, their label. A part changes the count, the height and the number of the tab.
	if work.Shown > 60 || work.Rows > 0 || float64(work.Writes) > float64(6*work.Shown)*(work.Seconds+1)+float64(6*parts) {
		t.Errorf("of %d rows in the document %d were made anew, and %d changes were made for what is not in view", work.Shown, work.Rows, work.Writes)
	}
}
