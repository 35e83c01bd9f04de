package engine

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/wardroom/wardroom/core"
)

// roleRun is a role of an org chart in one execution.
type roleRun struct {
	role      *core.Role
	need      core.TaskNeed
	instances []*instance // bound, in the order of binding
	queue     []*leaf     // steps that wait for an instance, the next one first
	spawning  map[int]bool
	taken     map[int]bool // numbers of instances, and of those that are being spawned
	lowest    int          // below it every number is taken
	used      map[int]bool // numbers of agents that were spawned
	failures  int          // of spawns in a row
	spawnAt   time.Time    // before then no agent is spawned for it; zero: no such wait
	callers   int          // messages that wait for an agent of the role
	yielded   int          // instances given back while the execution waited; they are not missed before they are needed
}

// instance is one agent, or one slot of it, that serves a role.
type instance struct {
	role    *roleRun
	number  int
	agent   string
	kind    string // agent type of a spawned one
	managed bool
	gone    bool // lost, or given back
	unheld  bool // after a restart, until a task that was out is adopted: no slot is taken yet
	leaf    *leaf
	asked   int // messages that it was asked and did not answer; it is not given back meanwhile
}

func newRoleRun(role *core.Role) *roleRun {
	return &roleRun{role: role, need: core.TaskNeed{Capabilities: role.Capabilities}}
}

// least and most are how many instances the role has. most is 0 when there is no bound.
func (r *roleRun) least() int {
	if r.role.Singleton {
		return 1
	}
	return r.role.Min
}

func (r *roleRun) most() int {
	if r.role.Singleton {
		return 1
	}
	return r.role.Max
}

// missing is how many instances are to be waited for.
func (r *roleRun) missing() int {
	have := len(r.instances) + len(r.spawning)
	least := r.least() - r.yielded
	if r.needed() {
		least = max(least, 1)
	}
	return max(least-have, 0)
}

// needed reports whether something waits for an instance.
func (r *roleRun) needed() bool { return len(r.queue) > 0 || r.callers > 0 }

// starved reports whether something waits for an instance, and there is none, nor one to come.
func (r *roleRun) starved() bool { return r.needed() && len(r.instances)+len(r.spawning) == 0 }

// idle returns an instance without a task whose agent is not in avoid, or nil; the preferred agent first.
func (r *roleRun) idle(avoid []string, prefer string) *instance {
	var found *instance
	for _, inst := range r.instances {
		if inst.leaf != nil || inst.gone || slices.Contains(avoid, inst.agent) {
			continue
		}
		if prefer == "" || inst.agent == prefer {
			return inst
		}
		found = cmp.Or(found, inst)
	}
	return found
}

// freeNumber returns the lowest number that an agent of the role may have. One that was spawned keeps its number for
// ever: another spawned one never gets it.
func (r *roleRun) freeNumber(managed bool) int {
	for r.taken[r.lowest] {
		r.lowest++
	}
	n := r.lowest
	for r.taken[n] || managed && r.used[n] {
		n++
	}
	return n
}

func (r *roleRun) take(number int) {
	if r.taken == nil {
		r.taken = map[int]bool{}
	}
	r.taken[number] = true
}

func (r *roleRun) give(number int) {
	delete(r.taken, number)
	r.lowest = min(r.lowest, number)
}

// bindInstance journals that an agent serves a role.
func (r *chartRun) bindInstance(c *change, role *roleRun, inst *instance) {
	inst.role = role
	role.instances = append(role.instances, inst)
	role.take(inst.number)
	role.yielded = max(role.yielded-1, 0)
	if inst.managed {
		role.use(inst.number)
	}
	r.eng.bindAgent(inst.agent, r.run)
	name := ""
	if !inst.managed {
		name = r.eng.agents.AgentName(inst.agent)
	}
	r.event(c, core.EventRoleBound, roleBoundData{
		Role: role.role.Key, Instance: inst.number, AgentID: inst.agent, AgentName: name, AgentType: inst.kind, Managed: inst.managed,
	})
}

func (r *roleRun) use(number int) {
	if r.used == nil {
		r.used = map[int]bool{}
	}
	r.used[number] = true
}

// unbind journals that an agent serves a role no more. give says that its slot is to be given back.
func (r *chartRun) unbind(c *change, inst *instance, reason string, give bool) {
	r.unbindInstance(c, inst, roleReleasedData{Reason: reason}, give)
}

func (r *chartRun) unbindInstance(c *change, inst *instance, data roleReleasedData, give bool) {
	inst.gone = true
	role := inst.role
	role.failures = 0
	role.instances = slices.DeleteFunc(role.instances, func(i *instance) bool { return i == inst })
	role.give(inst.number)
	r.eng.unbindAgent(inst.agent, r.run)
	data.AgentID, data.Role, data.Instance = inst.agent, role.role.Key, inst.number
	r.event(c, core.EventRoleReleased, data)
	if give {
		c.release = append(c.release, releaseOp{agent: inst.agent, managed: inst.managed})
	}
}

// freeInstance ends what an instance does; it serves its role on.
func (r *chartRun) freeInstance(c *change, l *leaf, cancel string) {
	inst := l.instance
	if inst == nil {
		return
	}
	inst.leaf, l.instance = nil, nil
	if !inst.gone {
		c.release = append(c.release, releaseOp{agent: inst.agent, task: l.id, cancel: cancel, keep: true, managed: inst.managed})
	}
}

