package api_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/api"
	"github.com/wardroom/wardroom/core/coretest"
)

// changingFeed has the numbers of everything change once each reader is there, and then ends.
type changingFeed struct {
	fakeFeed
	change chan struct{} // closed at the change
	event  func() core.Event
}

func (f *changingFeed) Live() core.EventStream { return &changingStream{feed: f} }

type changingStream struct {
	feed *changingFeed
	told bool
}

func (s *changingStream) Next(ctx context.Context) (core.Event, error) {
	changed := s.feed.change
	if s.told {
		changed = nil
	}
	select {
	case <-ctx.Done():
		return core.Event{}, ctx.Err()
	case <-changed:
		s.told = true
		return s.feed.event(), nil
	}
}

func (s *changingStream) Close() {}

// Many streams of one caller from whom something is hidden have the numbers counted once for all of them: at the beginning, and when they
// changed.
func TestNarrowCountsAreShared(t *testing.T) {
	counts := &fakeCounts{now: core.OverviewCounts{At: epoch, Executions: map[string]int{"running": 9, "failed": 0}}}
	feed := &changingFeed{change: make(chan struct{})}
	r := newRig(t, func(o *api.Options) {
		o.Counts, o.Feed = counts, feed
		o.Authorize = func(context.Context, core.Principal, api.Access) error { return nil }
		o.ReadsAll = func(context.Context, core.Principal, api.Access) bool { return false }
	})
	var reads atomic.Int64
	var status atomic.Value
	status.Store(core.ExecutionRunning)
	r.executions.findAll = func(core.ExecutionFilter) ([]*core.Execution, core.PageInfo, error) {
		reads.Add(1)
		return []*core.Execution{someExecution(execID, status.Load().(core.ExecutionStatus))}, core.PageInfo{Total: 1}, nil
	}
	feed.event = func() core.Event {
		now := counts.now
		now.At = r.clock.Now()
		data, _ := json.Marshal(now)
		return core.Event{Type: core.EventCounts, Time: now.At, Data: data}
	}
	const streams = 50
	list := make([]<-chan string, streams)
	for i := range list {
		list[i] = r.openStream("/api/events?topics=counts")
		untilLine(t, list[i], `"running":1`)
	}
	if n := reads.Load(); n != 1 {
		t.Errorf("%d streams had the numbers counted %d times at the beginning", streams, n)
	}
	status.Store(core.ExecutionFailed)
	close(feed.change)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, lines := range list {
			untilLine(t, lines, `"failed":1`)
		}
	}()
	coretest.WaitFor(t, "all streams to have the new numbers", func() bool {
		r.clock.Advance(time.Second)
		select {
		case <-done:
			return true
		default:
			return false
		}
	})
	if n := reads.Load(); n >= streams/2 {
		t.Errorf("%d streams had the numbers counted %d times", streams, n)
	}
}

// untilLine reads lines of a stream up to one that has a text.
func untilLine(t *testing.T, lines <-chan string, text string) {
	for line := range lines {
		if strings.Contains(line, text) {
			return
		}
	}
	t.Errorf("the stream ended without %s", text)
}
