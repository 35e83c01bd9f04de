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
// policy is asked for anew before each run, so that a reload takes effect. What a deleted endpoint leaves
// behind goes at once.
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
		if err := s.awaitTick(ctx, tick); err != nil {
			timer.Stop()
			return err
		}
	}
}

// awaitTick returns nil at the tick, and sees to deleted endpoints until then.
func (s *Store) awaitTick(ctx context.Context, tick <-chan struct{}) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.closing.Done():
			return errClosed
		case <-s.orphans:
			n, err := s.PurgeDeliveries(ctx)
			if err != nil && ctx.Err() == nil {
				s.log.Error("deliveries of deleted webhooks are left until the next maintenance", "removed", n, "error", err)
			}
		case <-tick:
			return nil
		}
	}
}

func (s *Store) maintain(ctx context.Context, policy Policy) {
	done, err := s.Retain(ctx, policy)
	if done != (Retired{}) {
		s.log.Info("retention", "executions", done.Executions, "events", done.Events, "batches", done.Batches,
			"agents", done.Agents, "idempotencyKeys", done.Idempotency, "definitions", done.Definitions,
			"deliveries", done.Deliveries)
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
	if s.db == nil || s.db.Opts().ReadOnly {
		return badger.ErrNoRewrite
	}
	return s.db.RunValueLogGC(0.5)
}
