package engine

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/orgchart"
)

// leaf is one round of a step at an agent: the task that it is for the agent now.
type leaf struct {
	task
	step     *core.ChartStep
	round    int
	feedback json.RawMessage // why the step is run again, or nil
	role     *roleRun
	instance *instance       // that does it, while it is out
	previous json.RawMessage // the answer that could not be read as a verdict: it is asked for once more
	prefer   string          // agent that is to do it, if it can
	unsent   bool            // assigned in the change at hand
	made     *core.Task      // what goes out then, or nil

	// waits counts messages of the task that wait for a reply. Its clock stands still meanwhile, with left on it.
	waits int
	left  time.Duration
}

// begin puts a step in line at its role.
func (r *chartRun) begin(open orgchart.Leaf) {
	l := &leaf{step: open.Step, round: open.Round, feedback: open.Feedback, role: r.role(open.Step.Role)}
	l.id = r.eng.ids.New(core.PrefixTask)
	r.enlist(l)
}

func (r *chartRun) enlist(l *leaf) {
	r.leaves[l.id] = l
	r.byPath[l.step.Path] = l
	r.eng.rememberTask(l.id, r.run)
	l.role.queue = append(l.role.queue, l)
}

// leave forgets a task that is over.
func (r *chartRun) leave(c *change, l *leaf) {
	delete(r.leaves, l.id)
	delete(r.out, l)
	delete(r.byPath, l.step.Path)
	c.forget = append(c.forget, l.id)
}

// assign journals the hand-out of a task to an instance.
func (r *chartRun) assign(c *change, l *leaf, inst *instance) {
	if r.exec.Status == core.ExecutionPending {
		r.start(c)
	}
	l.instance, l.agent, l.state = inst, inst.agent, taskOut
	l.attempt++
	inst.leaf, l.unsent = l, true
	r.out[l] = struct{}{}
	r.clock(l, c.now)
	r.event(c, core.EventTaskAssigned, assignedData{
		Step: l.step.Path, Round: l.round, Role: l.role.role.Key,
		Tasks: []assignment{{TaskID: l.id, AgentID: inst.agent, Attempt: l.attempt}},
	})
	c.leaves = append(c.leaves, l)
}

// clock starts the time of an attempt.
func (r *chartRun) clock(l *leaf, now time.Time) {
	l.sent, l.due, l.waits, l.left = now, time.Time{}, 0, 0
	if d := r.taskTimeout(l); d > 0 {
		l.due = now.Add(d)
	}
}

// pause and unpause stop the clock of a task while a message of it waits for a reply.
func (l *leaf) pause(now time.Time) {
	if l.waits++; l.waits == 1 && !l.due.IsZero() {
		l.left, l.due = max(l.due.Sub(now), time.Nanosecond), time.Time{}
	}
}

func (l *leaf) unpause(now time.Time) {
	if l.waits == 0 {
		return
	}
	if l.waits--; l.waits == 0 && l.left > 0 {
		l.due, l.left = now.Add(l.left), 0
	}
}

// taskTimeout is the time of an attempt; 0: it has until the deadline.
func (r *chartRun) taskTimeout(l *leaf) time.Duration {
	switch {
	case l.step.Timeout > 0:
		return l.step.Timeout
	case l.instance != nil && l.instance.managed:
		return 0
	}
	return r.eng.config.Load().TaskTimeout
}

// send implements body.
func (r *chartRun) send(c *change, now time.Time) {
	for _, l := range c.leaves {
		if !l.unsent {
			continue // assigned twice in this change
		}
		wire := l.made
		l.unsent, l.made = false, nil
		if l.state != taskOut {
			continue
		}
		r.clock(l, now)
		wire.Attempt = l.attempt
		if !r.eng.carrier(l.instance.managed).Dispatch(l.agent, *wire) {
			r.inbox.put(message{kind: msgLost, agent: l.agent, task: l.id})
		}
	}
}

// stepOf implements body.
func (r *chartRun) stepOf(agent, id string) (string, bool) {
	l := r.leaves[id]
	if l == nil || l.state != taskOut || l.agent != agent {
		return "", false
	}
	return l.step.Path, true
}

