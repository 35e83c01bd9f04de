package roles

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/clip"
	"github.com/wardroom/wardroom/core/internal/runtimecode"
)

// Dispatch implements core.TaskCarrier.
func (s *Service) Dispatch(agentID string, task core.Task) bool { return s.give(agentID, task) }

// Adopt implements core.TaskCarrier: the key of the send tells the agent whether it has the task already.
func (s *Service) Adopt(agentID string, task core.Task) bool { return s.give(agentID, task) }

func (s *Service) give(agentID string, task core.Task) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.find(agentID)
	if a == nil {
		return false
	}
	if a.task != nil {
		if a.task.task.ID == task.ID && a.task.task.Attempt == task.Attempt {
			return true
		}
		a.drop(a.task, "")
	}
	j := newJob(a)
	j.task, j.key = &task, task.ID+"."+strconv.Itoa(task.Attempt)
	a.task = j
	a.touch()
	return true
}

// drop ends the work on a task; with a reason the agent is stopped as well. The caller holds mu.
func (a *agent) drop(j *job, cancel string) {
	j.interrupt = cancel != "" && j.begun && j.report == nil
	j.cancel()
	a.task = nil
	a.touch()
}

// Release implements core.TaskCarrier. An agent that is spawned for a role has no slot that could go to another: it
// stays the role's until it is stopped.
func (s *Service) Release(agentID, taskID, cancel string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.find(agentID); a != nil && a.task != nil && a.task.task.ID == taskID {
		a.drop(a.task, cancel)
	}
}

// Keep implements core.TaskCarrier.
func (s *Service) Keep(agentID, taskID, cancel string) { s.Release(agentID, taskID, cancel) }

// doTask has the turn of a task and reports how it went. The time that a task may take is the engine's to keep: it
// stands still while a question is open.
func (s *Service) doTask(a *agent, j *job) {
	s.surface(a)
	if a.failures > 0 && !s.pause(j.ctx, pauseAfter(a.failures)) {
		return
	}
	began := s.opts.Clock.Now()
	got, err := s.turn(j.ctx, a, taskText(j.task), j.key)
	s.traceTurn(a, j.task, began, err)
	if j.ctx.Err() != nil || errors.Is(err, errGone) || errors.Is(err, context.Canceled) {
		return // given up; or the agent is gone, which was reported to the sink
	}
	report := &core.TaskReport{
		AgentID: a.id, AgentName: a.name, TaskID: j.task.ID, ExecutionID: j.task.ExecutionID, Attempt: j.task.Attempt,
		Duration: s.opts.Clock.Now().Sub(began),
		Settled:  func() { s.settled(a, j) },
		Usage:    got.usage,
	}
	a.failures++
	if err != nil {
		report.Err = taskError(err)
		if !report.Err.Retryable {
			a.failures = 0
		}
		s.log.Info("a task of a role failed", "agent", a.id, "task", j.task.ID, "error", err)
	} else {
		report.Result = resultOf(got.text)
		a.failures = 0
	}
	s.mu.Lock()
	if a.task != j {
		s.mu.Unlock()
		return
	}
	j.report, j.reportedAt = report, s.opts.Clock.Now()
	a.current = nil
	a.touch()
	s.mu.Unlock()
	s.sink.TaskReported(*report)
}

// traceTurn reports the turn of a task that is over.
func (s *Service) traceTurn(a *agent, task *core.Task, began time.Time, err error) {
	if !task.Trace.Sampled {
		return
	}
	span := core.Span{
		Trace: s.opts.Tracer.Begin(task.Trace), Parent: task.Trace.SpanID, Name: "agent turn", Start: began, End: s.opts.Clock.Now(),
		Attributes: []core.SpanAttribute{
			{Key: "wardroom.execution.id", Text: task.ExecutionID}, {Key: "wardroom.task.id", Text: task.ID},
			{Key: "wardroom.agent.id", Text: a.id}, {Key: "wardroom.agent.type", Text: a.kind}, {Key: "wardroom.role", Text: task.Role},
		},
	}
	if err != nil {
		span.Failed = string(core.ErrorCode(err))
	}
	s.opts.Tracer.Record(span)
}

// pauseAfter is the pause before the next task of an agent whose last tasks failed for reasons that pass, such as a
// limit of its model's provider.
func pauseAfter(failures int) time.Duration {
	d := firstTurnPause
	for range failures - 1 {
		d = min(2*d, maxTurnPause)
	}
	return d
}

// settled forgets a task whose report is durable.
func (s *Service) settled(a *agent, j *job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.task == j {
		a.task = nil
		a.touch()
	}
}

// taskError makes the report of a turn that came to nothing.
func taskError(err error) *core.TaskError {
	e := core.AsError(err)
	out := &core.TaskError{Code: string(e.Code), Message: e.Message, Details: e.Details}
	passes, _ := e.Details["retryable"].(bool)
	out.Retryable = passes || e.Code == core.CodeTimeout || errors.Is(err, errInterrupted) || errors.Is(err, errUntaken) ||
		runtimecode.Of(err) == runtimecode.Internal
	return out
}

// Bounds of what the sink receives of a turn that runs.
const (
	progressEvery = 250 * time.Millisecond
	maxProgress   = 4 << 10 // bytes of text
)

// progress tells the sink what the agent says and does for its task, in short.
func (s *Service) progress(a *agent, e core.Event, h core.AgentSignal) {
	if e.Type != core.EventManagedTool && e.Type != core.EventManagedMessage {
		return
	}
	now := s.opts.Clock.Now()
	s.mu.Lock()
	j := a.current
	if j == nil || j.task == nil || a.task != j || now.Sub(j.progressAt) < progressEvery {
		s.mu.Unlock()
		return
	}
	j.progressAt = now
	task := j.task.ID
	s.mu.Unlock()
	said := struct {
		Text string          `json:"text,omitempty"`
		Data json.RawMessage `json:"data,omitempty"`
	}{Text: clip.Text(h.Text, maxProgress)}
	if e.Type == core.EventManagedTool {
		said.Text = ""
		if said.Data = toolOf(h.Tool); said.Data == nil {
			return
		}
	}
	if said.Text == "" && said.Data == nil {
		return
	}
	data, err := json.Marshal(said)
	if err != nil {
		return
	}
	s.sink.TaskProgressed(a.id, task, data)
}

// toolOf is a tool call as progress: without its input when that is long.
func toolOf(tool *core.AgentTool) json.RawMessage {
	if tool == nil || tool.Name == "" {
		return nil
	}
	said := map[string]any{"tool": tool.Name}
	if input, err := json.Marshal(tool.Input); err == nil && len(tool.Input) > 0 && len(input) <= maxProgress {
		said["input"] = json.RawMessage(input)
	}
	data, err := json.Marshal(said)
	if err != nil {
		return nil
	}
	return data
}
