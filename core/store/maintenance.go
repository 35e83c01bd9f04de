package store

import (
	"context"
	"errors"
	"time"

	"github.com/dgraph-io/badger/v4"
)

// maintenanceEvery is the time between two runs of maintenance.
const maintenanceEvery = time.Hour

// RunMaintenance retires what the policy no longer keeps and collects the value log, once at the start and
// then hourly, until ctx ends, whose error it returns. Failures are logged; the next run tries again. The
// policy is asked for anew before each run, so that a reload takes effect.
func (s *Store) RunMaintenance(ctx context.Context, policy func() Policy) error {
	tick := make(chan struct{}, 1)
	for {
		s.maintain(ctx, policy())
		timer := s.opts.Clock.AfterFunc(maintenanceEvery, func() {
			select {
			case tick <- struct{}{}:
			default:
			}
		})
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-s.closing.Done():
			timer.Stop()
			return errClosed
		case <-tick:
		}
	}
}

func (s *Store) maintain(ctx context.Context, policy Policy) {
	done, err := s.Retain(ctx, policy)
	if done != (Retired{}) {
		s.log.Info("retention", "executions", done.Executions, "events", done.Events, "batches", done.Batches,
			"agents", done.Agents, "idempotencyKeys", done.Idempotency, "definitions", done.Definitions)
	}
	if err != nil && ctx.Err() == nil {
		s.log.Error("retention failed", "error", err)
	}
	if err := s.collectValues(ctx); err != nil && ctx.Err() == nil {
		s.log.Error("value log collection failed", "error", err)
	}
}

// collectValues frees value log files of which at least half is garbage.
func (s *Store) collectValues(ctx context.Context) error {
	s.retainMu.Lock()
	defer s.retainMu.Unlock()
	for ctx.Err() == nil && s.closing.Err() == nil {
		err := s.collectOne()
		if errors.Is(err, badger.ErrNoRewrite) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) collectOne() error {
	s.dbMu.RLock()
	defer s.dbMu.RUnlock()
	if s.db == nil {
		return badger.ErrNoRewrite
	}
	return s.db.RunValueLogGC(0.5)
}
