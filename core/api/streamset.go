package api

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wardroom/wardroom/core"
)

// Why a reader's wait for the next event was interrupted.
var (
	errHeartbeat = errors.New("heartbeat is due")
	errDrained   = errors.New("server is draining")
)

// wheelSlots divides the heartbeat interval: each tick of the one timer wakes the streams of one slot,
// which are those that opened at about the same time. So the first heartbeat comes after an interval like
// the others, and twenty thousand readers are not written to in the same instant.
const wheelSlots = 16

// streamSet knows the open streams. One timer wakes them for heartbeats; it runs only while there are any.
type streamSet struct {
	s       *Server
	drained atomic.Bool
	done    sync.WaitGroup // open streams, and the timer while it is set

	mu    sync.Mutex // guards all below
	slots [wheelSlots]map[*reader]struct{}
	count int
	tick  int        // slot the next tick wakes
	timer core.Timer // nil while no stream is open
}

// reader is one open stream.
type reader struct {
	set   *streamSet
	slot  int
	until time.Time // when it ends for its age

	mu      sync.Mutex              // guards all below
	release context.CancelCauseFunc // ends the wait under way; nil before the first
	due     bool                    // a heartbeat that the reader did not see yet
}

func newStreamSet(s *Server) *streamSet {
	set := &streamSet{s: s}
	for i := range set.slots {
		set.slots[i] = map[*reader]struct{}{}
	}
	return set
}

// enter registers a stream. RATE_LIMITED when there are too many, Unavailable while draining.
func (set *streamSet) enter(config *Config) (*reader, error) {
	set.mu.Lock()
	defer set.mu.Unlock()
	if set.drained.Load() {
		return nil, core.Unavailable("stopping", "the service is stopping")
	}
	if set.count >= config.MaxStreams {
		return nil, core.RateLimited(int64(config.MaxStreams), 0, retryHeld, "too many event streams are open")
	}
	// The slot woken last is the one whose turn comes a whole interval from now.
	slot := (set.tick + wheelSlots - 1) % wheelSlots
	r := &reader{set: set, slot: slot, until: set.s.opts.Clock.Now().Add(config.StreamMaxAge)}
	set.slots[r.slot][r] = struct{}{}
	set.count++
	set.done.Add(1)
	set.s.opts.Metrics.StreamOpened()
	if set.timer == nil {
		set.schedule()
	}
	return r, nil
}

// leave ends a stream's membership.
func (r *reader) leave() {
	set := r.set
	set.mu.Lock()
	defer set.mu.Unlock()
	delete(set.slots[r.slot], r)
	set.count--
	if set.count == 0 && set.timer != nil {
		if set.timer.Stop() {
			set.done.Done()
		}
		set.timer = nil
	}
	set.s.opts.Metrics.StreamClosed()
	set.done.Done()
}

// schedule sets the timer of the next tick. Called with mu held.
func (set *streamSet) schedule() {
	set.done.Add(1)
	set.timer = set.s.opts.Clock.AfterFunc(set.s.config.Load().Heartbeat/wheelSlots, set.beat)
}

// beat wakes the streams of one slot.
func (set *streamSet) beat() {
	defer set.done.Done()
	set.mu.Lock()
	due := make([]*reader, 0, len(set.slots[set.tick]))
	for r := range set.slots[set.tick] {
		due = append(due, r)
	}
	set.tick = (set.tick + 1) % wheelSlots
	set.timer = nil
	if set.count > 0 {
		set.schedule()
	}
	set.mu.Unlock()
	for _, r := range due {
		r.interrupt(errHeartbeat)
	}
}

// drain refuses new streams and ends the open ones.
func (set *streamSet) drain() {
	set.mu.Lock()
	set.drained.Store(true)
	var all []*reader
	for _, slot := range set.slots {
		for r := range slot {
			all = append(all, r)
		}
	}
	set.mu.Unlock()
	for _, r := range all {
		r.interrupt(errDrained)
	}
}

func (set *streamSet) draining() bool { return set.drained.Load() }

// wait returns once no stream is open.
func (set *streamSet) wait() { set.done.Wait() }

// arm returns a context for the next wait, which ends when the reader is interrupted.
func (r *reader) arm(parent context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(parent)
	r.mu.Lock()
	r.release = cancel
	due := r.due // it came between two waits
	r.mu.Unlock()
	// drain sets its flag before it interrupts: whoever misses the interruption sees the flag.
	switch {
	case r.set.drained.Load():
		cancel(errDrained)
	case due:
		cancel(errHeartbeat)
	}
	return ctx
}

// take notes that the reader saw the heartbeat that was due, and reports whether one was.
func (r *reader) take() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	was := r.due
	r.due = false
	return was
}

// interrupt ends the wait under way, or the next one.
func (r *reader) interrupt(cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.due = true
	if r.release != nil {
		r.release(cause)
	}
}
