package agents

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

const maxIDLen = 128 // bytes of a task id as agents send it

// reported runs a task_result or task_error. It is handed to the sink whether or not this agent still holds
// the task: the engine knows what became of it, and settles late and double reports too. refused is why the frame
// was not decoded, or nil.
func (s *session) reported(a *agent, f *frame, refused error, now time.Time) {
	if refused != nil {
		counts := s.admit(f.id, now)
		if counts {
			s.reject(f.id, refused.Error())
		}
		s.unusable(a, f, refused, counts, now)
		return
	}
	r, failure, err := readReport(f)
	if err != nil {
		if s.admit(f.id, now) {
			s.reject(f.id, err.Error())
		}
		return
	}
	h, first, name := a.answered(&r, failure == nil, now)
	report := r.of(a, name, h)
	report.Err, report.Duration = failure, milliseconds(r.duration)
	// The first report on a task that was handed out is never a flood.
	if !first && !s.admit(f.id, now) {
		return
	}
	s.bad = 0
	report.Result = detach(r.result)
	s.hand(a, h, string(f.id), report)
}

// of returns the report of an agent as the sink gets it, without its result. h is nil when the agent does not hold the task.
func (r *report) of(a *agent, name string, h *held) core.TaskReport {
	report := core.TaskReport{
		AgentID: a.id, AgentName: name, TaskID: string(r.taskID), ExecutionID: string(r.executionID), Attempt: r.attempt,
	}
	if h != nil {
		report.TaskID, report.ExecutionID = h.task.ID, h.task.ExecutionID
	}
	return report
}

// hand gives a report to the sink. h is nil when the agent does not hold the task.
func (s *session) hand(a *agent, h *held, frameID string, report core.TaskReport) {
	receipt := &receipt{session: s, agent: a, held: h, frameID: frameID, taskID: report.TaskID, size: len(report.Result)}
	receipt.generation = s.unsettled.add(receipt.size)
	report.Settled = receipt.settle
	s.svc.sink.TaskReported(report)
}

// unusable ends the task of a report that was refused for what no repeat of it would mend. Another agent may do better. Like
// any report it is acknowledged, or the agent would send it again with each session. counts reports whether the frame is none of a flood.
func (s *session) unusable(a *agent, f *frame, refused error, counts bool, now time.Time) {
	if f.report.check() != nil {
		return
	}
	h, first, name := a.answered(&f.report, false, now)
	if !first && !counts {
		return
	}
	report := f.report.of(a, name, h)
	report.Err = &core.TaskError{
		Code: string(core.CodeAgentError), Message: "its answer was refused: " + refused.Error(), Retryable: true,
	}
	s.hand(a, h, string(f.id), report)
}

// readReport decodes and checks a report. The error's text is meant for the agent.
func readReport(f *frame) (report, *core.TaskError, error) {
	if f.kind == protocol.TypeTaskError {
		return readFailure(f)
	}
	r, err := f.result()
	if err != nil {
		return report{}, nil, err
	}
	switch {
	case r.result == nil:
		err = errors.New("result: is missing")
	case len(r.status) > 0 && string(r.status) != protocol.TaskCompleted:
		err = fmt.Errorf("status: must be %s; report a failure with task_error", protocol.TaskCompleted)
	default:
		err = r.check()
	}
	return r, nil, err
}

func readFailure(f *frame) (report, *core.TaskError, error) {
	var p protocol.TaskError
	if err := f.into(&p); err != nil {
		return report{}, nil, err
	}
	if p.Error.Code == "" && p.Error.Message == "" {
		return report{}, nil, errors.New("error: must have a code and a message")
	}
	p.Error.Code = cmp.Or(p.Error.Code, string(core.CodeAgentError))
	r := report{taskID: []byte(p.TaskID), executionID: []byte(p.ExecutionID), attempt: p.Attempt}
	return r, &core.TaskError{
		Code: p.Error.Code, Message: p.Error.Message, Details: p.Error.Details, Retryable: p.Retryable,
	}, r.check()
}

func (r *report) check() error {
	switch {
	case len(r.taskID) == 0:
		return errors.New("taskId: is missing")
	case len(r.taskID) > maxIDLen || len(r.executionID) > maxIDLen:
		return errors.New("taskId and executionId: must be ids of this server")
	case r.attempt < 0:
		return errors.New("attempt: must be the attempt of the task, or absent")
	}
	return nil
}

// answered notes a report on a task this agent holds and counts it once. h is nil when the agent does not
// hold the task, or another attempt of it. name is the agent's name now: a resume may change it.
func (a *agent) answered(r *report, success bool, now time.Time) (h *held, first bool, name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	h = a.tasks[string(r.taskID)]
	if h == nil || (r.attempt != 0 && r.attempt != h.task.Attempt) {
		return nil, false, a.name
	}
	if h.reported {
		return h, false, a.name
	}
	h.reported, h.answered, h.failed = true, now, !success
	a.stats.TasksCompleted++
	if success {
		a.stats.TasksSucceeded++
	} else {
		a.stats.TasksFailed++
	}
	a.stats.TotalLatency += max(0, now.Sub(h.at))
	a.changed = true
	return h, true, a.name
}

// receipt acknowledges one report.
type receipt struct {
	session    *session
	agent      *agent
	held       *held // or nil
	frameID    string
	taskID     string
	size       int
	generation int
	done       atomic.Bool
}

// settle is core.TaskReport.Settled.
func (r *receipt) settle() {
	if r.done.Swap(true) {
		return
	}
	s := r.session
	s.unsettled.settle(r.generation, r.size)
	now := s.svc.clock.Now()
	ack := func(b []byte) []byte { return appendAck(b, r.frameID, r.taskID, now) }
	if r.held == nil && !s.killed.Load() {
		s.send(ack)
		return
	}
	r.agent.mu.Lock()
	defer r.agent.mu.Unlock()
	if r.held != nil {
		r.held.settled = true
	}
	// The agent may have resumed meanwhile: then it waits for the answer on its new connection.
	if current := r.agent.session; current != nil {
		current.send(ack)
	}
}

// progressed runs a task_progress. Progress on a task that the agent does not hold is out of date.
func (s *session) progressed(a *agent, f *frame) error {
	var p protocol.TaskProgress
	if err := f.into(&p); err != nil {
		return err
	}
	if p.TaskID == "" {
		return errors.New("taskId: is missing")
	}
	if (p.Text == "") == (len(p.Data) == 0) {
		return errors.New("text, data: exactly one must be given")
	}
	a.mu.Lock()
	_, holds := a.tasks[p.TaskID]
	a.mu.Unlock()
	if holds {
		s.svc.sink.TaskProgressed(a.id, p.TaskID, json.RawMessage(appendProgress(p)))
	}
	return nil
}

// milliseconds converts what an agent measured, within reason.
func milliseconds(ms float64) time.Duration {
	const most = float64(365 * 24 * time.Hour / time.Millisecond)
	return time.Duration(min(max(ms, 0), most) * float64(time.Millisecond))
}
