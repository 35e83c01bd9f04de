package engine

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"

	"github.com/wardroom/wardroom/core"
)

// TaskReported implements core.TaskSink.
func (e *Engine) TaskReported(report core.TaskReport) {
	r := e.runOfTask(report.TaskID)
	if r == nil || !r.inbox.put(message{kind: msgReport, report: &report}) {
		// Nobody needs it any more: the execution is over or was never ours. The agent may forget it. While
		// the engine stops, a run that did not end must not lose the answer: it is not settled.
		if !e.stopping() {
			report.Settled()
		}
	}
}

// TaskProgressed implements core.TaskSink.
func (e *Engine) TaskProgressed(agentID, taskID string, data json.RawMessage) {
	if r := e.runOfTask(taskID); r != nil {
		r.inbox.put(message{kind: msgProgress, agent: agentID, task: taskID, data: data})
	}
}

// AgentLost implements core.TaskSink.
func (e *Engine) AgentLost(agentID string, taskIDs []string) {
	served := e.servedBy(agentID)
	for _, id := range taskIDs {
		if r := e.runOfTask(id); r != nil && !slices.Contains(served, r) {
			r.inbox.put(message{kind: msgLost, agent: agentID, task: id})
		}
	}
	for _, r := range served { // with all that it does for them
		r.inbox.put(message{kind: msgLost, agent: agentID})
	}
	e.waiters.afresh() // those who waited for this agent may have no other to wait for
}

// CapacityChanged implements core.TaskSink.
func (e *Engine) CapacityChanged() { e.waiters.kick() }

func (e *Engine) runOfTask(id string) *run {
	e.tasksMu.RLock()
	defer e.tasksMu.RUnlock()
	return e.tasks[id]
}

func (e *Engine) stopping() bool {
	select {
	case <-e.quit:
		return true
	default:
		return false
	}
}

// handle folds one message into the change.
func (r *run) handle(m message, c *change) {
	switch m.kind {
	case msgReport:
		growStack()
		c.settle = append(c.settle, m.report.Settled)
		r.body.report(*m.report, c)
	case msgLost:
		r.body.lost(m.agent, m.task, c)
	case msgAgents:
		if !r.queued || m.ticket != r.ticket {
			r.eng.giveBack(r, m.agents, m.slot)
			return
		}
		r.queued = false
		r.slot = r.slot || m.slot
		if m.youth != nil {
			r.youth = m.youth
		}
		r.body.grant(m, c)
	case msgProgress:
		r.progress(m)
	case msgLook: // advance looks
	case msgCancel:
		r.cancels = append(r.cancels, m.reply)
		if !c.over {
			c.causedBy(m.by, func() { r.cancel(c, m.reason) })
		}
	default:
		r.body.other(m, c)
	}
}

func (r *flat) find(id string) *attempt {
	if r.step == nil {
		return nil
	}
	for _, t := range r.step.tasks {
		if t.id == id {
			return t
		}
	}
	return nil
}

// report implements body.
func (r *flat) report(rep core.TaskReport, c *change) {
	t := r.find(rep.TaskID)
	// What came behind the answer that ends a race, in this very turn, does not count.
	if c.over || r.won() || t == nil || !t.takes(rep) || r.votesElsewhere(t) {
		r.tooLate(rep, t, c)
		return
	}
	if t.state == attemptOut {
		c.release = append(c.release, releaseOp{agent: rep.AgentID, task: t.id})
	}
	if rep.Err != nil {
		r.failTask(c, t, statusFailed, declined(rep), rep.Err.Retryable)
		return
	}
	s := r.step
	r.completeAttempt(c, t, s.place(), rep)
	s.answers = append(s.answers, core.Answer{AgentID: rep.AgentID, Name: rep.AgentName, Result: rep.Result})
	if s.step.Strategy == core.StepSequential {
		s.context = r.taskContext(c.now)
	}
}

// votesElsewhere reports whether the agent of an attempt that was given up has another task of the step, or answered it: each
// agent counts once in a step.
func (r *flat) votesElsewhere(t *attempt) bool {
	return t.state == attemptWaiting && slices.ContainsFunc(r.step.tasks, func(other *attempt) bool {
		return other != t && other.agent == t.agent && (other.state == attemptOut || other.state == attemptDone)
	})
}

// tooLate journals a report that does not count; a repeated report of a counted answer leaves no trace.
func (r *flat) tooLate(rep core.TaskReport, t *attempt, c *change) {
	if c.over || t != nil && t.heldBy(rep) && t.state == attemptDone {
		return
	}
	reason := reasonReassigned
	switch {
	case t == nil || r.won():
		reason = reasonStepOver
	case t.state == attemptFailed || t.state == attemptWaiting:
		reason = reasonGivenUp
	}
	r.late(c, rep, taskData{TaskID: rep.TaskID, AgentID: rep.AgentID, Attempt: rep.Attempt, Reason: reason})
}

