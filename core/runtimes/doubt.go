package runtimes

import (
	"context"
	"slices"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/doubt"
	"github.com/wardroom/wardroom/core/internal/pause"
)

// outcome is doubt.Outcome for as long as the service is open.
func (s *Service) outcome(err error, stored func(ctx context.Context) (bool, error)) error {
	return doubt.Outcome(s.ctx, s.opts.Clock, s.opts.Store, err, stored, pause.For)
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

// doubted are events of a runtime whose commit failed, and which may be stored all the same.
type doubted struct {
	position core.RuntimePosition // behind them
	agents   map[string]*core.ManagedAgentRecord
	then     func() // follows from them once they are stored
}

// settle takes over events that are in doubt, if there are any and they are stored: else they would be stored again. It fails while
// that cannot be known. The follower of the runtime calls it.
func (s *Service) settle(ctx context.Context, src *source) error {
	d := src.doubted
	if d == nil {
		return nil
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := core.TakesWrites(ctx, s.opts.Store); err != nil {
		return err
	}
	stored, err := s.hasPosition(d.position)(ctx)
	if err != nil {
		return err
	}
	if stored {
		all, err := s.opts.Store.AllManagedAgents(ctx)
		if err != nil {
			return err
		}
		for _, r := range all { // they may have changed since
			if d.agents[r.ID] != nil {
				s.put(r)
			}
		}
		d.then()
	}
	src.doubted = nil
	return nil
}
