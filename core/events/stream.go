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
	Events(ctx context.Context, subject string, after uint64, limit int) ([]core.Event, error)
}

// Streams opens streams that join the stored events of a subject with the live ones. All methods are safe
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
// event for which isLast is true, Next returns io.EOF; also when that event lies at or before after. A
// reader that falls behind is led back to the store without noticing. When the bus closes, Next returns
// an INTERNAL_ERROR with Unavailable and the reason shutting_down.
//
// Next is for one goroutine at a time. The error is that of ctx; ctx is not used afterwards.
func (s *Streams) Stream(ctx context.Context, subject string, after uint64, isLast func(core.Event) bool) (core.EventStream, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return &stream{
		bus: s.bus, reader: s.reader, subject: subject, after: after, isLast: isLast,
		sub: s.bus.Subscribe(subject, SubscribeOptions{}),
	}, nil
}

// stream implements core.EventStream. Its fields belong to the caller of Next, but for sub and closed.
type stream struct {
	bus     *Bus
	reader  Reader
	subject string
	isLast  func(core.Event) bool

	after  uint64       // sequence of the last event handed out, or what the caller began with
	page   []core.Event // stored events, not yet handed out
	handed bool         // an event was handed out; until then after is only what the caller claims
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
			e := s.page[0]
			s.page = s.page[1:]
			return s.hand(e), nil
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
		case s.isLast(e):
			s.ended = true // the caller began behind the end that was to come
		}
	}
}

// hand notes that e goes to the caller.
func (s *stream) hand(e core.Event) core.Event {
	s.after, s.handed = e.Seq, true
	s.ended = s.isLast(e)
	return e
}

// readPage reads on in the store. The subscription is older than the read, so once a page is not full the
// subscription has whatever comes later.
func (s *stream) readPage(ctx context.Context) error {
	sub := s.subscription()
	// What was buffered until now and is not stored speaks of a time that the page will have passed.
	sub.dropLiveOnly()
	after := s.after
	if !s.handed && after > 0 {
		after-- // takes in the event that the caller says it saw: it may have been the last one
	}
	page, err := s.reader.Events(ctx, s.subject, after, pageSize)
	if err != nil {
		return err
	}
	live := len(page) < pageSize
	if len(page) > 0 && page[0].Seq == s.after {
		s.ended = s.isLast(page[0])
		page = page[1:]
	}
	if len(page) == 0 && !s.handed && s.after > 0 && !s.ended {
		if s.ended, err = s.wasLast(ctx); err != nil {
			return err
		}
	}
	s.page, s.live = page, live
	return nil
}

// wasLast looks for the last event of the subject at or before where the caller began: a client that saw
// everything and comes back must get an end, not wait for ever.
func (s *stream) wasLast(ctx context.Context) (bool, error) {
	var at uint64
	for {
		page, err := s.reader.Events(ctx, s.subject, at, pageSize)
		if err != nil {
			return false, err
		}
		for _, e := range page {
			if e.Seq > s.after { // committed since the page was found empty
				return false, nil
			}
			if s.isLast(e) {
				return true, nil
			}
			at = e.Seq
		}
		if len(page) < pageSize {
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
	s.sub = s.bus.Subscribe(s.subject, SubscribeOptions{})
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
