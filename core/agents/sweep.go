package agents

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// sweepInterval is how often deadlines are looked at; they are kept to within it.
const sweepInterval = time.Second

// retryInterval is how long a refused write of events waits before it is tried again.
const retryInterval = 5 * time.Second

// sweepState belongs to the sweep.
type sweepState struct {
	saved    time.Time // when changed records were stored last
	refused  time.Time // when the store refused last
	urgent   []*agent  // have events to be stored
	departed []departure
}

// holdsOff reports whether the store refused lately, so that it is not asked every second.
func (s *sweepState) holdsOff(now time.Time) bool {
	return !s.refused.IsZero() && now.Sub(s.refused) < retryInterval
}

// departure is an agent whose grace ended in this sweep.
type departure struct {
	agentID string
	tasks   []string
}

// sweep looks after all sessions and agents once, and sets the timer for the next time. It runs on a
// goroutine of the clock; Close waits for it.
func (s *Service) sweep() {
	s.sweeping.Lock()
	defer s.sweeping.Unlock()
	now := s.clock.Now()
	s.mu.RLock()
	closing := s.closing
	sessions := slices.Collect(maps.Keys(s.sessions))
	s.mu.RUnlock()
	if closing {
		return
	}
	c := s.config.Load()
	for _, session := range sessions {
		session.check(c, now)
	}
	agents := s.all()
	for _, a := range agents {
		s.check(a, c, now)
	}
	for _, d := range s.swept.departed {
		s.sink.AgentLost(d.agentID, d.tasks)
	}
	clear(s.swept.departed)
	s.swept.departed = s.swept.departed[:0]
	s.saveChanged(agents, c, now)
	s.forget(agents, c, now)

	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closing {
		s.timer = s.clock.AfterFunc(sweepInterval, s.sweep)
	}
}

// check closes a session that does not register, does not read, or whose reports do not settle.
func (s *session) check(c *Config, now time.Time) {
	if s.agent.Load() == nil && now.Sub(s.opened) > c.RegisterTimeout {
		s.shut(closeTimeout, "no register frame in time", false)
		return
	}
	if since := s.out.since.Load(); since != 0 && s.svc.watch.At(now)-since > c.WriteTimeout.Nanoseconds() {
		s.shut(closeTryAgain, "the agent reads too slowly", true)
		return
	}
	if !s.unsettled.rotate(s.svc.watch.At(now), c.SettleTimeout.Nanoseconds()) {
		s.shut(closeTryAgain, "reports could not be stored; come back and send them again", false)
	}
}

// check moves one agent along: unhealthy, connection dropped, grace over.
func (s *Service) check(a *agent, c *Config, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch a.presence {
	case live:
		s.checkHeartbeat(a, c, now)
	case lost:
		if since, begun := s.graceSince(a); !begun || now.Sub(since) < c.ResumeGrace {
			return
		}
		reason := a.lostWhy
		tasks := a.leave(s.index, s.ids, now, reason, core.System.ID, false)
		s.swept.departed = append(s.swept.departed, departure{agentID: a.id, tasks: tasks})
		s.log.Info("agent disconnected", "agent", a.id, "reason", reason, "graceful", false, "tasks", len(tasks))
	}
	if len(a.events) > 0 || a.unsure != nil {
		s.swept.urgent = append(s.swept.urgent, a)
	}
}

// graceSince returns when the grace of a lost agent began; false while it did not, as the agent cannot come back yet. a.mu is held.
func (s *Service) graceSince(a *agent) (since time.Time, begun bool) {
	if !a.restored {
		return a.lostAt, true
	}
	if reachable := s.reachable.Load(); reachable != nil {
		return *reachable, true
	}
	return time.Time{}, false
}

// checkHeartbeat looks at how long a live agent was silent. a.mu is held.
func (s *Service) checkHeartbeat(a *agent, c *Config, now time.Time) {
	if a.session.unsettled.waiting.Load() {
		// The server does not read from this agent, so its silence means nothing.
		a.hearFrom(now)
		return
	}
	silence := time.Duration(a.watch.At(now) - a.heard.Load())
	switch {
	case silence > time.Duration(c.DisconnectAfter)*c.HeartbeatInterval:
		session := a.session
		why := fmt.Sprintf("missed %d heartbeats", c.DisconnectAfter)
		a.lose(s.index, now, why)
		session.shut(closeTimeout, why, true)
	case silence > time.Duration(c.UnhealthyAfter)*c.HeartbeatInterval:
		if a.ailing.Swap(true) {
			return
		}
		a.refresh(s.index)
		a.changed = true
		a.events = append(a.events, event(s.ids, core.EventAgentUnhealthy, a.id, core.System.ID, now, map[string]any{
			"agentId":       a.id,
			"reason":        fmt.Sprintf("missed %d heartbeats", c.UnhealthyAfter),
			"lastHeartbeat": wire.Timestamp(time.Unix(0, a.seen.Load())),
		}))
	case a.ailing.Load(): // a frame came in while the sweep decided
		a.ailing.Store(false)
		if a.refresh(s.index) {
			s.capacity.changed()
		}
	}
}

// saveChanged stores events at once and changed statistics now and then.
func (s *Service) saveChanged(agents []*agent, c *Config, now time.Time) {
	list := s.swept.urgent
	if now.Sub(s.swept.saved) >= c.SaveInterval {
		list = agents
		s.swept.saved = now
	}
	if len(list) > 0 && !s.swept.holdsOff(now) {
		if err := s.save(s.ctx, list, false); err != nil {
			if s.swept.refused.IsZero() {
				s.log.Warn("cannot store agents; it is tried again", "error", err)
			}
			s.swept.refused = now
		} else {
			s.swept.refused = time.Time{}
		}
	}
	clear(s.swept.urgent)
	s.swept.urgent = s.swept.urgent[:0]
}

// forget removes agents that are gone for long, and the oldest when there are too many.
func (s *Service) forget(agents []*agent, c *Config, now time.Time) {
	if s.swept.holdsOff(now) {
		return
	}
	var old []*agent
	disconnected := 0
	for _, a := range slices.Backward(agents) {
		a.mu.Lock()
		left, stored := a.leftAt, a.presence == gone && !a.changed
		a.mu.Unlock()
		if !stored {
			continue
		}
		if disconnected++; disconnected > c.MaxDisconnected || s.older(left, c.KeepDisconnected) {
			old = append(old, a)
		}
	}
	for len(old) > 0 {
		chunk := old[:min(saveChunk, len(old))]
		old = old[len(chunk):]
		err := s.store.Update(s.ctx, func(tx core.Tx) error {
			for _, a := range chunk {
				if err := tx.DeleteAgent(a.id); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil { // a later sweep tries again
			s.swept.refused = now
			return
		}
		s.remove(chunk)
	}
}

// remove takes entries out of the registry.
func (s *Service) remove(list []*agent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range list {
		delete(s.agents, a.id)
	}
	s.ordered = slices.DeleteFunc(s.ordered, func(a *agent) bool { return s.agents[a.id] == nil })
}