// failTask ends an attempt of a task that is out; the task goes to another agent if it may.
func (r *flat) failTask(c *change, t *attempt, status string, cause core.ExecutionError, retryable bool) {
	r.step.lastErr = &cause
	r.failAttempt(c, t, r.step.place(), status, cause, retryable, nil)
}

// overdue implements body.
func (r *flat) overdue(c *change) {
	if r.step == nil {
		return
	}
	for _, t := range r.step.tasks {
		if t.overdue(c.now) {
			c.release = append(c.release, releaseOp{agent: t.agent, task: t.id, cancel: "task timeout"})
			r.failTask(c, t, statusTimeout, r.silence(t.agent, r.taskTimeout()), true)
		}
	}
}

func (r *flat) taskTimeout() time.Duration {
	if d := r.step.step.TaskTimeout; d > 0 {
		return d
	}
	return r.eng.config.Load().TaskTimeout
}

// need is the step's need without the agents that serve it already, and without more.
func (r *flat) need(more []string) core.TaskNeed {
	need := r.step.step.Need
	exclude := make(map[string]bool, len(r.step.tasks)+len(more)+len(need.Exclude))
	for id := range need.Exclude {
		exclude[id] = true
	}
	for _, t := range r.step.tasks {
		if t.state == attemptOut || t.state == attemptDone {
			exclude[t.agent] = true
		}
	}
	for _, id := range more {
		exclude[id] = true
	}
	if len(exclude) == 0 {
		exclude = nil
	}
	need.Exclude = exclude
	return need
}

// waiting returns the tasks that may be handed out now.
func (r *flat) waiting() []*attempt {
	var list []*attempt
	if r.step == nil {
		return nil
	}
	for _, t := range r.step.tasks {
		switch {
		case t.state == attemptWaiting:
			list = append(list, t)
		case t.state == attemptOut && r.step.step.Strategy == core.StepSequential:
			return nil
		}
		if len(list) == 1 && r.step.step.Strategy == core.StepSequential {
			return list
		}
	}
	return list
}

// wants says which agents the run lacks, for the scheduler.
func (r *flat) wants() (core.TaskNeed, int) {
	list := r.waiting()
	if len(list) == 0 {
		return core.TaskNeed{}, 0
	}
	return r.needOf(list), len(list)
}

// needOf avoids agents that failed a task before, as long as there are others.
func (r *flat) needOf(list []*attempt) core.TaskNeed {
	var failed []string
	for _, t := range list {
		failed = append(failed, t.excluded...)
	}
	if len(failed) > 0 {
		if need := r.need(failed); r.eng.agents.CountCapable(need) > 0 {
			return need
		}
	}
	return r.need(nil)
}

// least is how many agents there must be before the first task of the present step is handed out; 0 once one was.
func (r *flat) least() int {
	for _, t := range r.step.tasks {
		if t.number > 0 {
			return 0
		}
	}
	return max(r.step.step.Min, 1)
}

// short reports whether too few agents are left to bring the present step to its end.
func (r *flat) short() (available int, short bool) {
	s := r.step
	have, waiting := len(s.answers), 0
	for _, t := range s.tasks {
		switch t.state {
		case attemptOut:
			have++
		case attemptWaiting:
			waiting++
		}
	}
	least := max(s.step.Min, 1)
	if waiting == 0 || have >= least {
		return 0, false
	}
	available = have + r.eng.agents.CountCapable(r.need(nil))
	return available, available < least
}

// place hands waiting tasks to free agents and returns how many it placed. A run without a slot takes
// one first, and stays in line if there is none or others wait for the same.
func (r *flat) place(c *change) int {
	list := r.waiting()
	if len(list) == 0 || r.queued || c.late {
		return 0
	}
	need := r.needOf(list)
	switch {
	case r.eng.waiters.holds.Load():
		return 0 // somebody holds what comes free: each in turn
	case r.least() > 1 && r.eng.agents.CountCapable(need) < r.least():
		return 0 // work is handed out to enough agents, or to none
	}
	if !r.slot {
		if r.eng.waiters.blocking(r.exec, r.step.step.Need) {
			return 0
		}
		if r.exec.Status == core.ExecutionPending {
			if r.youth, _ = r.eng.pace.begin(r.exec.CreatedBy, c.now); r.youth == nil {
				return 0
			}
		}
		own := r.plan.Definition().MaxActive
		if r.eng.limits.take(r.exec.Pattern.Name, own, r.eng.config.Load()) != granted {
			r.eng.pace.undo(r.youth)
			return 0
		}
		r.slot = true
	}
	agents := r.eng.agents.Reserve(need, len(list))
	r.nobody = nil
	if len(agents) == 0 && len(need.Exclude) > 0 && r.eng.agents.CountCapable(need) == 0 {
		r.nobody = need.Exclude
	}
	r.assign(c, list, agents)
	if len(agents) == 0 && r.exec.Status == core.ExecutionPending {
		r.slot = false
		r.eng.pace.undo(r.youth)
		r.eng.limits.give(r.exec.Pattern.Name)
	}
	return len(agents)
}

