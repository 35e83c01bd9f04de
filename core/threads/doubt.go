package threads

import (
	"context"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/doubt"
	"github.com/wardroom/wardroom/core/internal/pause"
)

// outcome is doubt.Outcome for as long as the service is open.
func (s *Service) outcome(err error, stored func(ctx context.Context) (bool, error)) error {
	return doubt.Outcome(s.ctx, s.clock, s.opts.Store, err, stored, pause.For)
}

// update is doubt.Update for as long as the service is open.
func (s *Service) update(ctx context.Context, fn func(tx core.Tx) error) error {
	return doubt.Update(ctx, s.ctx, s.clock, s.opts.Store, fn, pause.For)
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
