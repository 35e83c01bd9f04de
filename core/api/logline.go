package api

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/wardroom/wardroom/core"
)

// followLines streams the lines of a log, each as an event log, until its reader leaves or follow ends. An error of follow
// before its first line is the answer.
func followLines[L any](s *Server, c *call, follow func(ctx context.Context, visit func(L) error) error) error {
	if isHead(c.w.Header()) {
		streamHeaders(c.w.Header())
		c.w.WriteHeader(http.StatusOK)
		return nil
	}
	r, err := s.streams.enter(c.config)
	if err != nil {
		return err
	}
	defer r.leave()
	ctx, cancel := context.WithCancel(c.ctx)
	events := newLineEvents(ctx, follow)
	defer func() {
		cancel()
		<-events.done
	}()
	if err := events.refused(); err != nil {
		return err
	}
	w := newFrameWriter(c)
	defer w.close()
	w.begin(c.id)
	s.pump(c, r, events, w, func(ev core.Event) []byte { return frameOf("log", 0, ev.Data) })
	return nil
}

// lineEvents makes events of the lines of a log, so that they can be waited for together with heartbeats.
type lineEvents struct {
	next chan core.Event
	done chan struct{} // closed when the reading goroutine is gone; err is set then
	err  error

	once  sync.Once
	begun chan struct{} // closed with the first line
}

func newLineEvents[L any](ctx context.Context, follow func(ctx context.Context, visit func(L) error) error) *lineEvents {
	e := &lineEvents{next: make(chan core.Event), done: make(chan struct{}), begun: make(chan struct{})}
	go func() {
		defer close(e.done)
		e.err = follow(ctx, func(line L) error {
			e.once.Do(func() { close(e.begun) })
			select {
			case e.next <- core.Event{Data: appendValue(nil, line)}:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	return e
}

// refused returns the error of a log that cannot be followed, as long as the answer can still be an error.
func (e *lineEvents) refused() error {
	timer := time.NewTimer(resumeWait)
	defer timer.Stop()
	select {
	case <-e.begun:
	case <-timer.C:
	case <-e.done:
		return e.err
	}
	return nil
}

// Next implements core.EventStream.
func (e *lineEvents) Next(ctx context.Context) (core.Event, error) {
	select {
	case ev := <-e.next:
		return ev, nil
	case <-e.done:
		return core.Event{}, endOf(e.err)
	case <-ctx.Done():
		return core.Event{}, ctx.Err()
	}
}

// Close implements core.EventStream; the handler ends the reading.
func (e *lineEvents) Close() {}
