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

// Dispatch implements core.TaskDispatcher.
func (s *Service) Dispatch(agentID string, task core.Task) bool {
	a := s.find(agentID)
	if a == nil {
		return false
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
	if _, has := a.listed[task.ID]; a.session != nil && !has {
		s.sendLocked(a, appendTask(nil, &task, now))
	}
	return true
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
	h := a.tasks[taskID]
	if h == nil {
		return s.index.unreserve(a)
	}
	delete(a.tasks, taskID)
	if cancel != "" && !h.settled {
		c := cancelled{taskID: taskID, executionID: h.task.ExecutionID, reason: cancel}
		if a.session == nil || !s.sendLocked(a, appendCancelled(nil, c, s.clock.Now())) {
			if len(a.missed) < maxMissed {
				a.missed = append(a.missed, c)
			}
		}
	}
	return s.index.hold(a, len(a.tasks))
}

// hold notes that the agent has the task. a.mu is held.
func (a *agent) hold(task *core.Task, now time.Time) {
	if a.tasks == nil {
		a.tasks = map[string]*held{}
	}
	a.tasks[task.ID] = &held{task: *task, at: now}
}
