package webhook

import (
	"time"

	"github.com/wardroom/wardroom/core"
)

// ring is the endpoints that may begin an attempt, each once, in the order in which it is their turn.
type ring struct{ list []*endpoint }

func (r *ring) push(ep *endpoint) { r.list = append(r.list, ep) }

func (r *ring) pop() *endpoint {
	if len(r.list) == 0 {
		return nil
	}
	ep := r.list[0]
	r.list[0] = nil
	r.list = r.list[1:]
	return ep
}

// runnable reports whether an endpoint may begin an attempt, as far as it is up to the endpoint. mu is held.
func (s *Service) runnable(ep *endpoint) bool {
	return !ep.gone && ep.rec.Enabled && len(ep.ready) > 0 && ep.active < min(ep.allowed, s.config.Load().MaxPerEndpoint)
}

// list lets an endpoint have its turn, if it can use one. mu is held.
func (s *Service) list(ep *endpoint) {
	if !ep.listed && s.runnable(ep) {
		ep.listed = true
		s.ringOf(ep).push(ep)
	}
}

func (s *Service) ringOf(ep *endpoint) *ring {
	if ep.slow {
		return &s.slow
	}
	return &s.fast
}

// dispatch begins as many attempts as there may be, one endpoint after the other. Slow endpoints have at most half of
// all attempts, so that the others find room however many of them hang. mu is held.
func (s *Service) dispatch() {
	limit := s.config.Load().MaxConcurrent
	for !s.stopping && s.active < limit {
		turn := &s.fast
		if s.slowActive < max(limit/2, 1) && (s.slowTurn || len(s.fast.list) == 0) && len(s.slow.list) > 0 {
			turn = &s.slow
		}
		s.slowTurn = turn == &s.fast
		ep := turn.pop()
		if ep == nil {
			return
		}
		ep.listed = false
		if !s.runnable(ep) {
			continue
		}
		if s.ringOf(ep) == turn {
			if j := ep.take(s.postpone); j != nil {
				s.begin(j)
			} else {
				s.refill(ep)
				continue // until something of it ends
			}
		}
		s.list(ep)
		s.refill(ep)
	}
}

// begin starts an attempt. mu is held.
func (s *Service) begin(j *job) {
	ep := j.ep
	s.active++
	ep.active++
	if ep.slow {
		s.slowActive++
	}
	if j.d.Subject != "" {
		ep.busy[j.d.Subject] = true
	}
	j.started, j.slowSeen = s.clock.Now(), false
	s.running[j] = struct{}{}
	s.wg.Go(func() {
		s.attempt(j)
	})
}

// finished gives back what begin took. mu is held.
func (s *Service) finished(j *job) {
	ep := j.ep
	s.active--
	ep.active--
	if ep.slow {
		s.slowActive--
	}
	delete(ep.busy, j.d.Subject)
	delete(s.running, j)
	j.cancel = nil
}

// judge learns from an attempt how many an endpoint can take at a time. mu is held.
func (s *Service) judge(ep *endpoint, r *result) {
	switch {
	case r.ok:
		if r.took < slowAfter {
			s.setSlow(ep, false)
		}
		ep.allowed = min(ep.allowed+1, s.config.Load().MaxPerEndpoint)
	case r.hung:
		s.setSlow(ep, true)
		ep.allowed = 1
	}
}

func (s *Service) setSlow(ep *endpoint, slow bool) {
	if ep.slow == slow {
		return
	}
	ep.slow = slow
	if slow {
		s.slowActive += ep.active
	} else {
		s.slowActive -= ep.active
	}
}

// findSlow marks the endpoints that let attempts hang, before those come to their end. mu is held.
func (s *Service) findSlow(now time.Time) {
	for j := range s.running {
		if !j.slowSeen && now.Sub(j.started) >= slowAfter && j.claimed == nil {
			j.slowSeen = true
			s.setSlow(j.ep, true)
		}
	}
}

// postpone lets a delivery wait behind another of its subject. mu is held.
func (s *Service) postpone(j *job, until time.Time) {
	d := *j.d
	d.NextAt = &until
	j.d = &d
	s.write(&outcome{job: j, kind: postponed})
}

// window is how many deliveries of each endpoint are in memory at most. mu is held.
func (s *Service) window() int {
	return min(maxWindow, max(minWindow, allWindows/max(1, len(s.endpoints))))
}

// offer puts deliveries that were just stored into the windows that have room, and notes for the others that they are
// in the store. mu is held.
func (s *Service) offer(ep *endpoint, d *core.Delivery) {
	switch {
	case ep.gone || !ep.rec.Enabled || s.stopping:
	case ep.loading:
		ep.marked = true
	case ep.behind || len(ep.window) >= s.window():
		ep.behind = true
		s.refill(ep)
	case ep.window[d.ID] == nil && !ep.settled[d.ID]: // a load may have been faster
		ep.add(d)
		s.list(ep)
	}
}
