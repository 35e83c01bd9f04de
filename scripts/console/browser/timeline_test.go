package browser_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/performance"
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
		"workflow:\n  steps:\n    - type: parallel\n      steps:\n" + strings.Repeat("        - {type: assign, role: talker, task: talk}\n", talkers)
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
	var mu sync.Mutex
	n := 0
	handler := func(ctx context.Context, task *agent.Task) (any, error) {
		mu.Lock()
		n++
		last := n == talkers
		mu.Unlock()
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
	if err := testbed.Until(ctx, time.Minute, "10,000 remarks are in the timeline", func(ctx context.Context) (bool, error) {
		tl, err := shared.Client.GetTimeline(ctx, e.ExecutionID)
		return err == nil && strings.Count(string(tl.Body), `"kind":"message"`) >= (talkers-1)*remarksOf, err
	}); err != nil {
		t.Fatal(err)
	}
	return e.ExecutionID, func() { close(begin) }
}

// A timeline of 10,000 entries that is open takes what changed, a hundred events a second, and is never read whole again.
func TestBusyTimeline(t *testing.T) {
	id, more := talk(t)
	p := openIn(t, "about:blank")
	var mu sync.Mutex // guards all below
	whole, parts, bytes, largest := 0, 0, 0.0, 0.0
	of := map[network.RequestID]bool{} // requests for parts
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
				whole++
			}
		case *network.EventLoadingFinished:
			if of[e.RequestID] {
				bytes += e.EncodedDataLength
				largest = max(largest, e.EncodedDataLength)
			}
		}
	})
	p.do(chromedp.Navigate(shared.URL + "/executions/" + id + "?kind=message"))
	const said = `document.querySelectorAll("[role=row]").length > 20 && Number(document.querySelector("[role=treegrid]").getAttribute("aria-rowcount"))`
	p.until("the remarks", fmt.Sprintf("%s > %d", said, (talkers-1)*remarksOf))
	p.do(chromedp.Evaluate(`document.querySelector(".timeline").scrollTop = 3200; 0`, nil))
	p.do(performance.Enable())
	before := p.spent()
	more()
	frames := p.frames(`document.querySelector(".timeline").scrollTop += 30`, 240)
	after := p.spent()
	p.until("all remarks", fmt.Sprintf("%s > %d", said, talkers*remarksOf))
	for name, s := range after {
		t.Logf("%s %.1f ms a frame", strings.TrimSuffix(name, "Duration"), (s-before[name])*1000/float64(len(frames)))
	}
	mu.Lock()
	defer mu.Unlock()
	t.Logf("%d parts, %.0f KiB in all, %.0f KiB the largest; frames p50 %.0f ms, p95 %.0f ms", parts, bytes/1024, largest/1024, frames[len(frames)/2], frames[len(frames)*95/100])
	if whole != 1 || parts < 5 || largest > 128<<10 {
		t.Errorf("the timeline was read whole %d times, and %d parts came, of up to %.0f KiB", whole, parts, largest/1024)
	}
}
