package threads

import (
	"context"
	"time"

	"github.com/wardroom/wardroom/core/internal/pause"
)

// after returns a channel that is closed once d has passed, and what frees it.
func (s *Service) after(d time.Duration) (due <-chan struct{}, stop func()) {
	return pause.After(s.clock, d)
}

// pause waits; false if ctx ended first.
func (s *Service) pause(ctx context.Context, d time.Duration) bool { return pause.For(ctx, s.clock, d) }