// report implements body.
func (r *chartRun) report(rep core.TaskReport, c *change) {
	l := r.leaves[rep.TaskID]
	if l == nil || c.over {
		return // it is over: a repeat, or too late for anybody
	}
	current := l.agent == rep.AgentID && (rep.Attempt == 0 || rep.Attempt == l.attempt)
	// As with flat patterns, an attempt that was given up still counts while nobody else works on the task.
	if !current || l.state == taskWaiting && (rep.Err != nil || l.attempt == 0) {
		r.late(c, rep, taskData{
			TaskID: rep.TaskID, Step: l.step.Path, Round: l.round, AgentID: rep.AgentID, Attempt: rep.Attempt,
			Reason: lateReason(current),
		})
		return
	}
	held := l.state == taskOut
	if rep.Err != nil {
		r.freeInstance(c, l, "")
		r.failTask(c, l, statusFailed, core.ExecutionError{
			Code: core.CodeAgentError, Message: fmt.Sprintf("agent %s: %s", rep.AgentID, rep.Err.Message),
			Details: agentErrorDetails(rep),
		}, rep.Err.Retryable)
		return
	}
	duration := rep.Duration
	if duration <= 0 && held {
		duration = c.now.Sub(l.sent)
	}
	r.eng.observer.TaskEnded(statusCompleted, c.now.Sub(l.sent))
	r.event(c, core.EventTaskCompleted, taskData{
		TaskID: l.id, Step: l.step.Path, Round: l.round, AgentID: rep.AgentID, AgentName: rep.AgentName, Attempt: l.attempt,
		Result: rep.Result, DurationMs: duration.Milliseconds(),
	})
	if held {
		r.freeInstance(c, l, "")
	} else {
		l.role.queue = slices.DeleteFunc(l.role.queue, func(q *leaf) bool { return q == l })
	}
	r.taskOver(c, l)
	r.agents[rep.AgentID] = struct{}{}
	r.results = append(r.results, core.AgentResult{ID: rep.AgentID, Step: l.step.Path, Status: statusCompleted, Result: rep.Result})
	r.answered(c, l, rep.AgentID, rep.Result)
}

func lateReason(current bool) string {
	if current {
		return "the attempt was given up"
	}
	return "the task was handed to another agent"
}

// answered takes the result of a task as that of its step.
func (r *chartRun) answered(c *change, l *leaf, agent string, result json.RawMessage) {
	l.state = taskDone
	r.leave(c, l)
	if l.step.Kind == core.KindAssign {
		r.flow.Finish(l.step.Path, result)
		return
	}
	r.judge(c, l, agent, result)
}

// failTask ends an attempt; the task goes out again if it may, else the execution fails.
func (r *chartRun) failTask(c *change, l *leaf, status string, cause core.ExecutionError, retryable bool) {
	l.failures++
	if !slices.Contains(l.excluded, l.agent) {
		l.excluded = append(l.excluded, l.agent)
	}
	l.status = status
	delete(r.out, l)
	again := retryable && l.failures <= r.eng.config.Load().TaskRetries
	l.state = taskFailed
	if again {
		l.state = taskWaiting
	}
	r.eng.observer.TaskEnded(status, c.now.Sub(l.sent))
	r.event(c, core.EventTaskFailed, taskData{
		TaskID: l.id, Step: l.step.Path, Round: l.round, AgentID: l.agent, Attempt: l.attempt,
		Error: &cause, Status: status, Retry: again,
	})
	r.taskOver(c, l)
	if again {
		l.role.queue = slices.Insert(l.role.queue, 0, l)
		return
	}
	if c.over {
		return
	}
	details := map[string]any{"step": l.step.Path, "role": l.role.role.Key}
	maps.Copy(details, cause.Details)
	r.fail(c, cause.Code, fmt.Sprintf("step %s (%s by role %q): %s", l.step.Path, l.step.Kind, l.role.role.Key, cause.Message), details)
}

// overdue implements body.
func (r *chartRun) overdue(c *change) {
	for l := range r.out {
		if c.over || l.state != taskOut || l.due.IsZero() || c.now.Before(l.due) {
			continue
		}
		limit := r.taskTimeout(l).Milliseconds()
		r.freeInstance(c, l, "task timeout")
		r.failTask(c, l, statusTimeout, core.ExecutionError{
			Code: core.CodeAgentError, Message: fmt.Sprintf("agent %s gave no answer within %d ms", l.agent, limit),
			Details: map[string]any{"agentId": l.agent, "timeoutMs": limit},
		}, true)
	}
	r.spawnOverdue(c.now)
	if !c.over {
		r.mailOverdue(c)
	}
}

// recall implements body.
func (r *chartRun) recall(c *change, reason, status string) {
	for _, l := range r.leaves {
		if l.state != taskOut {
			continue
		}
		l.state, l.status = taskFailed, status
		r.eng.observer.TaskEnded(status, c.now.Sub(l.sent))
		inst := l.instance
		inst.leaf, l.instance = nil, nil
		if !inst.gone && !l.unsent {
			c.release = append(c.release, releaseOp{agent: l.agent, task: l.id, cancel: reason, managed: inst.managed, keep: !inst.managed})
		}
	}
}

// keepAll implements body.
func (r *chartRun) keepAll() {
	var rest []core.AgentResult
	for _, l := range r.leaves {
		if l.state == taskDone || l.agent == "" {
			continue
		}
		status := l.status
		if status == "" {
			status = statusCancelled
		}
		rest = append(rest, core.AgentResult{ID: l.agent, Step: l.step.Path, Status: status})
	}
	slices.SortFunc(rest, func(a, b core.AgentResult) int { return comparePaths(a.Step, b.Step) })
	r.results = append(r.results, rest...)
}
