package engine

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/orgchart"
)

// chartPast holds the roles and tasks that were at work, read from the journal.
type chartPast struct {
	instances []*instance // bound and not released, in order
	roles     map[*instance]string
	steps     pastSteps // that were begun at agents and are not finished
}

// restore implements body.
func (r *chartRun) restore(events []core.Event) error {
	r.past = &chartPast{
		roles: map[*instance]string{}, steps: pastSteps{},
	}
	for _, ev := range events {
		if err := r.replay(ev); err != nil {
			return fmt.Errorf("journal entry %d (%s): %w", ev.Seq, ev.Type, err)
		}
	}
	return nil
}

// replay takes in one event.
func (r *chartRun) replay(ev core.Event) error {
	p := r.past
	switch ev.Type {
	case core.EventStepStarted:
		var d stepStartedData
		if err := json.Unmarshal(ev.Data, &d); err != nil {
			return err
		}
		r.flow.RestoreStart(d.Step, d.Round)
		r.startStep(d.Step, d.Type, d.Round, ev.Time)
	case core.EventStepCompleted:
		var d stepData
		if err := json.Unmarshal(ev.Data, &d); err != nil {
			return err
		}
		return r.replayStep(d, ev)
	case core.EventTaskAssigned:
		if err := p.steps.replayAssigned(ev.Data); err != nil {
			return err
		}
	case core.EventMessageUsed:
		var d usedData
		if err := json.Unmarshal(ev.Data, &d); err != nil {
			return err
		}
		r.usedBy(d)
		return nil
	case core.EventTaskLate:
		var d taskData
		if err := json.Unmarshal(ev.Data, &d); err != nil {
			return err
		}
		r.uses(d.Usage)
	case core.EventTaskCompleted, core.EventTaskFailed:
		d, err := p.steps.replayEnded(ev.Type, ev.Data)
		if err != nil {
			return err
		}
		r.uses(d.Usage)
		if ev.Type == core.EventTaskCompleted {
			r.agents[d.AgentID] = struct{}{}
			r.results = append(r.results, core.AgentResult{ID: d.AgentID, Name: d.AgentName, Step: d.Step, Status: statusCompleted, Result: d.Result})
		}
	case core.EventRoleBound:
		var d roleBoundData
		if err := json.Unmarshal(ev.Data, &d); err != nil {
			return err
		}
		inst := &instance{number: d.Instance, agent: d.AgentID, kind: d.AgentType, managed: d.Managed}
		p.instances = append(p.instances, inst)
		p.roles[inst] = d.Role
		if role := r.role(d.Role); role != nil {
			role.yielded = max(role.yielded-1, 0)
			if d.Managed {
				role.use(d.Instance)
				r.spawned = true
			}
		}
	case core.EventRoleReleased:
		var d roleReleasedData
		if err := json.Unmarshal(ev.Data, &d); err != nil {
			return err
		}
		p.release(d)
		if role := r.role(d.Role); role != nil && d.Yielded {
			role.yielded++
		}
	}
	return r.replayExchanges(ev)
}

// replayStep takes in a finished step.
func (r *chartRun) replayStep(d stepData, ev core.Event) error {
	if b, ok := r.begun[d.Step]; !ok || b.round != d.Round {
		at := ev.Time
		if d.StartedAt != nil {
			at = *d.StartedAt
		}
		r.startStep(d.Step, d.Kind, d.Round, at)
	}
	r.flow.Restore(d.Step, d.Round, d.Result, d.Branch)
	result := d.Result
	if _, top := topLevel(d.Step); top && d.Kind.Composite() {
		if whole, ok := r.flow.Result(d.Step); ok {
			result = whole // the journal leaves out long ones
		}
	}
	r.endStep(d.Step, result, ev.Time)
	delete(r.past.steps, d.Step)
	if d.Kind == core.KindApprove {
		var v verdictResult
		if err := json.Unmarshal(d.Result, &v); err != nil {
			return err
		}
		if step := stepAt(r.chart.Chart().Steps, d.Step); step != nil && !v.Approved && step.OnReject == core.OnRejectRetry {
			r.flow.Again(d.Step, feedbackOf(v))
		}
	}
	return nil
}

// stepAt finds a step by its path.
func stepAt(steps []*core.ChartStep, path string) *core.ChartStep {
	var at *core.ChartStep
	for part := range strings.SplitSeq(path, ".") {
		i, err := strconv.Atoi(part)
		if err != nil || i < 0 || i >= len(steps) || steps[i] == nil {
			return nil
		}
		at = steps[i]
		steps = at.Steps
	}
	return at
}

func (p *chartPast) release(d roleReleasedData) {
	for i, inst := range p.instances {
		if inst.agent == d.AgentID && inst.number == d.Instance && p.roles[inst] == d.Role {
			p.instances = append(p.instances[:i], p.instances[i+1:]...)
			delete(p.roles, inst)
			return
		}
	}
}

