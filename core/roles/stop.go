package roles

import (
	"context"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/pause"
)

// Stop implements core.RoleSpawner.
func (s *Service) Stop(agentID, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endLocked(agentID, reason)
}

// StopExecution implements core.RoleSpawner.
func (s *Service) StopExecution(executionID, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for who, b := range s.spawning {
		if who.execution == executionID && b.called == "" {
			b.called = reason
			if reason == "" {
				b.called = "the execution is over"
			}
			b.cancel()
		}
	}
	for id, a := range s.crew {
		if a.who.execution == executionID && s.spawning[a.who] == nil {
			s.endLocked(id, reason)
		}
	}
	s.endLeft(func(execution string) bool { return execution == executionID }, reason)
}

// Sweep implements core.RoleSpawner.
func (s *Service) Sweep(active func(executionID string) bool) {
	s.mu.Lock()
	executions := make(map[string]bool)
	for who := range s.left {
		executions[who.execution] = false
	}
	s.mu.Unlock()
	for execution := range executions {
		executions[execution] = active(execution) // may lock what calls us
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endLeft(func(execution string) bool {
		alive, known := executions[execution]
		return known && !alive
	}, "its execution is over")
}

// endLeft ends agents of an earlier life that no job took up. The caller holds mu.
func (s *Service) endLeft(over func(execution string) bool, reason string) {
	for who, ids := range s.left {
		if !over(who.execution) {
			continue
		}
		for id := range ids {
			s.took(who, id)
			s.endLocked(id, reason)
		}
	}
}

// end stops an agent for good, without its caller.
func (s *Service) end(id, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endLocked(id, reason)
}

// endLocked is end for a caller that holds mu. The agent's thread is notified at once: while it can still be seen how the
// agent was, and before another agent takes its place.
func (s *Service) endLocked(id, reason string) {
	if a := s.crew[id]; a != nil {
		s.letGo(a)
	}
	if s.ending[id] || s.tasks.Ended() {
		return
	}
	s.ending[id] = true
	if s.opts.Threads != nil {
		s.opts.Threads.EndRole(id, reason)
	}
	s.tasks.Go(func() { s.stopAgent(id, reason) })
}

// stopAgent tries until the agent is gone. The first try already stores that it is not wanted, so that a restart
// finds and ends it as well.
func (s *Service) stopAgent(id, reason string) {
	defer func() {
		s.mu.Lock()
		delete(s.ending, id)
		s.mu.Unlock()
	}()
	var retry pause.Backoff
	for {
		err := s.tryStop(s.ctx, id)
		if err == nil || core.ErrorCode(err) == core.CodeNotFound {
			s.log.Info("an agent of a role was stopped", "agent", id, "reason", reason)
			return
		}
		if s.ctx.Err() != nil {
			return
		}
		s.log.Debug("an agent of a role is not stopped yet", "agent", id, "error", err)
		if !s.pause(s.ctx, retry.Next()) {
			return
		}
	}
}

func (s *Service) tryStop(ctx context.Context, id string) error {
	select {
	case s.stops <- struct{}{}:
		defer func() { <-s.stops }()
	case <-ctx.Done():
		return ctx.Err()
	}
	return s.agents.StopManagedAgent(ctx, id, core.ManagedAgentStop{})
}
