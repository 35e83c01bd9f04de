package agents

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// maxDone bounds how many of the tasks that an agent was done with are remembered: about 250 bytes each.
const maxDone = 20

// States of a task of an agent.
const (
	statusRunning   = "running"
	statusCompleted = "completed"
	statusFailed    = "failed"
	statusCancelled = "cancelled"
	statusLost      = "lost"
)

// AgentTasks implements core.AgentService.
func (s *Service) AgentTasks(_ context.Context, id string) ([]core.AgentTask, error) {
	a := s.find(id)
	if a == nil {
		return nil, core.NotFound("agent", id)
	}
	a.mu.Lock()
	tasks := slices.Clone(a.done)
	for _, h := range a.tasks {
		tasks = append(tasks, h.shown(statusRunning, time.Time{}))
	}
	a.mu.Unlock()
	slices.SortFunc(tasks, func(x, y core.AgentTask) int {
		return cmp.Or(y.StartedAt.Compare(x.StartedAt), cmp.Compare(y.TaskID, x.TaskID))
	})
	return tasks, nil
}

// finish remembers a task that the agent has no more. a.mu is held.
func (a *agent) finish(h *held, unanswered string, now time.Time) {
	if len(a.done) == maxDone {
		a.done = slices.Delete(a.done, 0, 1)
	}
	a.done = append(a.done, h.shown(unanswered, now))
}

// shown returns the task as callers see it: unanswered is its state if there is no answer, and until when it was so, if it is
// over. a.mu is held.
func (h *held) shown(unanswered string, until time.Time) core.AgentTask {
	t := core.AgentTask{
		TaskID: h.task.ID, ExecutionID: h.task.ExecutionID, Pattern: wire.PatternRef{Name: h.task.PatternName, Version: h.task.PatternVersion},
		Step: h.task.Step, Role: h.task.Role, Attempt: h.task.Attempt, Status: unanswered, StartedAt: h.at,
	}
	if h.reported {
		t.Status, until = statusCompleted, h.answered
		if h.failed {
			t.Status = statusFailed
		}
	}
	if !until.IsZero() {
		t.EndedAt = &until
	}
	return t
}
