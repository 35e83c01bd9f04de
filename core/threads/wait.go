package threads

import (
	"context"
	"time"
)

// after returns a channel that is closed once d has passed, and what frees it.
func (s *Service) after(d time.Duration) (due <-chan struct{}, stop func()) {
	over := make(chan struct{})
	timer := s.clock.AfterFunc(max(d, 0), func() { close(over) })
	return over, func() { timer.Stop() }
}

// pause waits; false if ctx ended first.
func (s *Service) pause(ctx context.Context, d time.Duration) bool {
	due, stop := s.after(d)
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
