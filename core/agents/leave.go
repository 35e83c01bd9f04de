package agents

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/wardroom/wardroom/core"
)

// DisconnectAgent implements core.AgentService. The agent is disconnected and its tasks are reassigned even
// when the store refuses; the error says that this is not durable yet, and the sweep tries again.
func (s *Service) DisconnectAgent(ctx context.Context, id, reason string) (*core.Agent, error) {
	a := s.find(id)
	if a == nil {
		return nil, core.NotFound("agent", id)
	}
	reason = cleanReason(reason, "disconnected by an operator")
	a.mu.Lock()
	session, leaves := a.session, a.presence != gone
	var tasks []string
	if leaves {
		tasks = a.leave(s.index, s.ids, s.clock.Now(), reason, core.PrincipalFrom(ctx).ID, true)
	}
	a.mu.Unlock()
	if leaves {
		s.sink.AgentLost(a.id, tasks)
		s.log.Info("agent disconnected", "agent", a.id, "reason", reason, "graceful", true, "tasks", len(tasks))
	}
	if session != nil {
		session.shut(closeDisconnected, reason, false)
	}
	if err := s.save(ctx, []*agent{a}, true); err != nil {
		return nil, err
	}
	return s.FindAgent(ctx, id)
}

// leftByItself runs an agent's disconnect frame.
func (s *Service) leftByItself(a *agent, from *session, reason string, now time.Time) {
	a.mu.Lock()
	if a.session != from {
		a.mu.Unlock()
		return
	}
	tasks := a.leave(s.index, s.ids, now, reason, a.by.id, true)
	a.mu.Unlock()
	s.sink.AgentLost(a.id, tasks)
	s.log.Info("agent disconnected", "agent", a.id, "reason", reason, "graceful", true, "tasks", len(tasks))
	if err := s.save(s.ctx, []*agent{a}, true); err != nil {
		s.log.Warn("cannot store that an agent disconnected; it is tried again", "agent", a.id, "error", err)
	}
	from.shut(closeNormal, reason, false)
}

// EndSessions disconnects the agents whose connections were made by somebody who lost the right to them. Their tasks go to
// others.
func (s *Service) EndSessions(ctx context.Context, lost func(p core.Principal) bool) {
	s.mu.Lock()
	open := slices.Collect(maps.Keys(s.sessions))
	s.mu.Unlock()
	const reason = "the credential is not valid any more"
	for _, session := range open {
		if !lost(session.principal) {
			continue
		}
		a := session.agent.Load()
		if a != nil {
			a.mu.Lock()
			if a.session != session { // another connection resumed it
				a = nil
			}
			a.mu.Unlock()
		}
		if a == nil {
			session.shut(closeDisconnected, reason, false)
			continue
		}
		if _, err := s.DisconnectAgent(ctx, a.id, reason); err != nil && core.ErrorCode(err) != core.CodeNotFound {
			s.log.Warn("cannot store that an agent was disconnected; it is tried again", "agent", a.id, "error", err)
		}
	}
}
