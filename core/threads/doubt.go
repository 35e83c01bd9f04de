package threads

import (
	"context"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/doubt"
	"github.com/wardroom/wardroom/core/internal/pause"
)

// outcome is doubt.Settled for as long as the service is open, and for no longer than doubt.Patience.
func (s *Service) outcome(err error, stored func(ctx context.Context) (bool, error)) error {
	var retry pause.Backoff
	until := s.clock.Now().Add(doubt.Patience)
	return doubt.Settled(s.ctx, s.opts.Store, err, stored, func() bool {
		return s.clock.Now().Before(until) && pause.For(s.ctx, s.clock, retry.Next())
	})
}

// hasThread reports whether a thread is stored.
func (s *Service) hasThread(id string) func(ctx context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		_, err := s.opts.Store.FindThread(ctx, id)
		if core.ErrorCode(err) == core.CodeNotFound {
			return false, nil
		}
		return err == nil, err
	}
}

// landed reports whether the stored thread is the one of the change.
func (c *change) landed(ctx context.Context) (bool, error) {
	stored, err := c.t.s.opts.Store.FindThread(ctx, c.t.id)
	if err != nil {
		return false, err
	}
	return doubt.Same(stored, c.rec)
}