// resume implements body.
func (r *chartRun) resume(c *change) {
	r.spawned = true // it may have asked for agents that it never heard of
	r.holdRoles(c)
	r.advance(c)
	if !c.over && !r.frozen() && !c.now.Before(r.deadline) {
		r.timeout(c)
	}
}

// holdRoles takes up the agents that served roles before a restart.
func (r *chartRun) holdRoles(c *change) {
	out := map[string]int{} // tasks that were out, by agent: adopting one takes the slot that it has
	for _, s := range r.past.steps {
		for _, t := range s.tasks {
			if t.state == attemptOut {
				out[t.agent]++
			}
		}
	}
	for _, inst := range r.past.instances {
		role := r.role(r.past.roles[inst])
		if role == nil {
			continue
		}
		inst.role = role
		role.instances = append(role.instances, inst)
		role.take(inst.number)
		r.eng.bindAgent(inst.agent, r.run)
		held := true
		switch {
		case inst.managed:
			held = r.eng.roles != nil && r.eng.roles.Hold(inst.agent)
		case out[inst.agent] > 0:
			out[inst.agent]--
			inst.unheld = true
		default:
			held = r.eng.agents.Hold(inst.agent)
		}
		if !held {
			r.unbind(c, inst, "the agent was gone when the service restarted", false)
		}
	}
	r.bound = r.exec.Status == core.ExecutionRunning
}

// takeUp goes on with the steps that the journal has as begun: tasks at agents are adopted, answers that are there
// count, and what was in line is in line again.
func (r *chartRun) takeUp(c *change) {
	past := r.past
	r.past = nil
	for _, open := range r.flow.Open() {
		if c.over {
			return
		}
		if r.byPath[open.Step.Path] != nil {
			continue
		}
		if s := past.steps[open.Step.Path]; s != nil && s.round == open.Round && len(s.tasks) > 0 {
			r.takeUpStep(c, open, s.tasks)
		} else {
			r.begin(open)
		}
	}
	if !c.over {
		r.holdRest()
		r.resumeExchanges(c)
	}
}

// takeUpStep goes on with the last task of a step; one before it gave an answer that could not be read.
func (r *chartRun) takeUpStep(c *change, open orgchart.Leaf, tasks []*pastAttempt) {
	t := tasks[len(tasks)-1]
	l := &leaf{attempt: t.attempt, step: open.Step, round: open.Round, feedback: open.Feedback, role: r.role(open.Step.Role)}
	if len(tasks) > 1 {
		l.previous, l.prefer = tasks[0].answer, tasks[0].agent
	}
	r.leaves[l.id], r.byPath[l.step.Path] = l, l
	r.eng.rememberTask(l.id, r.run)
	switch t.state {
	case attemptDone:
		r.answered(c, l, t.agent, t.answer)
	case attemptFailed:
		cause := core.ExecutionError{Code: core.CodeAgentError, Message: "no agent did the task"}
		if t.cause != nil {
			cause = *t.cause
		}
		r.fail(c, cause.Code, cause.Message, cause.Details)
	case attemptWaiting:
		l.role.queue = append(l.role.queue, l)
	case attemptOut:
		r.adopt(c, l)
	}
}

// adopt tells the agent of a task that was out that it still is.
func (r *chartRun) adopt(c *change, l *leaf) {
	for _, inst := range l.role.instances {
		if inst.agent != l.agent || inst.leaf != nil {
			continue
		}
		l.instance, l.state, inst.leaf = inst, attemptOut, l
		r.out[l] = struct{}{}
		r.clock(l, c.now)
		wire, err := r.wire(l)
		if err != nil {
			r.failWith(c, err)
			return
		}
		if r.eng.carrier(inst.managed).Adopt(l.agent, wire) {
			r.adopted(l.agent)
			return
		}
		l.instance, inst.leaf = nil, nil
		delete(r.out, l)
		r.unbind(c, inst, "the agent was gone when the service restarted", false)
		r.instanceOver(c, inst)
		// It may serve other roles.
		r.inbox.put(message{kind: msgLost, agent: l.agent})
		break
	}
	r.failTask(c, l, statusLost, r.loss(l.agent, true), true)
}

// holdRest takes slots for instances whose tasks were not adopted after all.
func (r *chartRun) holdRest() {
	for _, role := range r.roles {
		for _, inst := range role.instances {
			if !inst.unheld {
				continue
			}
			if inst.unheld = false; !r.eng.agents.Hold(inst.agent) {
				r.inbox.put(message{kind: msgLost, agent: inst.agent})
			}
		}
	}
}

// adopted notes that a slot of the agent is taken for one of its instances that had none yet.
func (r *chartRun) adopted(agent string) {
	for _, role := range r.roles {
		for _, inst := range role.instances {
			if inst.agent == agent && inst.unheld {
				inst.unheld = false
				return
			}
		}
	}
}
