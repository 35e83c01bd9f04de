package engine

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/wardroom/wardroom/core"
)

// flat is the body of a flat pattern: one step after the other, each at several agents.
type flat struct {
	*run
	seq     *sequence       // the innermost pattern that runs
	step    *stepRun        // the step at agents now, or nil
	past    pastSteps       // of a resumed run: what its journal says
	asked   request         // what it stands in line for
	nobody  map[string]bool // the exclusions with which no agent fitted at the last look, or nil
	taskIDs []string        // registered at the engine
}

func newFlat(r *run) *flat {
	return &flat{run: r, seq: &sequence{plan: r.plan, input: r.exec.Input}}
}

// sequence is one pattern being run: the execution's own, or one composed into it.
type sequence struct {
	plan   core.Plan
	prefix string // of step paths: "" or "a/"
	input  json.RawMessage
	steps  map[string]core.Outcome
	last   *core.Outcome
	index  int // of the step that runs
	parent *sequence
}

// restore implements body.
func (r *flat) restore(events []core.Event) error {
	past, err := replay(events)
	r.past = past
	return err
}

// resume implements body.
func (r *flat) resume(c *change) {
	if c.now.Before(r.deadline) {
		r.advance(c)
		return
	}
	for r.step == nil && r.enter(c) { // so that the failure names the agents of the step it was at
	}
	if !c.over {
		r.timeout(c)
	}
}

// lost implements body.
func (r *flat) lost(agent, task string, c *change) {
	t := r.find(task)
	if t != nil && t.state == attemptOut && t.agent == agent {
		r.failTask(c, t, statusLost, r.loss(t.agent, false), true)
	}
}

// grant implements body.
func (r *flat) grant(m message, c *change) { r.useAgents(c, m.agents) }

// other implements body. Flat patterns route no messages and have no roles.
func (r *flat) other(message, *change) {}

// stepOf implements body.
func (r *flat) stepOf(agent, task string) (string, bool) {
	t := r.find(task)
	if t == nil || t.state != attemptOut || t.agent != agent {
		return "", false
	}
	return r.step.path, true
}

// frozen implements body: the deadline of a flat pattern passes always.
func (r *flat) frozen() bool { return false }

// drop implements body.
func (r *flat) drop() { r.step = nil }

// closing implements body: nothing goes with the end.
func (r *flat) closing(*change) {}

// ended implements body.
func (r *flat) ended() { r.eng.forgetTasks(r.taskIDs) }

// undo implements body.
func (r *flat) undo(c *change) {
	for _, t := range c.dispatch {
		r.eng.agents.Release(t.agent, "", "")
	}
	r.eng.forgetTasks(r.taskIDs)
}

// send implements body.
func (r *flat) send(c *change, now time.Time) {
	for _, t := range c.dispatch {
		if t.state != attemptOut {
			continue
		}
		t.sent, t.due = now, now.Add(r.taskTimeout())
		if !r.eng.agents.Dispatch(t.agent, r.wire(t)) {
			r.inbox.put(message{kind: msgLost, agent: t.agent, task: t.id})
		}
	}
}

// nextDue implements body.
func (r *flat) nextDue() time.Time {
	var next time.Time
	if r.step != nil {
		for _, t := range r.step.tasks {
			if t.state == attemptOut {
				next = sooner(next, t.due)
			}
		}
	}
	return next
}

// request describes the agents that a run waits for. A grant answers the request of one ticket; one that comes when
// the run asks for something else, or for nothing, is given back: it may be of agents that the step has
// already, or that fit another step.
type request struct {
	step    *stepRun
	count   int
	slot    bool
	exclude map[string]bool
}

// line stands in line at the scheduler while tasks wait for agents.
func (r *flat) line() {
	need, count := r.wants()
	if count == 0 {
		if r.queued {
			r.eng.waiters.remove(r.run)
			r.queued = false
		}
		return
	}
	if r.slot && !r.atWork() { // it only waits: who could give it what it waits for may need the slot to get on
		r.slot = false
		r.eng.limits.give(r.exec.Pattern.Name)
		r.eng.waiters.kick()
	}
	asked := request{r.step, count, !r.slot, need.Exclude}
	if r.queued && asked.step == r.asked.step && asked.count == r.asked.count && asked.slot == r.asked.slot &&
		maps.Equal(asked.exclude, r.asked.exclude) {
		return // it stands there for the same, or its grant is in the inbox
	}
	told := r.nobody != nil && maps.Equal(need.Exclude, r.nobody)
	r.ticket++
	r.queued, r.asked = true, asked
	r.eng.waiters.add(&waiter{
		run: r.run, ticket: r.ticket, need: need, count: count, least: r.least(), needsSlot: asked.slot, told: told,
		own: r.plan.Definition().MaxActive, since: r.since, level: r.level, begins: asked.slot && r.exec.Status == core.ExecutionPending,
	})
}

// atWork reports whether a task of the present step is at an agent.
func (r *flat) atWork() bool {
	return slices.ContainsFunc(r.step.tasks, func(t *attempt) bool { return t.state == attemptOut })
}

// scope is what expressions of the innermost pattern may refer to.
func (r *flat) scope(now time.Time) core.Scope {
	return core.Scope{
		Input: r.seq.input, Steps: r.seq.steps, Last: r.seq.last,
		AgentCount: len(r.agents), Duration: r.exec.Duration(now),
	}
}
