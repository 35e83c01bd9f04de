package engine

import (
	"context"
	"slices"

	"github.com/wardroom/wardroom/core"
)

// journalPage is how many journal entries are read at once.
const journalPage = 1000

// questionPage is how many questions are read at once.
const questionPage = 100

// errUnreadable says that a journal has an event that cannot be read.
var errUnreadable = core.Errorf(core.CodeInternal, "an event of the execution's journal cannot be read")

// resume takes up an execution where its journal stands.
func (e *Engine) resume(ctx context.Context, exec *core.Execution) error {
	plan, err := e.patterns.Plan(ctx, exec.Hash)
	switch {
	case err == nil:
	case transient(ctx, err):
		return err
	default:
		return e.interrupt(ctx, exec, err)
	}
	events, err := e.journal(ctx, exec.ID)
	copied := *exec
	r := e.newRun(&copied, plan)
	if err == nil {
		r.team.replay(events, e.agents.AgentName)
		err = r.body.restore(events)
	}
	switch {
	case err == nil:
	case transient(ctx, err):
		return err
	default:
		e.setAside("journal", exec.ID, err)
		return e.interrupt(ctx, exec, err)
	}
	if slotsOf(exec) > 0 {
		r.slot = true
		e.limits.force(exec.Pattern.Name)
	}
	if err := e.register(r, false); err != nil {
		return err
	}
	r.restoreLate(events)
	c := r.newChange()
	r.deadline = believe(c.now, exec.CreatedAt, exec.Deadline)
	r.body.resume(c)
	e.launch(r, c) // a store that refuses must not keep the engine from opening
	return nil
}

// interrupt ends an execution that cannot be taken up again.
func (e *Engine) interrupt(ctx context.Context, exec *core.Execution, cause error) error {
	e.log.Error("execution cannot be resumed", "execution", exec.ID, "error", cause)
	copied := *exec
	r := e.newRun(&copied, nil)
	if err := e.register(r, false); err != nil {
		return err
	}
	c := r.newChange()
	switch err := e.cancelQuestions(ctx, exec.ID, c); {
	case err == nil:
	case transient(ctx, err):
		e.unregister(r)
		return err
	default:
		e.setAside("question", exec.ID, err)
	}
	r.fail(c, core.CodeInterrupted, "the execution could not be resumed after a restart", nil)
	if e.roles != nil {
		c.after = append(c.after, func() { e.roles.StopExecution(exec.ID, "the execution is over") })
	}
	e.launch(r, c)
	return nil
}

// cancelQuestions cancels what an execution that cannot be taken up asks people.
func (e *Engine) cancelQuestions(ctx context.Context, id string, c *change) error {
	filter := core.QuestionFilter{ExecutionID: id, Status: core.QuestionOpen, Page: core.Page{Limit: questionPage}}
	for {
		page, info, err := e.store.FindQuestions(ctx, filter)
		if err != nil {
			return err
		}
		for _, q := range page {
			at := c.now
			q.Status, q.ClosedAt = core.QuestionCancelled, &at
			c.questions = append(c.questions, q)
		}
		if !info.HasMore {
			return nil
		}
		filter.Cursor = info.NextCursor
	}
}

// journal reads all events of an execution.
func (e *Engine) journal(ctx context.Context, id string) ([]core.Event, error) {
	var all []core.Event
	var after uint64
	for {
		page, more, err := e.store.Events(ctx, id, after, journalPage)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(page, func(e core.Event) bool { return e.Type == core.EventUnreadable }) {
			return nil, errUnreadable
		}
		all = append(all, page...)
		if !more || len(page) == 0 {
			return all, nil
		}
		after = page[len(page)-1].Seq
	}
}

// restoreFinished moves past a step that the journal has as finished, and reports whether it did.
func (r *flat) restoreFinished(path string) bool {
	if r.past == nil {
		return false
	}
	past := r.past[path]
	if past == nil || past.finished == nil {
		return false
	}
	outcome := core.Outcome{Result: past.finished.Result, Confidence: past.finished.Confidence}
	if r.seq.current().Compose == nil && len(past.answers) > 0 {
		// Variables are a function of the answers; the journaled result stands, it may be a fallback.
		if folded, err := r.fold(r.seq.current(), past.answers); err == nil {
			outcome.Variables = folded.Variables
		}
	}
	r.countAgents(past)
	for _, a := range past.answers {
		r.results = append(r.results, core.AgentResult{ID: a.AgentID, Name: a.Name, Step: path, Status: statusCompleted, Result: a.Result})
	}
	r.restoreComposed(path)
	r.seq.finish(outcome)
	return true
}

// countAgents notes who answered a step, in any round.
func (r *flat) countAgents(past *pastStep) {
	for _, id := range past.agents {
		r.agents[id] = struct{}{}
	}
}

// restoreComposed counts the answers given inside a finished composed step.
func (r *flat) restoreComposed(path string) {
	if r.seq.current().Compose == nil {
		return
	}
	hash, ok := r.exec.Pins[pinKey(r.seq.current().Compose)]
	if !ok {
		return
	}
	plan, err := r.composed(hash)
	if err != nil {
		return
	}
	outer := r.seq
	r.seq = &sequence{plan: plan, prefix: path + "/", parent: outer}
	for r.seq.index < len(plan.Definition().Steps) {
		if !r.restoreFinished(r.seq.path()) {
			break
		}
	}
	r.seq = outer
}

// restoreTasks takes over what the journal says of a step that is not finished.
func (r *flat) restoreTasks(c *change) {
	if r.past == nil {
		return
	}
	past := r.past[r.step.path]
	r.past[r.step.path] = nil // a later round starts afresh
	if past == nil {
		return
	}
	s := r.step
	s.round, s.answers = past.round, past.answers
	r.countAgents(past)
	var adopt []*attempt
	for _, p := range past.tasks {
		t := &p.attempt
		switch p.state {
		case attemptFailed, attemptWaiting:
			s.lastErr = p.cause
		case attemptOut:
			t.sent, t.due = c.now, c.now.Add(r.taskTimeout())
			adopt = append(adopt, t)
		}
		s.tasks = append(s.tasks, t)
		r.rememberTask(t.id)
	}
	s.context = r.taskContext(c.now)
	for _, t := range adopt {
		if !r.eng.agents.Adopt(t.agent, r.wire(t)) {
			r.failTask(c, t, statusLost, r.loss(t.agent, true), true)
		}
	}
}
