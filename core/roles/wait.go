package roles

import (
	"context"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/pause"
)

// wait is how long to wait; 0 is for ever.
type wait time.Duration

// begin starts the time. due is closed when it is over; stop frees it.
func (w wait) begin(clock core.Clock) (due <-chan struct{}, stop func()) {
	if w <= 0 {
		return nil, func() {}
	}
	return pause.After(clock, time.Duration(w))
}

// pause waits; false if ctx ended first.
func (s *Service) pause(ctx context.Context, d time.Duration) bool {
	return pause.For(ctx, s.opts.Clock, d)
}
