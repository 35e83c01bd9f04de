package webhook

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/wardroom/wardroom/core"
)

// runKeeper does every few seconds what nothing else brings about, until ctx ends.
func (s *Service) runKeeper(ctx context.Context) {
	s.rejudge(ctx)
	for ctx.Err() == nil {
		s.pause(ctx, slowAfter)
		now := s.clock.Now()
		s.mu.Lock()
		s.findSlow(now)
		s.dispatch()
		now = now.Round(0) // plans are stored, so they go by the wall clock; here it is seen when that was set
		last := s.lastTick
		back := now.Before(last.Add(-clockSlack))
		due := back || now.Sub(last) >= tickEvery
		if due {
			s.lastTick = now
			for _, ep := range s.endpoints {
				if ep.timer != nil && !ep.nextAt.After(now) { // the clock went ahead of the timer
					ep.timer.Stop()
					ep.timer = nil
					s.look(ep)
				}
				s.refill(ep)
			}
		}
		s.mu.Unlock()
		if back {
			s.rejudge(ctx)
		}
		if err := s.clearNow(ctx); err != nil && ctx.Err() == nil {
			s.log.Debug("it is not known yet what was stored of webhooks", "error", err)
		}
		if due && ctx.Err() == nil {
			s.Notify()
			s.endSecrets(ctx, now)
			s.reading.Lock()
			if err := s.keepCursor(ctx); err != nil && ctx.Err() == nil {
				s.log.Debug("how far the log was read cannot be stored", "error", err)
			}
			s.reading.Unlock()
		}
	}
}

// rejudge brings deliveries nearer that were planned by a clock which was ahead of this one: none waits longer than was
// planned when its last attempt failed.
func (s *Service) rejudge(ctx context.Context) {
	for _, id := range s.ids() {
		err := s.replan(ctx, id, func(d *core.Delivery, now time.Time) time.Time {
			from := d.CreatedAt
			if d.Timestamp != nil {
				from = *d.Timestamp
			}
			if !from.After(now.Add(clockSlack)) {
				return *d.NextAt
			}
			return now.Add(max(0, d.NextAt.Sub(from)))
		})
		if err != nil && ctx.Err() == nil {
			s.log.Warn("deliveries that wait cannot be looked at", "webhook", id, "error", err)
		}
	}
}

// replan gives the deliveries of an endpoint that are due later another time. plan must be pure.
func (s *Service) replan(ctx context.Context, id string, plan func(d *core.Delivery, now time.Time) time.Time) error {
	now := s.clock.Now()
	changed := false
	err := s.eachPending(ctx, id, now, func(rows []*core.Delivery) error {
		var moved []*core.Delivery
		for _, d := range rows {
			if next := plan(d, now); next.Before(*d.NextAt) {
				moved = append(moved, d)
			}
		}
		if len(moved) == 0 {
			return nil
		}
		changed = true
		return s.opts.Store.Update(ctx, func(tx core.Tx) error {
			for _, read := range moved {
				d, err := tx.FindDelivery(read.ID)
				if core.ErrorCode(err) == core.CodeNotFound {
					continue
				}
				if err != nil {
					return err
				}
				if d.Status != core.DeliveryPending || d.Attempts != read.Attempts || !d.NextAt.Equal(*read.NextAt) {
					continue
				}
				next := plan(d, now)
				d.NextAt = &next
				if err := tx.PutDelivery(d); err != nil && core.ErrorCode(err) != core.CodeNotFound {
					return err
				}
			}
			return nil
		})
	})
	if changed {
		s.tell(id)
		s.mu.Lock()
		defer s.mu.Unlock()
		if ep := s.endpoints[id]; ep != nil {
			if ep.timer != nil {
				ep.timer.Stop()
				ep.timer = nil
			}
			s.look(ep)
		}
	}
	return err
}

// endSecrets forgets former secrets whose time is over.
func (s *Service) endSecrets(ctx context.Context, now time.Time) {
	for _, id := range s.ids() {
		s.mu.Lock()
		ep := s.endpoints[id]
		over := ep != nil && ep.broken == nil && ep.rec.RotatesAt != nil && !now.Before(*ep.rec.RotatesAt)
		s.mu.Unlock()
		if !over {
			continue
		}
		err := s.change(ctx, id, func(rec *core.WebhookRecord, secrets []secret) error {
			if len(secrets) == 0 || rec.RotatesAt == nil || now.Before(*rec.RotatesAt) {
				return nil
			}
			var err error
			rec.RotatesAt = nil
			rec.Sealed, err = s.sealSecrets(id, secrets[:1])
			return err
		})
		if err != nil && ctx.Err() == nil && core.ErrorCode(err) != core.CodeNotFound {
			s.log.Warn("a former secret cannot be forgotten yet", "webhook", id, "error", err)
		}
	}
}

func (s *Service) ids() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.endpoints))
}
