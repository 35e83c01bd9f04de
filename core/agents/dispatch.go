package agents

import (
	"time"

	"github.com/wardroom/wardroom/core"
)

// Reserve implements core.TaskDispatcher. Agents are ordered by preference (names, region, model, in this
// order of weight), then by load relative to their size, then by least recent use.
func (s *Service) Reserve(need core.TaskNeed, n int) []string { return s.index.reserve(need, n) }

// CountCapable implements core.TaskDispatcher. Draining agents do not count: they take no more tasks.
func (s *Service) CountCapable(need core.TaskNeed) int { return s.index.count(need) }

// Slots implements core.TaskDispatcher.
func (s *Service) Slots(need core.TaskNeed) map[string]int { return s.index.slots(need) }

// Dispatch implements core.TaskDispatcher.
func (s *Service) Dispatch(agentID string, task core.Task) bool {
	a := s.find(agentID)
	if a == nil {
		return false
	}
	if task.Secrets {
		return s.dispatchSecret(a, task)
	}
	now := s.clock.Now()
	buf := getBuffer()
	defer putBuffer(buf)
	*buf = appendTask((*buf)[:0], &task, now)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.presence == gone {
		return false
	}
	a.hold(&task, now)
	s.index.use(a, len(a.tasks))
	if a.session != nil {
		s.sendLocked(a, *buf)
	}
	return true
}

// Adopt implements core.TaskDispatcher. It may come before or after the agent's resume.
func (s *Service) Adopt(agentID string, task core.Task) bool {
	a := s.find(agentID)
	if a == nil {
		return false
	}
	now := s.clock.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.presence == gone {
		return false
	}
	a.hold(&task, now)
	s.index.hold(a, len(a.tasks))
	switch h := a.tasks[task.ID]; {
	case a.session == nil || a.has(h):
	case task.Secrets:
		s.sendSecret(a, h)
	default:
		s.sendLocked(a, appendTask(nil, &task, now))
	}
	return true
}

// Hold implements core.TaskDispatcher. It may come before or after the agent's resume.
func (s *Service) Hold(agentID string) bool {
	a := s.find(agentID)
	if a == nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.presence == gone {
		return false
	}
	s.index.reserveThis(a)
	return true
}

// AgentName implements core.TaskDispatcher.
func (s *Service) AgentName(agentID string) string {
	a := s.find(agentID)
	if a == nil {
		return ""
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.name
}

// Keep implements core.TaskCarrier. A task that the agent does not hold changes nothing.
func (s *Service) Keep(agentID, taskID, cancel string) {
	a := s.find(agentID)
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	h := a.tasks[taskID]
	if h == nil {
		return
	}
	s.end(a, h, cancel)
	s.index.keep(a, len(a.tasks))
}

// Release implements core.TaskDispatcher. A task that the agent does not hold is taken for a reservation
// that was never used.
func (s *Service) Release(agentID, taskID, cancel string) {
	a := s.find(agentID)
	if a == nil {
		return
	}
	a.mu.Lock()
	opened := s.release(a, taskID, cancel)
	a.mu.Unlock()
	if opened {
		s.capacity.changed()
	}
}

// release does Release with a.mu held, and returns true when the agent has a free slot that it had not.
func (s *Service) release(a *agent, taskID, cancel string) bool {
	opened := false
	if h := a.tasks[taskID]; h != nil {
		s.end(a, h, cancel)
		opened = s.index.hold(a, len(a.tasks))
	} else {
		opened = s.index.unreserve(a)
	}
	if len(a.resend.list) > 0 && s.index.idle(a) {
		a.resend = resend{} // it serves no role any more
	}
	return opened
}

// end forgets a task, its slot apart, and tells the agent of a cancel. a.mu is held.
func (s *Service) end(a *agent, h *held, cancel string) {
	delete(a.tasks, h.task.ID)
	a.finish(h, statusCancelled, s.clock.Now())
	a.resend.taskEnded(h.task.ID)
	if cancel == "" || h.settled {
		return
	}
	c := cancelled{taskID: h.task.ID, executionID: h.task.ExecutionID, reason: cancel}
	if a.session != nil && s.sendLocked(a, appendCancelled(nil, c, s.clock.Now())) {
		return
	}
	if len(a.missed) < maxMissed {
		a.missed = append(a.missed, c)
	}
}

// hold notes that the agent has the task. a.mu is held.
func (a *agent) hold(task *core.Task, now time.Time) {
	if a.tasks == nil {
		a.tasks = map[string]*held{}
	}
	a.tasks[task.ID] = &held{task: *task, at: now}
}

// has reports whether the agent need not be sent a task: it listed it at its latest resume. Of a further attempt, which it did
// not answer, it may have the one before, so that is sent: an agent that has it drops the repeat. a.mu is held.
func (a *agent) has(h *held) bool {
	_, listed := a.listed[h.task.ID]
	return listed && (h.task.Attempt <= 1 || h.reported)
}
