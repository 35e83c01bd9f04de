package api_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/api"
	"github.com/wardroom/wardroom/core/coretest"
)

// stalling is a writer whose reader stops reading with the first event, until it is let go; fail then makes the write
// fail, as its deadline does.
type stalling struct {
	collector
	stalled, release chan struct{}
	fail             bool
	writes           int
}

func (s *stalling) Write(b []byte) (int, error) {
	if s.writes++; s.writes == 2 { // behind connected
		close(s.stalled)
		<-s.release
		if s.fail {
			return 0, context.DeadlineExceeded
		}
	}
	return s.collector.Write(b)
}

// Of a thousand viewers of one thread a tenth stops reading. The others get every event while they do; those that read
// on get every event as well, from the store, since their buffers were too small for what they missed; and those that
// do not are dropped.
func TestThreadStreamThousandViewers(t *testing.T) {
	const viewers, stalled, events = 1000, 100, 40
	gauge := &openStreams{}
	r := newRig(t, func(o *api.Options) { o.Metrics = gauge })
	r.journal.events = nil
	g := newGroup()
	g.bound = 8
	r.threads.follow = func(_ context.Context, _ string, after uint64, _ bool) (core.EventStream, error) {
		return g.subscribe(after), nil
	}
	ctx, leave := context.WithCancel(context.Background())
	defer leave()
	var reading, quick sync.WaitGroup
	serve := func(w http.ResponseWriter) {
		req, _ := http.NewRequestWithContext(ctx, "GET", "http://localhost"+threadStreamPath, nil)
		r.server.ServeHTTP(w, req)
	}
	slow := make([]*stalling, stalled)
	for i := range slow {
		slow[i] = &stalling{collector: collector{header: http.Header{}}, stalled: make(chan struct{}), release: make(chan struct{}), fail: i%2 == 0}
		reading.Go(func() { serve(slow[i]) })
	}
	var want strings.Builder
	want.WriteString("0 ") // of connected
	for i := range events {
		fmt.Fprintf(&want, "%d ", i+1)
	}
	faults := make(chan string, viewers)
	for range viewers - stalled {
		quick.Add(1)
		reading.Go(func() {
			w := &counting{collector: collector{header: http.Header{}}, last: fmt.Sprintf("id: %d\n", events), done: quick.Done}
			serve(w)
			if got := w.ids(); got != want.String() {
				faults <- got
			}
		})
	}
	coretest.WaitFor(t, "all viewers", func() bool { return g.size() == viewers })
	for i := range uint64(events) {
		g.publish(threadEvent(i+1, threadID, core.EventThreadOutput, `{"text":"x"}`))
		if i == 0 {
			for _, s := range slow {
				<-s.stalled
			}
		}
	}
	quick.Wait() // while the others are stalled
	for _, s := range slow {
		close(s.release)
	}
	coretest.WaitFor(t, "the dropped viewers to go", func() bool { return gauge.get() == viewers-stalled/2 })
	coretest.WaitFor(t, "the others to catch up", func() bool { return g.caughtUp(events) })
	leave()
	reading.Wait()
	close(faults)
	for f := range faults {
		t.Fatalf("a viewer got %q", f)
	}
	for i, s := range slow {
		if got := s.ids(); !s.fail && got != want.String() {
			t.Fatalf("stalled viewer %d got %q", i, got)
		}
	}
}

// counting is a writer that tells when it got the last event.
type counting struct {
	collector
	last string
	done func()
}

func (c *counting) Write(b []byte) (int, error) {
	n, err := c.collector.Write(b)
	if strings.Contains(string(b), c.last) {
		c.done()
	}
	return n, err
}

// caughtUp reports whether nothing waits for any subscription, up to a sequence.
func (g *group) caughtUp(seq uint64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for m := range g.subs {
		if m.lost || len(m.queue) > 0 || m.told.Load() < seq {
			return false
		}
	}
	return true
}

// What waits is written at once, up to a bound, and one by one where nothing waits.
func TestStreamWritesAtOnce(t *testing.T) {
	r := newRig(t)
	g := newGroup()
	for i := range uint64(300) {
		g.stored = append(g.stored, threadEvent(i+1, threadID, core.EventThreadOutput, `{"text":"`+strings.Repeat("x", 1000)+`"}`))
	}
	r.threads.follow = func(_ context.Context, _ string, after uint64, _ bool) (core.EventStream, error) {
		return g.subscribe(after), nil
	}
	ctx, leave := context.WithCancel(context.Background())
	w := &sized{collector: collector{header: http.Header{}}, last: "id: 300\n", done: leave}
	req, _ := http.NewRequestWithContext(ctx, "GET", "http://localhost"+threadStreamPath+"?lastEventId=0", nil)
	r.server.ServeHTTP(w, req)
	if len(w.sizes) < 5 || len(w.sizes) > 12 {
		t.Errorf("%d writes for 300 events of a kilobyte", len(w.sizes))
	}
	for _, n := range w.sizes {
		if n > 70<<10 {
			t.Errorf("a write of %d bytes", n)
		}
	}
}

// sized is a writer that keeps the sizes of its writes.
type sized struct {
	collector
	last  string
	done  func()
	sizes []int
}

func (s *sized) Write(b []byte) (int, error) {
	s.sizes = append(s.sizes, len(b))
	if strings.Contains(string(b), s.last) {
		defer s.done()
	}
	return s.collector.Write(b)
}

func (s *sized) SetWriteDeadline(time.Time) error { return nil }
