package webhook

import (
	"context"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/pause"
)

// refill asks for a load of an endpoint whose window has room for what the store has. mu is held.
func (s *Service) refill(ep *endpoint) {
	if ep.loading || !ep.behind || ep.gone || !ep.rec.Enabled || s.stopping || len(ep.window) > s.window()/2 {
		return
	}
	ep.loading, ep.marked = true, false
	s.loads = append(s.loads, ep)
	pause.Wake(s.loadWake) // no more than one wake is kept: a loader that is awake takes all there are
}

// wakeAt loads an endpoint at a time. mu is held.
func (s *Service) wakeAt(ep *endpoint, at time.Time) {
	if ep.gone || s.stopping || ep.timer != nil && !at.Before(ep.nextAt) {
		return
	}
	if ep.timer != nil {
		ep.timer.Stop()
	}
	ep.nextAt = at
	ep.timer = s.clock.AfterFunc(max(0, at.Sub(s.clock.Now())), func() { s.due(ep, at) })
}

func (s *Service) due(ep *endpoint, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ep.timer == nil || !ep.nextAt.Equal(at) {
		return // another took its place
	}
	ep.timer = nil
	s.look(ep)
}

// look lets an endpoint read its queue again. mu is held.
func (s *Service) look(ep *endpoint) {
	if ep.loading {
		ep.marked = true
		return
	}
	ep.behind, ep.read = true, place{}
	s.refill(ep)
}

// runLoader fills windows until ctx ends.
func (s *Service) runLoader(ctx context.Context) {
	for {
		s.mu.Lock()
		var ep *endpoint
		if len(s.loads) > 0 {
			ep = s.loads[0]
			s.loads[0] = nil
			s.loads = s.loads[1:]
		}
		more := len(s.loads) > 0
		s.mu.Unlock()
		if ep == nil {
			select {
			case <-ctx.Done():
				return
			case <-s.loadWake:
			}
			continue
		}
		if more {
			pause.Wake(s.loadWake) // for another loader
		}
		if err := s.load(ctx, ep); err != nil {
			if ctx.Err() != nil {
				return
			}
			s.log.Warn("deliveries cannot be read", "webhook", ep.id, "error", err)
			s.pause(ctx, maxRetry)
		}
	}
}

// load reads the queue of an endpoint into its window.
func (s *Service) load(ctx context.Context, ep *endpoint) error {
	s.mu.Lock()
	from, limit := ep.read, s.window()-len(ep.window)+1
	if from.at.IsZero() {
		limit += len(ep.window)
	}
	ep.read = place{} // unless this load says otherwise, and nothing else does meanwhile
	know := ep.rec.Ordered && !ep.known
	s.mu.Unlock()
	var err error
	if know {
		err = s.knowHeld(ctx, ep)
	}
	var rows []*core.Delivery
	if err == nil {
		rows, err = s.opts.Store.DueDeliveries(ctx, ep.id, from.at, from.id, max(1, limit))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	settled := ep.settled
	for _, d := range rows {
		ep.missed = ep.missed || settled[d.ID]
	}
	ep.loading = false
	ep.marked = ep.unsettle() || ep.marked
	if err != nil {
		ep.behind = true
		s.wakeAt(ep, s.clock.Now().Add(maxRetry))
		return err
	}
	if ep.gone || !ep.rec.Enabled {
		return nil
	}
	now, room := s.clock.Now(), s.window()
	last, end := from, len(rows) < limit
	for _, d := range rows {
		// What was never planned for later is due, even where the clock stands still or went back a little.
		if d.NextAt.After(now) && !d.NextAt.Equal(d.CreatedAt) {
			s.wakeAt(ep, *d.NextAt)
			end = true
			break
		}
		if ep.window[d.ID] == nil && !settled[d.ID] {
			if len(ep.window) >= room {
				end = false
				break
			}
			ep.add(d)
		}
		last = place{*d.NextAt, d.ID}
	}
	// Once the end was seen, what a load that began later in the queue left out is seen by another one from its start.
	ep.behind = !end || ep.marked || !from.at.IsZero()
	if !end && !ep.marked {
		ep.read = last
	}
	s.list(ep)
	s.dispatch()
	s.refill(ep)
	return nil
}

// knowHeld finds the deliveries of an ordered endpoint that wait for another attempt: what is behind them in their
// subject waits as well.
func (s *Service) knowHeld(ctx context.Context, ep *endpoint) error {
	err := s.eachPending(ctx, ep.id, time.Time{}, func(rows []*core.Delivery) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, d := range rows {
			if d.Attempts > 0 && ep.window[d.ID] == nil && !ep.settled[d.ID] {
				ep.hold(d)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	ep.known = true
	s.mu.Unlock()
	return nil
}

// eachPending hands fn the pending deliveries of an endpoint whose next attempt is after a time, in pages.
func (s *Service) eachPending(ctx context.Context, id string, after time.Time, fn func([]*core.Delivery) error) error {
	last := ""
	for {
		rows, err := s.opts.Store.DueDeliveries(ctx, id, after, last, pageEvents)
		if err != nil || len(rows) == 0 {
			return err
		}
		if err := fn(rows); err != nil || len(rows) < pageEvents {
			return err
		}
		after, last = *rows[len(rows)-1].NextAt, rows[len(rows)-1].ID
	}
}
