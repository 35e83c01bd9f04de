package roles

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/wardroom/wardroom/core"
)

// job is one turn to have with an agent: its task, or the message of another role.
type job struct {
	task    *core.Task         // or nil
	message *core.AgentMessage // or nil
	key     string             // of the send
	ctx     context.Context    // ends when it is given up, or its agent is gone
	cancel  context.CancelFunc

	// Service.mu guards all below.
	begun      bool
	interrupt  bool            // the agent is to stop work on it
	told       map[string]bool // ids of prompts that the sink received; true once they are answered
	progressAt time.Time       // when the sink received progress last
	report     *core.TaskReport
	reportedAt time.Time
}

func newJob(a *agent) *job {
	j := &job{told: make(map[string]bool)}
	j.ctx, j.cancel = context.WithCancel(a.ctx)
	return j
}

// work has the turns of an agent one after the other, until it is gone or let go.
func (s *Service) work(a *agent) {
	defer func() {
		if r := recover(); r != nil {
			s.log.Error("the work with an agent failed", "agent", a.id, "panic", fmt.Sprint(r))
			s.lost(a)
		}
	}()
	read := func() bool { return a.state.read }
	if s.await(a.ctx, a, 0, read) != nil {
		return
	}
	for {
		var j *job
		if s.await(a.ctx, a, 0, func() bool { j = a.next(); return j != nil }) != nil {
			return
		}
		if j.task != nil {
			s.doTask(a, j)
		} else {
			s.doAsk(a, j)
		}
		j.cancel()
		s.mu.Lock()
		a.current = nil
		interrupt := j.interrupt
		s.mu.Unlock()
		if interrupt {
			s.interrupt(a)
		}
	}
}

// next begins the turn that is due: the task's, and messages only while no task is out. The caller holds mu.
func (a *agent) next() *job {
	var j *job
	switch {
	case a.task != nil && !a.task.begun:
		j = a.task
	case (a.task == nil || a.task.report != nil) && len(a.asks) > 0:
		j = a.asks[0]
		a.asks = slices.Delete(a.asks, 0, 1)
	default:
		return nil
	}
	j.begun, a.current = true, j
	return j
}

// interrupt ends the turn that runs, if one does: its outcome is of no use any more. It gives up after some tries,
// since the next message waits for the end of the turn anyway.
func (s *Service) interrupt(a *agent) {
	for try := range maxInterrupts {
		// A message that was typed and not taken yet may begin its turn in a moment.
		busy := func() bool { return a.state.status == core.ManagedBusy }
		if try == 0 && s.await(a.ctx, a, wait(interruptEvery), busy) != nil {
			return
		}
		_, err := s.agents.SendManagedAgent(a.ctx, a.id, core.ManagedAgentInput{Interrupt: true})
		if err != nil {
			s.log.Debug("a turn was not interrupted", "agent", a.id, "error", err)
		}
		if err := s.await(a.ctx, a, wait(interruptEvery), func() bool { return !busy() }); err == nil || a.ctx.Err() != nil {
			return
		}
	}
	s.log.Warn("a turn that is of no use goes on: the agent does not take the interrupt", "agent", a.id, "type", a.kind)
}
