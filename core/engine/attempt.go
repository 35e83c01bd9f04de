package engine

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// attempt is a task and the agent that has it now: a share of a step of a flat pattern, or a step of an org chart. It
// belongs to the run's goroutine. What becomes of it is journaled by the methods of run below, the same for both.
type attempt struct {
	id       string // of the task
	agent    string // that has it, or had it last
	number   int    // of the hand-out, from 1; 0: it never was
	state    attemptState
	failures int
	excluded []string // agents that failed it
	sent     time.Time
	due      time.Time // zero: it has until the deadline
	status   string    // of the last one that failed, for the report of a failed execution
}

// attemptState is where a task is.
type attemptState uint8

const (
	attemptWaiting attemptState = iota // to be handed out
	attemptOut                         // at an agent
	attemptDone                        // answered
	attemptFailed                      // and not to be handed out again
)

// place is where in an execution an attempt belongs, for the journal.
type place struct {
	step  string // path; "" in a pattern of a single step
	round int
}

// handOut gives the task to an agent and returns what the journal has of that.
func (a *attempt) handOut(agent string) core.Assignment {
	a.agent, a.state = agent, attemptOut
	a.number++
	return core.Assignment{TaskID: a.id, AgentID: agent, Attempt: a.number}
}

// heldBy reports whether a report is of the agent and the attempt that the task is at, or was at last.
func (a *attempt) heldBy(rep core.TaskReport) bool {
	return a.agent == rep.AgentID && (rep.Attempt == 0 || rep.Attempt == a.number)
}

// takes reports whether a report still counts. An attempt that was given up takes the answer of its agent while the
// task waits for the next: no other agent works on it, and work that is done is not paid for twice.
func (a *attempt) takes(rep core.TaskReport) bool {
	if !a.heldBy(rep) {
		return false
	}
	return a.state == attemptOut || a.state == attemptWaiting && rep.Err == nil && a.number > 0
}

// overdue reports whether the time of an attempt at an agent is over.
func (a *attempt) overdue(now time.Time) bool {
	return a.state == attemptOut && !a.due.IsZero() && !now.Before(a.due)
}

// Reasons why a report does not count.
const (
	reasonReassigned = "the task was handed to another agent"
	reasonGivenUp    = "the attempt was given up"
	reasonStepOver   = "the step is over"
)

// completeAttempt journals the answer of an agent.
func (r *run) completeAttempt(c *change, a *attempt, at place, rep core.TaskReport) {
	duration := rep.Duration
	if duration <= 0 && a.state == attemptOut {
		duration = c.now.Sub(a.sent)
	}
	a.state = attemptDone
	r.eng.observer.TaskEnded(statusCompleted, c.now.Sub(a.sent))
	r.traceAttempt(a, at, c.now, statusCompleted, "")
	r.agents[rep.AgentID] = struct{}{}
	r.event(c, core.EventTaskCompleted, taskData{
		TaskID: a.id, Step: at.step, Round: at.round, AgentID: rep.AgentID, AgentName: rep.AgentName, Attempt: a.number,
		Result: rep.Result, DurationMs: duration.Milliseconds(), Usage: rep.Usage,
	})
}

// failAttempt journals the end of an attempt that is out, and reports whether the task goes to another agent.
func (r *run) failAttempt(c *change, a *attempt, at place, status string, cause core.ExecutionError, retryable bool, usage *wire.Usage) bool {
	a.failures++
	if !slices.Contains(a.excluded, a.agent) {
		a.excluded = append(a.excluded, a.agent)
	}
	a.status = status
	retry := retryable && a.failures <= r.eng.config.Load().TaskRetries
	a.state = attemptFailed
	if retry {
		a.state = attemptWaiting
	}
	r.eng.observer.TaskEnded(status, c.now.Sub(a.sent))
	r.traceAttempt(a, at, c.now, status, cause.Code)
	r.event(c, core.EventTaskFailed, taskData{
		TaskID: a.id, Step: at.step, Round: at.round, AgentID: a.agent, Attempt: a.number,
		Error: &cause, Status: status, Retry: retry, Usage: usage,
	})
	return retry
}

// recallAttempt takes a task back; status is what its agent is listed with.
func (r *run) recallAttempt(c *change, a *attempt, at place, status string) {
	a.state, a.status = attemptFailed, status
	r.eng.observer.TaskEnded(status, c.now.Sub(a.sent))
	r.traceAttempt(a, at, c.now, status, "")
}

