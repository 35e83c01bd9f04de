package agents

import (
	"context"
	"sync"

	"github.com/wardroom/wardroom/core"
)

// secretTasks sends tasks whose settings refer to secrets. Their providers may take a while, so each is sent by a goroutine;
// the secret is in the frame alone, and is asked for anew when the task is sent again.
type secretTasks struct {
	source TaskSecrets // or nil
	ctx    context.Context
	cancel context.CancelFunc

	mu   sync.Mutex // guards done against Wait
	over bool
	done sync.WaitGroup
}

func (t *secretTasks) start() { t.ctx, t.cancel = context.WithCancel(context.Background()) }

// stop ends what waits for secrets. The tasks are sent again after a restart.
func (t *secretTasks) stop() {
	t.mu.Lock()
	t.over = true
	t.mu.Unlock()
	t.cancel()
	t.done.Wait()
}

// begin reports whether a goroutine may be started, and counts it.
func (t *secretTasks) begin() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return false
	}
	t.done.Add(1)
	return true
}

// dispatchSecret is Dispatch for a task whose settings refer to secrets.
func (s *Service) dispatchSecret(a *agent, task core.Task) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.presence == gone {
		return false
	}
	a.hold(&task, s.clock.Now())
	s.index.use(a, len(a.tasks))
	if a.session != nil {
		s.sendSecret(a, a.tasks[task.ID])
	}
	return true
}

// sendSecret sends a task once its secrets are there, unless it was released or its session ended by then: a resume sends it
// again. Without its secrets it is reported as failed in the agent's stead. a.mu is held.
func (s *Service) sendSecret(a *agent, h *held) {
	session, task := a.session, h.task
	if !s.secret.begin() {
		return
	}
	go func() {
		defer s.secret.done.Done()
		config, err := s.taskConfig(&task)
		if s.secret.ctx.Err() != nil {
			return
		}
		a.mu.Lock()
		holds, name := a.tasks[task.ID] == h && a.session == session, a.name
		if holds && err == nil {
			task.Config = config
			s.sendLocked(a, appendTask(nil, &task, s.clock.Now()))
		}
		a.mu.Unlock()
		if !holds || err == nil {
			return
		}
		e := core.AsError(err)
		s.sink.TaskReported(core.TaskReport{
			AgentID: a.id, AgentName: name, TaskID: task.ID, ExecutionID: task.ExecutionID, Attempt: task.Attempt,
			Err:     &core.TaskError{Code: "SECRET_UNAVAILABLE", Message: e.Message, Retryable: e.Unavailable},
			Settled: func() {},
		})
	}()
}

func (s *Service) taskConfig(task *core.Task) ([]byte, error) {
	if s.secret.source == nil {
		return nil, core.Errorf(core.CodeValidation, "the config of the pattern refers to secrets, and none can be resolved")
	}
	return s.secret.source.TaskConfig(s.secret.ctx, task)
}
