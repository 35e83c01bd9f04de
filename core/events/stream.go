package events

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/wardroom/wardroom/core"
)

// pageSize is how many stored events one read of the store fetches.
const pageSize = 256

// Reader reads stored events; core.Store is one.
type Reader interface {
	Events(ctx context.Context, name string, after uint64, limit int) (page []core.Event, more bool, err error)
	LastSeq() uint64
}

// Streams opens streams that join the stored events of a subject or a group with the live ones. All methods are safe
// for concurrent use.
type Streams struct {
	bus    *Bus
	reader Reader
}

// NewStreams joins a bus with the store that feeds it.
func NewStreams(bus *Bus, reader Reader) *Streams { return &Streams{bus: bus, reader: reader} }

// Publish hands live-only events, which have no sequence number, to whoever streams their subjects.
func (s *Streams) Publish(events []core.Event) { s.bus.Publish(events) }

// Stream returns the events of subject with a sequence above after: the stored ones, then live ones as
// they are committed, each once and in order. Live-only events come once the stream caught up. After an
// event for which isLast is true, Next returns io.EOF; also when that event lies at or before after. An after that
// was never given is of another history, such as before a restore of an older state: all events come then, rather than
// none up to there. A reader that falls behind is led back to the store without noticing. When the bus closes, Next
// returns an INTERNAL_ERROR with Unavailable and the reason shutting_down.
//
// Next is for one goroutine at a time. The error is that of ctx; ctx is not used afterwards.
func (s *Streams) Stream(ctx context.Context, subject string, after uint64, isLast func(core.Event) bool) (core.EventStream, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if after > s.reader.LastSeq() {
		after = 0
	}
	return s.open(subject, after, isLast), nil
}

// Follow is Stream for a subject or a group whose events never end.
func (s *Streams) Follow(ctx context.Context, name string, after uint64) (core.EventStream, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.open(name, after, nil), nil
}

// Live is Follow from the present on: it yields what is committed after the call, and live-only events.
func (s *Streams) Live(ctx context.Context, name string) (core.EventStream, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	stream := s.open(name, 0, nil)
	// The subscription is older than the position, so it has whatever is committed behind it, and the store need not
	// be read.
	stream.after, stream.live = s.reader.LastSeq(), true
	return stream, nil
}

func (s *Streams) open(name string, after uint64, isLast func(core.Event) bool) *stream {
	return &stream{
		bus: s.bus, reader: s.reader, name: name, after: after, isLast: isLast,
		sub: s.bus.Subscribe(name, SubscribeOptions{}),
	}
}

// stream implements core.EventStream. Its fields belong to the caller of Next and Poll, but for sub and closed.
type stream struct {
	bus    *Bus
	reader Reader
	name   string                // subject or group
	isLast func(core.Event) bool // nil: there is no last event

	after  uint64       // sequence of the last event handed out, or what the caller began with
	page   []core.Event // stored events, not yet handed out
	handed bool         // an event was handed out, or after was found; until then after is only what the caller claims
	live   bool         // nothing stored is left that the subscription does not have
	ended  bool         // the last event was handed out
	mu     sync.Mutex   // guards sub and closed
	sub    *Subscription
	closed bool
}

// Next implements core.EventStream.
func (s *stream) Next(ctx context.Context) (core.Event, error) {
	for {
		if s.ended {
			return core.Event{}, io.EOF
		}
		if len(s.page) > 0 {
			return s.turn(), nil
		}
		if !s.live {
			if err := s.readPage(ctx); err != nil {
				return core.Event{}, err
			}
			continue
		}
		e, err := s.subscription().Next(ctx)
		switch {
		case errors.Is(err, errSlow):
			if err := s.resubscribe(); err != nil {
				return core.Event{}, err
			}
		case err != nil:
			return core.Event{}, err
		case e.Seq == 0:
			return e, nil
		case e.Seq > s.after:
			return s.hand(e), nil
		case s.ends(e):
			s.ended = true // the caller began behind the end that was to come
		}
	}
}

// Poll returns the next event if it is in memory already. Whoever writes several events at once asks it after Next;
// false says nothing about the stream's end, which Next tells.
func (s *stream) Poll() (core.Event, bool) {
	for !s.ended {
		if len(s.page) > 0 {
			return s.turn(), true
		}
		if !s.live {
			break
		}
		e, ok, err := s.subscription().poll()
		switch {
		case !ok || err != nil: // Next meets the same error again
			return core.Event{}, false
		case e.Seq == 0:
			return e, true
		case e.Seq > s.after:
			return s.hand(e), true
		case s.ends(e):
			s.ended = true
		}
	}
	return core.Event{}, false
}

// turn hands out the first event of the page.
func (s *stream) turn() core.Event {
	e := s.page[0]
	s.page = s.page[1:]
	return s.hand(e)
}

// hand notes that e goes to the caller.
func (s *stream) hand(e core.Event) core.Event {
	s.after, s.handed = e.Seq, true
	s.ended = s.ends(e)
	return e
}

// ends reports whether e is the last event.
func (s *stream) ends(e core.Event) bool { return s.isLast != nil && s.isLast(e) }

// readPage reads on in the store. The subscription is older than the read, so once a page leaves nothing out the
// subscription has whatever comes later.
func (s *stream) readPage(ctx context.Context) error {
	sub := s.subscription()
	// What was buffered until now and is not stored speaks of a time that the page will have passed.
	sub.dropLiveOnly()
	after := s.after
	if s.isLast != nil && !s.handed && after > 0 {
		after-- // takes in the event that the caller says it saw: it may have been the last one
	}
	page, more, err := s.reader.Events(ctx, s.name, after, pageSize)
	if err != nil {
		return err
	}
	seen := len(page) > 0 && page[0].Seq == s.after
	if seen {
		s.ended = s.ends(page[0])
		page = page[1:]
	}
	if s.isLast != nil && len(page) == 0 && !s.handed && s.after > 0 && !s.ended {
		if s.ended, err = s.wasLast(ctx); err != nil {
			return err
		}
	}
	// The event that the caller saw may be all that a page has: the next one begins behind it.
	s.handed = s.handed || seen
	s.page, s.live = page, !more
	return nil
}

// wasLast looks for the last event of the subject at or before where the caller began: a client that saw
// everything and comes back must get an end, not wait for ever.
func (s *stream) wasLast(ctx context.Context) (bool, error) {
	var at uint64
	for {
		page, more, err := s.reader.Events(ctx, s.name, at, pageSize)
		if err != nil {
			return false, err
		}
		for _, e := range page {
			if e.Seq > s.after { // committed since the page was found empty
				return false, nil
			}
			if s.ends(e) {
				return true, nil
			}
			at = e.Seq
		}
		if !more {
			return false, nil
		}
	}
}

// resubscribe replaces a subscription that was dropped, and goes back to the store.
func (s *stream) resubscribe() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errDone
	}
	s.sub.Close()
	s.sub = s.bus.Subscribe(s.name, SubscribeOptions{})
	s.live = false
	return nil
}

func (s *stream) subscription() *Subscription {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sub
}

// Close implements core.EventStream. It may be called from any goroutine; a Next that waits returns.
func (s *stream) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.sub.Close()
}
