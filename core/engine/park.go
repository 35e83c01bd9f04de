package engine

import (
	"encoding/json"
	"slices"

	"github.com/wardroom/wardroom/core"
)

// An execution of an org chart that runs and can do nothing but wait is parked: it gives back its slot of those that
// run at once, and the agents that do nothing for it. The tasks that are out stay with their agents, which are in the
// midst of them. Once there is something to do it stands in line for a slot by its priority and its whole age, and only
// then gets on. Since no execution keeps a slot while it waits for an agent, or for people, whoever has one goes on by
// itself, and those who wait for slots and agents cannot wait for each other.

// heldReply is the answer to a message. Its asker gets it once the execution has a slot again; until then the clock of
// the asker's task stands still.
type heldReply struct {
	exchange *exchange
	content  json.RawMessage
}

// parked reports whether the execution has given back its slot.
func (r *chartRun) parked() bool { return r.exec.Waiting != nil }

// active reports whether something of the execution goes on by itself: a task whose clock runs, a message that an agent
// is to answer, or an agent that is being spawned.
func (r *chartRun) active() bool {
	for l := range r.out {
		if l.state == attemptOut && l.waits == 0 {
			return true
		}
	}
	for _, l := range r.exchanges.list {
		if l.question == nil && l.caller == nil {
			return true
		}
	}
	return slices.ContainsFunc(r.roles, func(role *roleRun) bool { return len(role.spawning) > 0 })
}

// ready reports whether there is something to do for which a slot is all that is lacking.
func (r *chartRun) ready() bool {
	for _, h := range r.exchanges.held {
		if r.asker(h.exchange) != nil {
			return true
		}
	}
	if slices.ContainsFunc(r.roles, (*roleRun).placeable) {
		return true
	}
	for _, l := range r.exchanges.list {
		if l.caller == nil {
			continue
		}
		if inst, wait := r.find(l, l.To, ""); inst != nil || !wait {
			return true
		}
	}
	return false
}

// placeable reports whether a step that waits can be handed to an idle instance.
func (r *roleRun) placeable() bool {
	for _, l := range r.queue {
		if r.idle(l.excluded, "") != nil {
			return true
		}
		others := slices.ContainsFunc(r.instances, func(inst *instance) bool { return !slices.Contains(l.excluded, inst.agent) })
		if !others && len(r.spawning) == 0 && r.idle(nil, "") != nil {
			return true
		}
	}
	return false
}

// asker returns the task that an exchange was sent for, if it is out still, or nil.
func (r *chartRun) asker(l *exchange) *leaf {
	if r.exchanges.byID[l.MessageID] != l {
		return nil
	}
	return r.outAt(l.TaskID, l.AgentID)
}

// holdReply keeps an answer until the execution has a slot. The asker's task is out.
func (r *chartRun) holdReply(task *leaf, l *exchange, content json.RawMessage, c *change) {
	task.pause(c.now)
	r.exchanges.held = append(r.exchanges.held, heldReply{l, content})
}

// holds reports whether the answer to an exchange is kept until the execution has a slot.
func (r *chartRun) holds(l *exchange) bool {
	return slices.ContainsFunc(r.exchanges.held, func(h heldReply) bool { return h.exchange == l })
}

// park gives back what an execution that can only wait does not use.
func (r *chartRun) park(c *change) {
	if c.over || !r.bound || r.exec.Status != core.ExecutionRunning || r.active() {
		return
	}
	reason := core.WaitForSlot
	switch {
	case r.ready():
		if !r.parked() {
			return
		}
	case r.frozenBy > 0:
		reason = core.WaitForPeople
	case slices.ContainsFunc(r.roles, (*roleRun).starved):
		reason = core.WaitForAgents
	default:
		return
	}
	if !r.parked() {
		r.yieldIdle(c, "the execution waits for "+string(reason))
	}
	if !r.parked() || r.exec.Waiting.For != reason {
		r.exec.Waiting = &core.ExecutionWait{For: reason, Since: c.now}
		c.put = true
	}
	if r.slot {
		r.slot, c.freeSlot = false, true
	}
}

// unpark takes up an execution that has got its slot, and reports whether it may hand out work.
func (r *chartRun) unpark(c *change) bool {
	switch {
	case !r.parked():
		return true
	case r.slot: // the scheduler gave it
	case r.active(): // an agent went on without an answer: it is not held up, and counts
		r.eng.limits.force(r.exec.Pattern.Name)
	case r.queued || !r.ready() || !r.takeSlot():
		return false
	}
	r.slot, r.exec.Waiting, c.put = true, nil, true
	for _, h := range r.exchanges.held {
		if task := r.asker(h.exchange); task != nil {
			task.unpause(c.now)
			r.carryReply(c, h.exchange, task.instance.managed, h.content)
		}
	}
	r.exchanges.held = nil
	return true
}

// takeSlot takes a slot now, if no run waits for one.
func (r *chartRun) takeSlot() bool {
	return r.eng.waiters.len() == 0 &&
		r.eng.limits.take(r.exec.Pattern.Name, r.plan.Definition().MaxActive, r.eng.config.Load()) == granted
}

// starvedOf returns those of wants that something waits for.
func (r *chartRun) starvedOf(wants []roleWant) []roleWant {
	return slices.DeleteFunc(wants, func(w roleWant) bool { return !r.role(w.role.Key).starved() })
}
