package runtimes

import (
	"context"
	"slices"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/doubt"
)

// outcome is doubt.Outcome for as long as the service is open.
func (s *Service) outcome(err error, stored func(ctx context.Context) (bool, error)) error {
	return doubt.Outcome(s.ctx, s.opts.Clock, s.opts.Store, err, stored)
}

// has reports whether a record is stored as it is.
func (s *Service) has(r *core.ManagedAgentRecord) func(ctx context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		all, err := s.opts.Store.AllManagedAgents(ctx)
		at := slices.IndexFunc(all, func(stored *core.ManagedAgentRecord) bool { return stored.ID == r.ID })
		if err != nil || at < 0 {
			return false, err
		}
		return doubt.Same(all[at], r)
	}
}

// hasPosition reports whether the events of a runtime are stored up to a position.
func (s *Service) hasPosition(p core.RuntimePosition) func(ctx context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		all, err := s.opts.Store.RuntimePositions(ctx)
		return err == nil && all[p.Runtime] == p, err
	}
}
