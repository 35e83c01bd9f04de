package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// feedCounts is the stream of one reader of all events who follows the numbers of the overview as well. It is used by one goroutine.
type feedCounts struct {
	core.EventStream
	poll  poller // of the stream; or nil
	c     *call
	first core.Event // the numbers at the beginning
	done  func()     // ends the following

	// Of a reader from whom something is hidden.
	caller  string
	whole   *core.OverviewCounts // the numbers of everything, as told last
	due     bool                 // they changed since the reader's own were counted
	changed time.Time            // when they did last
	has     time.Time            // when the counting of those began
	until   time.Time            // when the reader's own may be counted again
	told    []byte               // those, without their time
}

// followCounts begins to follow the numbers if the reader wants and may read them; else it returns nil. The stream is over once the
// reader may not read them any more.
func (s *Server) followCounts(c *call, f *feedFilter, live core.EventStream) (*feedCounts, error) {
	if s.opts.Counts == nil || !slices.Contains(f.topics, topicCounts) || !c.mayList(readExecutions) {
		return nil, nil
	}
	if c.watched != nil {
		s.watches.also(c.watched, readExecutions)
	}
	now, leave, err := s.opts.Counts.FollowCounts(c.ctx)
	if err != nil {
		return nil, err
	}
	n := &feedCounts{EventStream: live, c: c, done: leave, whole: now}
	n.poll, _ = live.(poller)
	if !c.countsAll() {
		if now, err = n.begin(); err != nil {
			leave()
			return nil, err
		}
	}
	n.first = countsEvent(now)
	return n, nil
}

func countsEvent(counts *wire.OverviewCounts) core.Event {
	return core.Event{Type: core.EventCounts, Time: counts.At, Data: appendValue(nil, counts)}
}

// now names those who may read the same as the reader, under the rules of now.
func (n *feedCounts) now() string {
	caller := callerOf(n.c.principal)
	if revision := n.c.s.opts.Revision; revision != nil {
		caller = fmt.Sprint(revision(), " ", caller)
	}
	return caller
}

// leave ends the following.
func (n *feedCounts) leave() {
	if n != nil {
		n.done()
	}
}

// begin returns the reader's own numbers at the beginning. Those that another stream of the caller had just now may lack something.
func (n *feedCounts) begin() (*wire.OverviewCounts, error) {
	narrow, clock := &n.c.s.narrow, n.c.s.opts.Clock
	n.caller = n.now()
	unlock, err := narrow.first.lock(n.c.ctx, n.caller)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if have := narrow.recent(n.caller, clock.Now()); have.counts != nil {
		n.changed = clock.Now()
		n.take(have)
		n.due = true
		return have.counts, nil
	}
	return n.count(false)
}

// count counts what the reader may read; turn reports whether the stream has the turn to.
func (n *feedCounts) count(turn bool) (*wire.OverviewCounts, error) {
	clock := n.c.s.opts.Clock
	one := narrowCount{began: clock.Now()}
	n.due, n.until = false, one.began.Add(narrowPause)
	counts, err := func() (counts *wire.OverviewCounts, err error) {
		defer func() { // where it panics as well: else no stream counts any more
			one.ended, one.counts = clock.Now(), counts
			n.c.s.narrow.end(n.caller, turn, one)
		}()
		n.c.deciding = 0 // this count has the time of a request
		if counts, err = n.c.s.countReadable(n.c, n.whole); err != nil {
			counts = nil
		}
		return counts, err
	}()
	if err != nil {
		return nil, err
	}
	n.take(one)
	return counts, nil
}

// take notes what the reader receives.
func (n *feedCounts) take(one narrowCount) {
	n.has, n.until = one.began, one.ended.Add(narrowPause)
	n.due = n.changed.After(one.began) || one.counts.At.Before(n.whole.At)
	plain := *one.counts
	plain.At = time.Time{}
	n.told = appendValue(nil, plain)
}

// Next implements core.EventStream.
func (n *feedCounts) Next(ctx context.Context) (core.Event, error) {
	for {
		if !n.due {
			ev, err := n.EventStream.Next(ctx)
			if err != nil || n.passes(ev) {
				return ev, err
			}
			continue
		}
		if wait := n.until.Sub(n.c.s.opts.Clock.Now()); wait > 0 {
			within, cancel := context.WithCancel(ctx)
			timer := n.c.s.opts.Clock.AfterFunc(wait, cancel)
			ev, err := n.EventStream.Next(within)
			over := within.Err() != nil && ctx.Err() == nil
			timer.Stop()
			cancel()
			if err != nil && !over || err == nil && n.passes(ev) {
				return ev, err
			}
			continue
		}
		before := n.told
		n.caller = n.now()
		one, wait := n.c.s.narrow.begin(n.caller, n.has, n.c.s.opts.Clock.Now())
		if wait > 0 {
			n.until = n.c.s.opts.Clock.Now().Add(wait)
			continue
		}
		counts, err := one.counts, error(nil)
		if counts != nil {
			n.take(one)
		} else {
			counts, err = n.count(true)
		}
		switch {
		case ctx.Err() != nil:
			n.due, n.changed = true, n.c.s.opts.Clock.Now()
			return core.Event{}, ctx.Err()
		case err != nil:
			n.c.s.log.Debug("what a reader may read cannot be counted", "request", n.c.id, "error", err)
		case !bytes.Equal(before, n.told):
			return countsEvent(counts), nil
		}
	}
}

// Poll implements poller.
func (n *feedCounts) Poll() (core.Event, bool) {
	for n.poll != nil {
		if ev, ok := n.poll.Poll(); !ok || n.passes(ev) {
			return ev, ok
		}
	}
	return core.Event{}, false
}

// passes reports whether an event goes to the reader as it is. Of numbers of everything, of which something is hidden, it notes that
// they changed.
func (n *feedCounts) passes(ev core.Event) bool {
	switch {
	case ev.Type != core.EventCounts:
		return true
	case ev.Time.Before(n.first.Time):
		return false // from before the first
	case n.c.countsAll():
		return true
	}
	whole := new(core.OverviewCounts)
	if json.Unmarshal(ev.Data, whole) == nil {
		n.whole, n.due, n.changed = whole, true, n.c.s.opts.Clock.Now()
	}
	return false
}
