package events

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/pause"
)

// eventCost is the size of an event in a buffer beside its data, in bytes.
const eventCost = 160

var (
	errShutdown = core.Unavailable("shutting_down", "the server is shutting down")
	errSlow     = core.Unavailable("slow_consumer", "the reader fell too far behind and was dropped; read on from the last sequence seen")
	errDone     = core.Unavailable("subscription_closed", "the subscription is closed")
)

// Subscription is a bounded buffer of one subscriber. Next is for one goroutine at a time; Close may be
// called from any.
type Subscription struct {
	bus     *Bus
	shard   *shard
	subject string
	opts    SubscribeOptions
	ready   chan struct{} // holds one: there is something to look at

	mu    sync.Mutex // guards all below
	queue []core.Event
	bytes int
	ended error // why no more events come; nil while they do

	batch []core.Event // taken from queue, not yet handed out; owned by the reader
	spare []core.Event // array of the batch before, for the next queue; owned by the reader
}

// maxSpare is the largest array that is kept for the next queue: one burst must not cost memory for ever.
const maxSpare = 64

// put adds an event, or drops the subscriber when there is no room. It is called with the shard locked,
// so a dropped subscriber stays in the table until its reader closes it.
func (s *Subscription) put(e *core.Event) {
	cost := eventCost + len(e.Data)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended != nil {
		return
	}
	if len(s.queue) >= s.opts.MaxEvents || s.bytes+cost > s.opts.MaxBytes && len(s.queue) > 0 {
		s.ended = errSlow
		s.queue, s.bytes = nil, 0 // what is left out must not be followed by what was kept
		s.bus.dropped.Add(1)
		s.signal()
		return
	}
	s.queue = append(s.queue, *e)
	s.bytes += cost
	if len(s.queue) == 1 {
		s.signal()
	}
}

// end lets the reader have what is buffered and then reason.
func (s *Subscription) end(reason error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = cmp.Or(s.ended, reason)
	s.signal()
}

func (s *Subscription) signal() { pause.Wake(s.ready) }

// Next blocks for the next event. It returns ctx's error, or an INTERNAL_ERROR with Unavailable and the
// reason slow_consumer, shutting_down or subscription_closed, after which no event follows.
func (s *Subscription) Next(ctx context.Context) (core.Event, error) {
	for {
		if e, ok, err := s.poll(); ok || err != nil {
			return e, err
		}
		select {
		case <-ctx.Done():
			return core.Event{}, ctx.Err()
		case <-s.ready:
		}
	}
}

// poll returns the next event if one is there.
func (s *Subscription) poll() (e core.Event, ok bool, err error) {
	if len(s.batch) == 0 {
		s.mu.Lock()
		ended := s.ended
		if len(s.queue) > 0 {
			s.batch, s.queue, s.spare = s.queue, s.spare, nil
		}
		s.bytes = 0
		s.mu.Unlock()
		if len(s.batch) == 0 {
			return e, false, ended
		}
		if cap(s.batch) <= maxSpare {
			s.spare = s.batch[:0]
		}
	}
	e = s.batch[0]
	s.batch[0] = core.Event{} // its data may be large
	s.batch = s.batch[1:]
	return e, true, nil
}

// dropLiveOnly forgets buffered events without a sequence number.
func (s *Subscription) dropLiveOnly() {
	live := func(e core.Event) bool { return e.Seq == 0 }
	s.batch = slices.DeleteFunc(s.batch, live)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = slices.DeleteFunc(s.queue, live)
	s.bytes = 0
	for i := range s.queue {
		s.bytes += eventCost + len(s.queue[i].Data)
	}
}

// Close ends the subscription and frees its buffer. Safe to call twice.
func (s *Subscription) Close() {
	s.shard.remove(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = cmp.Or[error](s.ended, errDone)
	s.queue, s.bytes = nil, 0
	s.signal()
}