// useAgents hands waiting tasks to agents that the scheduler reserved.
func (r *flat) useAgents(c *change, agents []string) {
	var list []*attempt
	if !c.over {
		list = r.waiting()
	}
	if spare := len(agents) - len(list); spare > 0 {
		for _, id := range agents[len(list):] {
			c.release = append(c.release, releaseOp{agent: id})
		}
		agents = agents[:len(list)]
	}
	r.assign(c, list, agents)
	if r.slot && r.exec.Status == core.ExecutionPending && !c.over {
		r.slot = false
		r.eng.limits.give(r.exec.Pattern.Name)
	}
}

// assign journals the hand-out of list[i] to agents[i].
func (r *flat) assign(c *change, list []*attempt, agents []string) {
	if len(agents) == 0 {
		return
	}
	if r.exec.Status == core.ExecutionPending {
		r.start(c)
	}
	timeout := r.taskTimeout()
	data := assignedData{Step: r.step.path, Round: r.step.round, Tasks: make([]core.Assignment, len(agents))}
	for i, agent := range agents {
		t := list[i]
		t.sent, t.due = c.now, c.now.Add(timeout)
		data.Tasks[i] = t.handOut(agent)
		r.team.join(agent, r.eng.agents.AgentName(agent))
		c.dispatch = append(c.dispatch, t)
	}
	data.orderData = r.order()
	r.event(c, core.EventTaskAssigned, data)
}

// order returns what the journal records of the step's tasks, beside the input and the metadata of the execution.
func (r *flat) order() orderData {
	input, context := r.step.input, r.step.context
	if bytes.Equal(input, r.exec.Input) {
		input = nil
	}
	if len(r.seq.steps) == 0 && len(r.step.answers) == 0 {
		context = nil
	}
	kept := orderOf(input, context)
	kept.Kept = r.step.path != ""
	return kept
}

// wire is the task as agents get it.
func (r *flat) wire(t *attempt) core.Task {
	capability := ""
	if caps := r.step.step.Need.Capabilities; len(caps) > 0 {
		capability = caps[0]
	}
	return core.Task{
		ID: t.id, ExecutionID: r.exec.ID,
		PatternName: r.exec.Pattern.Name, PatternVersion: r.exec.Pattern.Version,
		Step: r.step.path, Capability: capability,
		Input: r.step.input, Config: r.seq.plan.Definition().Config, Secrets: len(r.seq.plan.Definition().Secrets) > 0,
		Timeout: r.taskTimeout(), Priority: r.exec.Options.Priority,
		Context: r.step.context, Attempt: t.number, Trace: r.attemptTrace(t),
	}
}

// taskContext returns the context of a task, beside its input: metadata, earlier steps, earlier answers of a
// sequential step. It is nil when there is nothing to tell.
func (r *flat) taskContext(time.Time) json.RawMessage {
	type earlier struct {
		Result     json.RawMessage `json:"result"`
		Confidence float64         `json:"confidence"`
	}
	type previous struct {
		AgentID string          `json:"agentId"`
		Result  json.RawMessage `json:"result"`
	}
	var body struct {
		Metadata map[string]any     `json:"metadata,omitempty"`
		Steps    map[string]earlier `json:"steps,omitempty"`
		Previous []previous         `json:"previous,omitempty"`
	}
	body.Metadata = r.exec.Options.Metadata
	for id, o := range r.seq.steps {
		if body.Steps == nil {
			body.Steps = map[string]earlier{}
		}
		body.Steps[id] = earlier{o.Result, o.Confidence}
	}
	if r.step.step.Strategy == core.StepSequential {
		for _, a := range r.step.answers {
			body.Previous = append(body.Previous, previous{a.AgentID, a.Result})
		}
	}
	if body.Metadata == nil && body.Steps == nil && body.Previous == nil {
		return nil
	}
	raw, err := json.Marshal(body)
	if err != nil {
		r.eng.log.Error("task context does not marshal", "execution", r.exec.ID, "error", err)
		return nil
	}
	return raw
}

// progress passes an agent's progress on to those who watch now; it is not stored.
func (r *run) progress(m message) {
	step, ok := r.body.stepOf(m.agent, m.task)
	if !ok {
		return
	}
	data, err := json.Marshal(struct {
		AgentID string          `json:"agentId"`
		TaskID  string          `json:"taskId"`
		Step    string          `json:"step,omitempty"`
		Detail  json.RawMessage `json:"progress"`
	}{m.agent, m.task, step, m.data})
	if err != nil {
		return
	}
	r.eng.streams.Publish([]core.Event{{
		Type: core.EventTaskProgress, Time: r.eng.clock.Now(), Subject: r.exec.ID, Data: data,
	}})
}