// lost implements body.
func (r *chartRun) lost(agent, task string, c *change) {
	if c.over {
		return
	}
	if task != "" {
		if l := r.leaves[task]; l == nil || l.state != attemptOut || l.agent != agent {
			return
		}
	}
	for _, role := range r.roles {
		for _, inst := range slices.Clone(role.instances) {
			if inst.agent != agent || inst.gone {
				continue
			}
			if c.over {
				return
			}
			l := inst.leaf
			r.unbind(c, inst, core.ReleasedLost, false)
			r.instanceOver(c, inst)
			if l == nil || c.over { // the end took back what it did
				continue
			}
			inst.leaf, l.instance = nil, nil
			r.failTask(c, l, statusLost, core.ExecutionError{
				Code: core.CodeAgentError, Message: fmt.Sprintf("agent %s was lost", r.called(agent)),
			}, true)
		}
	}
}

// place hands waiting steps to idle instances, and binds more where all are busy.
func (r *chartRun) place(c *change) {
	for _, role := range r.roles {
		if len(role.queue) > 0 {
			r.serve(c, role)
		}
		if len(role.queue) > 0 && r.grow(c, role) {
			r.serve(c, role)
		}
		if len(role.queue) > 0 {
			r.settleFor(c, role)
		}
		if c.over {
			return
		}
		r.shrink(c, role)
	}
}

// serve hands steps to idle instances of agents that did not fail them before.
func (r *chartRun) serve(c *change, role *roleRun) {
	var idle []*instance
	for _, inst := range role.instances {
		if inst.leaf == nil && !inst.gone {
			idle = append(idle, inst)
		}
	}
	queue, next := role.queue, 0
	var passed []*leaf
	for ; next < len(queue) && len(idle) > 0 && !c.over; next++ {
		l := queue[next]
		at := -1
		for k, inst := range idle {
			if slices.Contains(l.excluded, inst.agent) {
				continue
			}
			if at < 0 || inst.agent == l.prefer {
				at = k
			}
			if l.prefer == "" || inst.agent == l.prefer {
				break
			}
		}
		if at < 0 {
			passed = append(passed, l)
			continue
		}
		r.hand(c, l, idle[at])
		if at == 0 {
			idle = idle[1:]
		} else {
			idle = slices.Delete(idle, at, at+1)
		}
	}
	role.queue = queue[next:]
	if len(passed) > 0 {
		role.queue = append(passed, role.queue...)
	}
}

// hand assigns a step to an instance, if its task can be made.
func (r *chartRun) hand(c *change, l *leaf, inst *instance) {
	l.instance = inst
	made, err := r.wire(l)
	if err != nil {
		l.instance = nil
		r.failWith(c, err)
		return
	}
	l.made = &made
	r.assign(c, l, inst)
}

// settleFor hands steps to agents that failed them before, when there are no others.
func (r *chartRun) settleFor(c *change, role *roleRun) {
	for i := 0; i < len(role.queue) && !c.over; {
		l := role.queue[i]
		others := slices.ContainsFunc(role.instances, func(inst *instance) bool { return !slices.Contains(l.excluded, inst.agent) })
		inst := role.idle(nil, "")
		if inst == nil {
			return
		}
		if len(l.excluded) == 0 || others || len(role.spawning) > 0 {
			i++
			continue
		}
		inst = r.replace(c, role, inst, l.excluded)
		role.queue = slices.Delete(role.queue, i, i+1)
		r.hand(c, l, inst)
	}
}

// shrink gives back slots of connected agents beyond what the role needs when nothing waits for them.
func (r *chartRun) shrink(c *change, role *roleRun) {
	if len(role.queue) > 0 {
		return
	}
	keep := max(role.least(), 1)
	for i := len(role.instances) - 1; i >= 0 && len(role.instances) > keep; i-- {
		if inst := role.instances[i]; inst.leaf == nil && !inst.managed && inst.asked == 0 {
			r.unbind(c, inst, "nothing waits for it", true)
		}
	}
}

// secure binds an agent for roles that something waits for and that have none. While there is none to be had, the
// execution gives back what is idle: two executions that each held what the other waits for would wait for ever.
func (r *chartRun) secure(c *change) {
	starved := func(role *roleRun) bool { return role.starved() }
	if c.over || !slices.ContainsFunc(r.roles, starved) {
		return
	}
	if !r.queued && !r.eng.waiters.holds.Load() {
		wants := r.missing()
		if grants, _ := r.eng.bindRoles(wants, false); grants != nil {
			r.takeGrants(c, wants, grants)
			r.place(c)
			r.answerCalls(c)
		}
	}
	if !c.over && slices.ContainsFunc(r.roles, starved) {
		r.yieldIdle(c, "the execution waits for an agent of another role")
	}
}

// yieldIdle gives back the slots of connected agents that do nothing for the execution now. They are bound anew when
// something waits for them.
func (r *chartRun) yieldIdle(c *change, reason string) {
	for _, role := range r.roles {
		for _, inst := range slices.Clone(role.instances) {
			if inst.leaf == nil && !inst.managed && !inst.gone && !inst.unheld && inst.asked == 0 {
				r.unbindInstance(c, inst, roleReleasedData{Reason: reason, Yielded: true}, true)
				role.yielded++
			}
		}
	}
}
