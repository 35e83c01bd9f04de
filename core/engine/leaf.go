package engine

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/orgchart"
	"github.com/wardroom/wardroom/sdk/wire"
)

// leaf is one round of a step at an agent: the task that it is for the agent now.
type leaf struct {
	attempt
	step     *core.ChartStep
	round    int
	feedback json.RawMessage // why the step is run again, or nil
	role     *roleRun
	instance *instance       // that does it, while it is out
	previous json.RawMessage // the answer that could not be read as a verdict: it is asked for once more
	prefer   string          // agent that is to do it, if it can
	unsent   bool            // assigned in the change at hand
	made     *core.Task      // what goes out then, or nil
	usage    *wire.Usage     // of the report at hand, or nil

	// waits counts messages of the task that wait for a reply. Its clock stands still meanwhile, with left on it.
	waits int
	left  time.Duration
}

// place is where its task belongs.
func (l *leaf) place() place { return place{l.step.Path, l.round} }

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
	l.instance, inst.leaf, l.unsent = inst, l, true
	handed := l.handOut(inst.agent)
	r.team.join(inst.agent, r.eng.agents.AgentName(inst.agent))
	r.out[l] = struct{}{}
	r.clock(l, c.now)
	r.event(c, core.EventTaskAssigned, assignedData{
		Step: l.step.Path, Round: l.round, Role: l.role.role.Key,
		Tasks: []core.Assignment{handed}, orderData: orderOf(l.made.Input, nil),
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
		if l.state != attemptOut {
			continue
		}
		r.clock(l, now)
		wire.Attempt = l.number
		if !r.eng.carrier(l.instance.managed).Dispatch(l.agent, *wire) {
			r.inbox.put(message{kind: msgLost, agent: l.agent, task: l.id})
		}
	}
}

// stepOf implements body.
func (r *chartRun) stepOf(agent, id string) (string, bool) {
	l := r.leaves[id]
	if l == nil || l.state != attemptOut || l.agent != agent {
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
	r.uses(rep.Usage)
	l.usage = rep.Usage
	defer func() { l.usage = nil }()
	if !l.takes(rep) {
		reason := reasonReassigned
		if l.heldBy(rep) {
			reason = reasonGivenUp
		}
		r.late(c, rep, taskData{
			TaskID: rep.TaskID, Step: l.step.Path, Round: l.round, AgentID: rep.AgentID, Attempt: rep.Attempt,
			Reason: reason, Usage: rep.Usage,
		})
		return
	}
	if rep.Err != nil {
		r.freeInstance(c, l, "")
		r.failTask(c, l, statusFailed, declined(rep), rep.Err.Retryable)
		return
	}
	held := l.state == attemptOut
	r.completeAttempt(c, &l.attempt, l.place(), rep)
	if held {
		r.freeInstance(c, l, "")
	} else {
		l.role.queue = slices.DeleteFunc(l.role.queue, func(q *leaf) bool { return q == l })
	}
	r.taskOver(c, l)
	r.results = append(r.results, core.AgentResult{ID: rep.AgentID, Name: rep.AgentName, Step: l.step.Path, Status: statusCompleted, Result: rep.Result})
	r.answered(c, l, rep.AgentID, rep.Result)
}

// uses adds what a turn of a managed agent used to the sum of the execution.
func (r *chartRun) uses(u *wire.Usage) {
	if u == nil {
		return
	}
	r.usage = cmp.Or(r.usage, new(wire.Usage))
	r.usage.Add(u)
}

// answered takes the result of a task as that of its step.
func (r *chartRun) answered(c *change, l *leaf, agent string, result json.RawMessage) {
	l.state = attemptDone
	r.leave(c, l)
	if l.step.Kind == core.KindAssign {
		r.flow.Finish(l.step.Path, result)
		return
	}
	r.judge(c, l, agent, result)
}

// failTask ends an attempt; the task goes out again if it may, else the execution fails.
func (r *chartRun) failTask(c *change, l *leaf, status string, cause core.ExecutionError, retryable bool) {
	delete(r.out, l)
	again := r.failAttempt(c, &l.attempt, l.place(), status, cause, retryable, l.usage)
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
		if c.over || !l.overdue(c.now) {
			continue
		}
		limit := r.taskTimeout(l)
		r.freeInstance(c, l, "task timeout")
		r.failTask(c, l, statusTimeout, r.silence(l.agent, limit), true)
	}
	r.spawnOverdue(c.now)
	if !c.over {
		r.exchangesOverdue(c)
	}
}

// recall implements body.
func (r *chartRun) recall(c *change, reason, status string) {
	for _, l := range r.leaves {
		if l.state != attemptOut {
			continue
		}
		r.recallAttempt(c, &l.attempt, l.place(), status)
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
		if l.state == attemptDone || l.agent == "" {
			continue
		}
		status := cmp.Or(l.status, statusCancelled)
		rest = append(rest, core.AgentResult{ID: l.agent, Name: r.eng.agents.AgentName(l.agent), Step: l.step.Path, Status: status})
	}
	slices.SortFunc(rest, func(a, b core.AgentResult) int { return comparePaths(a.Step, b.Step) })
	r.results = append(r.results, rest...)
}