// declined is the failure of an agent that said it could not do a task.
func declined(rep core.TaskReport) core.ExecutionError {
	details := map[string]any{"agentId": rep.AgentID}
	if rep.Err.Code != "" {
		details["agentCode"] = rep.Err.Code
	}
	for k, v := range rep.Err.Details {
		if _, taken := details[k]; !taken {
			details[k] = v
		}
	}
	return core.ExecutionError{
		Code: core.CodeAgentError, Message: fmt.Sprintf("agent %s: %s", cmp.Or(rep.AgentName, rep.AgentID), rep.Err.Message), Details: details,
	}
}

// called is what people call an agent: its name where that is known, else its id.
func (r *run) called(agent string) string { return cmp.Or(r.eng.agents.AgentName(agent), agent) }

// silence is the failure of an agent that gave no answer in time.
func (r *run) silence(agent string, limit time.Duration) core.ExecutionError {
	ms := limit.Milliseconds()
	return core.ExecutionError{
		Code: core.CodeAgentError, Message: fmt.Sprintf("agent %s gave no answer within %d ms", r.called(agent), ms),
		Details: map[string]any{"agentId": agent, "timeoutMs": ms},
	}
}

// loss is the failure of an agent that is gone, and that was found so at a start of the service or later.
func (r *run) loss(agent string, restarted bool) core.ExecutionError {
	what := " was lost"
	if restarted {
		what = " was gone when the service restarted"
	}
	return core.ExecutionError{Code: core.CodeAgentError, Message: "agent " + r.called(agent) + what}
}

// pastAttempt is a task as the journal has it.
type pastAttempt struct {
	attempt
	answer json.RawMessage      // of one that was answered; not nil then
	cause  *core.ExecutionError // of the last failure
}

// replayAssigned takes in a hand-out.
func (p *pastAttempt) replayAssigned(a core.Assignment) {
	p.agent, p.number, p.state = a.AgentID, a.Attempt, attemptOut
}

// replayEnded takes in the end of an attempt.
func (p *pastAttempt) replayEnded(kind core.EventType, d taskData) {
	if kind == core.EventTaskCompleted {
		p.agent, p.number, p.state = d.AgentID, d.Attempt, attemptDone
		if p.answer = d.Result; len(p.answer) == 0 {
			p.answer = json.RawMessage("null")
		}
		return
	}
	p.failures++
	p.excluded = append(p.excluded, d.AgentID)
	p.status, p.cause = d.Status, d.Error
	p.status = cmp.Or(p.status, statusFailed) // of an earlier release
	p.state = attemptFailed
	if d.Retry {
		p.state = attemptWaiting
	}
}

// pastSteps are the steps that a journal tells of, by path.
type pastSteps map[string]*pastStep

// pastStep holds the past of one step, read from a journal. Tasks and answers are those of the newest round.
type pastStep struct {
	round    int
	tasks    []*pastAttempt // in the order in which they were first assigned
	answers  []core.Answer
	agents   []string // that answered, in earlier rounds too
	finished *stepData

	byID map[string]*pastAttempt
}

// step returns the step that a round belongs to. What is reported for an earlier round than the newest one is lost on it.
func (p pastSteps) step(path string, round int) *pastStep {
	s := p[path]
	if s != nil && round < s.round {
		return &pastStep{round: round, byID: map[string]*pastAttempt{}}
	}
	if s == nil || round > s.round {
		next := &pastStep{round: round, byID: map[string]*pastAttempt{}}
		if s != nil {
			next.agents = s.agents
		}
		s, p[path] = next, next
	}
	return s
}

// task returns a task of the step. One that a rerun took over from another execution was never assigned in this one.
func (s *pastStep) task(id string) *pastAttempt {
	t := s.byID[id]
	if t == nil {
		t = &pastAttempt{attempt: attempt{id: id}}
		s.byID[id] = t
		s.tasks = append(s.tasks, t)
	}
	return t
}

// replayAssigned takes in tasks that were handed out together.
func (p pastSteps) replayAssigned(data json.RawMessage) error {
	var d assignedData
	if err := json.Unmarshal(data, &d); err != nil {
		return err
	}
	s := p.step(d.Step, d.Round)
	for _, a := range d.Tasks {
		s.task(a.TaskID).replayAssigned(a)
	}
	return nil
}

// replayEnded takes in the end of an attempt and returns what the journal has of it.
func (p pastSteps) replayEnded(kind core.EventType, data json.RawMessage) (taskData, error) {
	var d taskData
	if err := json.Unmarshal(data, &d); err != nil {
		return d, err
	}
	s := p.step(d.Step, d.Round)
	s.task(d.TaskID).replayEnded(kind, d)
	if kind == core.EventTaskCompleted {
		s.agents = append(s.agents, d.AgentID)
		s.answers = append(s.answers, core.Answer{AgentID: d.AgentID, Name: d.AgentName, Result: d.Result})
	}
	return d, nil
}
