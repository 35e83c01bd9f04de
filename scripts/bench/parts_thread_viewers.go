package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/wardroom/wardroom/scripts/testbed"
	api "github.com/wardroom/wardroom/sdk/client"
)

// showing is one run of a thread before viewers.
type showing struct {
	viewers, stalled int
	events           int
	perSecond        int
	words            int // of an event
}

func (s showing) String() string {
	text := fmt.Sprintf("%d viewers, %d events/s", s.viewers, s.perSecond)
	if s.stalled > 0 {
		text += fmt.Sprintf(", %d stalled", s.stalled)
	}
	return text
}

// text returns the text of a numbered event.
func (s showing) text(i int, told time.Time) string {
	return fmt.Sprintf("%s%d %d %s", eventMark, i, told.UnixNano(), strings.Repeat("word ", s.words))
}

// threadViewers shows one thread of a connected agent to many viewers of a process of their own, beside a plain
// handler per viewer that writes the same bytes.
func (b *bench) threadViewers(ctx context.Context) error {
	many := showing{viewers: 300, perSecond: 100, events: 2000, words: 30}
	// A system takes a megabyte for a reader that stalls. Only what is more holds its writer up.
	crowd := showing{viewers: 1000, stalled: 100, perSecond: 100, events: 3000, words: 100}
	if b.quick {
		many.events, crowd.events = 500, 2000
	}
	plain, _, err := b.plainShow(ctx, many)
	if err != nil {
		return fmt.Errorf("baseline: %w", err)
	}
	b.add("viewers", many.String()+": plain handlers, CPU", plain, "%.2f cores", 0, true, "the baseline")
	cores, f, err := b.show(ctx, many)
	if err != nil {
		return err
	}
	b.add("viewers", many.String()+": CPU of the core", cores, "%.2f cores", 1, true, fmt.Sprintf("%.2f of plain handlers", cores/plain))
	b.add("viewers", many.String()+": delivered", f.rate(), "%.0f/s", 0, false, "")
	b.shown(many, f)
	if cores, f, err = b.show(ctx, crowd); err != nil {
		return err
	}
	b.add("viewers", crowd.String()+": CPU of the core", cores, "%.2f cores", 0, true, "")
	b.add("viewers", crowd.String()+": delivered", f.rate(), "%.0f/s", 0, false, fmt.Sprintf("%.1f s for %.1f s of events", f.Seconds, float64(crowd.events)/float64(crowd.perSecond)))
	b.shown(crowd, f)
	return nil
}

// shown reports what the viewers got.
func (b *bench) shown(s showing, f *followed) {
	b.add("viewers", s.String()+": told to seen, p50", f.P50, "%.1f ms", 0, true, "of those that read all the time")
	b.add("viewers", s.String()+": told to seen, p99", f.P99, "%.1f ms", 0, true, fmt.Sprintf("slowest %.0f ms", f.Slowest))
	b.add("viewers", s.String()+": viewers that got every event", float64(f.Whole), "%.0f", float64(s.viewers-f.Gapped), false,
		fmt.Sprintf("%d told of a gap instead; %d came back after they were dropped", f.Gapped, f.Returned))
	b.zero("viewers", s.String()+": events missing without a notice, or twice", f.Untold+f.Twice, f.Fault)
}

// show shows a thread and returns how much CPU the core took, as a number of cores, while it did.
func (b *bench) show(ctx context.Context, s showing) (float64, *followed, error) {
	h, err := b.serveHosted(ctx, 1, 1)
	if err != nil {
		return 0, nil, err
	}
	defer h.close()
	execution, all, err := h.threads(ctx, 1)
	if err != nil {
		return 0, nil, err
	}
	t := all[0]
	if err := h.count(ctx, execution, api.ThreadReady, 1); err != nil {
		return 0, nil, err
	}
	return b.perform(ctx, s, h.Process, h.Host, "/api/executions/"+execution+"/threads/stream?threadIds="+t.Spec.ThreadID,
		func(i int) error { return t.Say(ctx, s.text(i, time.Now())) })
}

// plainShow is show for the baseline.
func (b *bench) plainShow(ctx context.Context, s showing) (float64, *followed, error) {
	p, err := b.play(ctx, "fan")
	if err != nil {
		return 0, nil, err
	}
	defer stop(p)
	return b.perform(ctx, s, p, strings.TrimPrefix(p.Address, "http://"), "/stream", func(i int) error {
		now := time.Now()
		frame := fmt.Appendf(nil, "id: %d\nevent: thread_output\ndata: %s\n\n", i+1, fmt.Sprintf(plainData, s.text(i, now), now.UnixMilli(), i+1, now.Format(time.RFC3339Nano)))
		res, err := http.Post(p.Address+"/say", "text/event-stream", bytes.NewReader(frame))
		if err != nil {
			return err
		}
		return res.Body.Close()
	})
}

// plainData is as much as the core writes of an event.
const plainData = `{"executionId":"exec_01ARZ3NDEKTSV4RRFFQ69G5FAV","threadId":"thread_01ARZ3NDEKTSV4RRFFQ69G5FAV","type":"gateway_thread_output",` +
	`"data":{"thread_id":"thread_01ARZ3NDEKTSV4RRFFQ69G5FAV","event_type":"output","data_json":"{\"text\":\"%s\",\"turn\":1}","timestamp_ms":%d,"sequence":%d},"timestamp":"%s"}`

// perform reports events at their pace while viewers look on, and waits until all have seen the last.
func (b *bench) perform(ctx context.Context, s showing, p *testbed.Process, host, path string, say func(i int) error) (cores float64, f *followed, err error) {
	w, err := b.follow(ctx, s, host, path)
	if err != nil {
		return 0, nil, err
	}
	defer stop(w.Process)
	before, start := testbed.CPUTime(p.PID()), time.Now()
	for i := range s.events {
		if wait := time.Until(start.Add(time.Duration(i) * time.Second / time.Duration(s.perSecond))); wait > 0 {
			if err := testbed.Pause(ctx, wait); err != nil {
				return 0, nil, err
			}
		}
		if err := say(i); err != nil {
			return 0, nil, err
		}
	}
	cores = (testbed.CPUTime(p.PID()) - before).Seconds() / time.Since(start).Seconds()
	f, err = w.result()
	return cores, f, err
}
