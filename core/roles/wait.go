package roles

import (
	"context"
	"time"

	"github.com/wardroom/wardroom/core"
)

// wait is how long to wait; 0 is for ever.
type wait time.Duration

// begin starts the time. due is closed when it is over; stop frees it.
func (w wait) begin(clock core.Clock) (due <-chan struct{}, stop func()) {
	if w <= 0 {
		return nil, func() {}
	}
	over := make(chan struct{})
	timer := clock.AfterFunc(time.Duration(w), func() { close(over) })
	return over, func() { timer.Stop() }
}

// pause waits; false if ctx ended first.
func (s *Service) pause(ctx context.Context, d time.Duration) bool {
	due, stop := wait(d).begin(s.opts.Clock)
	defer stop()
	select {
	case <-ctx.Done():
		return false
	case <-due:
		return true
	}
}

// backoff is the pause before a call is made again: doubled each time, up to a bound.
type backoff time.Duration

func (b *backoff) next() time.Duration {
	*b = max(backoff(firstRetry), min(2**b, backoff(maxRetry)))
	return time.Duration(*b)
}
