package api

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// maxFeedRate bounds what a reader may ask for as its rate.
const maxFeedRate = 10_000

// ratePause is how often a reader receives the count of events that were left out, and the part of a second in which its events are counted.
const ratePause = 500 * time.Millisecond

// ratedFeed is the stream of one reader of all events that gets no more events of executions than its rate: of those that
// are left out it hears in sum. What the reader follows by its subject, and what people wait for, is never left out. It is
// used by one goroutine.
type ratedFeed struct {
	core.EventStream
	poll     poller // of the stream; or nil
	clock    core.Clock
	subjects []string
	most     int                     // events in a pause
	frame    func(core.Event) []byte // of an event that is sent

	until time.Time // the end of this pause
	told  int       // events in it
	left  int       // of those before, how many the reader did not get
	last  uint64    // the newest of them
}

func newRatedFeed(stream core.EventStream, clock core.Clock, rate int, f feedFilter, frame func(core.Event) []byte) *ratedFeed {
	r := &ratedFeed{EventStream: stream, clock: clock, subjects: f.subjects, frame: frame, most: max(1, int(int64(rate)*int64(ratePause)/int64(time.Second)))}
	r.poll, _ = stream.(poller)
	return r
}

// Next implements core.EventStream. It returns the zero event when the count of those left out is due.
func (r *ratedFeed) Next(ctx context.Context) (core.Event, error) {
	if r.left == 0 {
		return r.EventStream.Next(ctx)
	}
	due, cancel := context.WithCancel(ctx)
	defer cancel()
	timer := r.clock.AfterFunc(r.until.Sub(r.clock.Now()), cancel)
	defer timer.Stop()
	ev, err := r.EventStream.Next(due)
	if err != nil && due.Err() != nil && ctx.Err() == nil {
		return core.Event{}, nil
	}
	return ev, err
}

// Poll implements poller.
func (r *ratedFeed) Poll() (core.Event, bool) {
	if r.poll == nil {
		return core.Event{}, false
	}
	return r.poll.Poll()
}

// render makes the frames of an event: its own, unless it is left out, behind the count of those left out before, once that is due.
func (r *ratedFeed) render(ev core.Event) []byte {
	var frame []byte
	if ev.Type != "" {
		frame = r.frame(ev)
	}
	var sum []byte
	now := r.clock.Now()
	if !now.Before(r.until) {
		sum = r.sum()
		r.until, r.told = now.Add(ratePause), 0
	}
	if frame == nil {
		return sum
	}
	if r.mayLeave(&ev) {
		if r.told >= r.most {
			r.left++
			r.last = ev.Seq
			return sum
		}
		r.told++
	}
	if sum == nil {
		sum = r.sum() // who resumes behind this event has all before it
	}
	return append(sum, frame...)
}

// mayLeave reports whether an event may be left out.
func (r *ratedFeed) mayLeave(ev *core.Event) bool {
	return strings.HasPrefix(string(ev.Type), "execution.") && !slices.Contains(r.subjects, ev.Subject)
}

// sum makes the frame with the count of events that were left out, if any were.
func (r *ratedFeed) sum() []byte {
	if r.left == 0 {
		return nil
	}
	frame := frameOf("skipped", r.last, appendValue(nil, wire.FeedSkipped{Topics: []string{"executions"}, Count: r.left, To: r.last}))
	r.left = 0
	return frame
}
