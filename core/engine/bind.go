package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/clip"
	"github.com/wardroom/wardroom/core/internal/rawjson"
)

// missing lists what the roles lack.
func (r *chartRun) missing() []roleWant {
	var wants []roleWant
	for _, role := range r.roles {
		if n := role.missing(); n > 0 {
			spawn := n
			if role.failures > r.eng.config.Load().TaskRetries || !role.spawnAt.IsZero() {
				spawn = 0
			}
			wants = append(wants, roleWant{role: role.role, need: role.need, count: n, spawn: spawn})
		}
	}
	return wants
}

// bind sees to it that every role has its instances before the first step, all or nothing. It returns false while
// some lack.
func (r *chartRun) bind(c *change) bool {
	if r.bound {
		return true
	}
	if wants := r.missing(); (len(wants) > 0 || !r.slot) && !r.queued && !c.late {
		r.tryBind(c, wants)
	}
	if !r.slot {
		return false
	}
	for _, role := range r.roles {
		if len(role.instances) < role.least() {
			return false
		}
	}
	r.bound = true
	return true
}

// tryBind takes a slot and all roles now, if it can without overtaking others that wait for the same.
func (r *chartRun) tryBind(c *change, wants []roleWant) {
	held := r.slot
	if r.eng.waiters.holds.Load() {
		return // each in turn
	}
	if !held {
		if r.eng.waiters.stands(r.bindKey()) {
			return
		}
		if r.eng.limits.take(r.exec.Pattern.Name, r.plan.Definition().MaxActive, r.eng.config.Load()) != granted {
			return
		}
		r.slot = true
	}
	grants, _ := r.eng.bindRoles(wants, true)
	if grants == nil {
		if !held {
			r.slot = false
			r.eng.limits.give(r.exec.Pattern.Name)
		}
		return
	}
	r.takeGrants(c, wants, grants)
}

// bindKey is what executions of one principal and pattern that wait for their roles have in common.
func (r *chartRun) bindKey() string {
	return r.exec.CreatedBy + "\x00" + r.exec.Pattern.Name + "\x00\x00" + r.exec.Hash
}

func (r *chartRun) takeGrants(c *change, wants []roleWant, grants []roleGrant) {
	for i, g := range grants {
		role := r.role(wants[i].role.Key)
		for _, agent := range g.agents {
			if c.over { // a role before it had no workspace
				c.release = append(c.release, releaseOp{agent: agent})
				continue
			}
			r.bindInstance(c, role, &instance{number: role.freeNumber(false), agent: agent})
		}
		for range g.spawn {
			r.spawnOne(c, role)
		}
	}
}

// spawnOne asks for one more agent, once the change is durable. What it is to work in is evaluated now; an
// execution whose input says nothing of that fails.
func (r *chartRun) spawnOne(c *change, role *roleRun) {
	if c.over {
		return
	}
	workspace, err := r.chart.Workspace(role.role.Key, r.flow.Scope())
	if err != nil {
		r.failWith(c, err)
		return
	}
	number := role.freeNumber(true)
	if role.spawning == nil {
		role.spawning = map[int]bool{}
	}
	role.spawning[number] = true
	role.take(number)
	r.spawned = true
	c.spawn = append(c.spawn, core.RoleSpec{
		ExecutionID: r.exec.ID, Role: role.role.Key, Instance: number, Types: role.role.AgentTypes,
		Runtime: role.role.Runtime, Approval: role.role.Approval, Capabilities: role.role.Capabilities,
		Objective: r.objective(), Workspace: workspace, Trace: r.trace,
	})
}

// maxObjective bounds the objective of a role's thread, in bytes.
const maxObjective = 4 << 10

// objective returns the subject of the execution, for the threads of its roles.
func (r *chartRun) objective() string {
	if r.about == "" {
		r.about = objectiveOf(r.exec.Input)
	}
	return r.about
}

// objectiveOf is the task of an input, or else all of it.
func objectiveOf(input json.RawMessage) string {
	if raw, ok := rawjson.Field(input, "task"); ok && rawjson.KindOf(raw) == rawjson.String {
		return clip.Marked(string(rawjson.Unquote(raw)), maxObjective, ellipsis)
	}
	return clip.Marked(string(rawjson.AppendCompact(nil, input)), maxObjective, ellipsis)
}

// grow binds more instances of a role whose instances are all busy, up to its bound. It returns true when some
// can be used at once.
func (r *chartRun) grow(c *change, role *roleRun) bool {
	have := len(role.instances) + len(role.spawning)
	count := len(role.queue) - len(role.spawning)
	if most := role.most(); most > 0 {
		count = min(count, most-have)
	}
	if count <= 0 || have == 0 || r.eng.waiters.holds.Load() {
		return false // a role without any waits in line, and who needs less than it has goes without
	}
	most := cmp.Or(role.most(), max(role.least(), 1))
	need := role.need
	if exclude := role.failed(); len(exclude) > 0 {
		need.Exclude = exclude
	}
	spawn := max(min(count, most-have), 0)
	if !role.spawnAt.IsZero() {
		spawn = 0
	}
	wants := []roleWant{{role: role.role, need: need, count: count, spawn: spawn}}
	grants, _ := r.eng.bindRoles(wants, false)
	if grants == nil {
		return false
	}
	before := len(role.instances)
	r.takeGrants(c, wants, grants)
	return len(role.instances) > before
}

// failed returns the agents that failed every step that waits.
func (r *roleRun) failed() map[string]bool {
	var out map[string]bool
	for i, l := range r.queue {
		if len(l.excluded) == 0 {
			return nil
		}
		if i == 0 {
			out = make(map[string]bool, len(l.excluded))
			for _, id := range l.excluded {
				out[id] = true
			}
			continue
		}
		maps.DeleteFunc(out, func(id string, _ bool) bool { return !slices.Contains(l.excluded, id) })
	}
	return out
}

// replace exchanges an idle instance for one of an agent that is not in avoid, if there is one.
func (r *chartRun) replace(c *change, role *roleRun, inst *instance, avoid []string) *instance {
	if _, only, _ := r.eng.spawnable(role.role); inst.managed || only || r.eng.waiters.holds.Load() {
		return inst
	}
	need := role.need
	need.Exclude = make(map[string]bool, len(avoid))
	for _, id := range avoid {
		need.Exclude[id] = true
	}
	got := r.eng.agents.Reserve(need, 1)
	if len(got) == 0 {
		return inst
	}
	r.unbind(c, inst, "its task goes to another agent", true)
	other := &instance{number: role.freeNumber(false), agent: got[0]}
	r.bindInstance(c, role, other)
	return other
}

// line implements body.
func (r *chartRun) line() {
	wants, all, enough := r.missing(), !r.bound, r.slot
	if r.parked() {
		wants = r.starvedOf(wants)
		if enough = !r.ready(); !enough {
			wants, all = nil, true
		}
	}
	if len(wants) == 0 && enough {
		if r.queued {
			r.eng.waiters.remove(r.run)
			r.queued = false
		}
		return
	}
	if r.queued && r.lined == !r.slot && slices.EqualFunc(wants, r.wants, func(a, b roleWant) bool {
		return a.role == b.role && a.count == b.count && a.spawn == b.spawn
	}) {
		return
	}
	r.ticket++
	r.queued, r.wants, r.lined = true, wants, !r.slot
	key := r.bindKey()
	switch {
	case r.parked() && len(wants) == 0:
		key += "\x00slot"
	case r.parked() || r.slot:
		key += "\x00" + r.exec.ID
	}
	r.eng.waiters.add(&waiter{
		run: r.run, ticket: r.ticket, key: key, roles: wants, all: all, needsSlot: !r.slot,
		own: r.plan.Definition().MaxActive, since: r.since, level: r.level,
	})
}

// grant implements body.
func (r *chartRun) grant(m message, c *change) {
	if c.over {
		for _, id := range m.agents {
			c.release = append(c.release, releaseOp{agent: id})
		}
		return
	}
	r.takeGrants(c, r.wants, m.grants)
}

// requireAgents implements body.
func (r *chartRun) requireAgents(context.Context) error {
	var lacks []error
	for _, role := range r.roles {
		if err := r.requireRole(role, role.least()); err != nil {
			lacks = append(lacks, err)
		}
	}
	return joinLacks(lacks)
}

// requireStarved is requireAgents while the execution runs: of what waits, and of roles without an agent.
func (r *chartRun) requireStarved() error {
	var lacks []error
	for _, role := range r.roles {
		if !role.starved() {
			continue
		}
		if err := r.requireRole(role, 1); err != nil {
			lacks = append(lacks, err)
		}
	}
	return joinLacks(lacks)
}

// joinLacks makes one NO_AGENTS of those of several roles: the details are those of the first, and roles has those of each.
func joinLacks(lacks []error) error {
	switch len(lacks) {
	case 0:
		return nil
	case 1:
		return lacks[0]
	}
	texts, roles := make([]string, len(lacks)), make([]map[string]any, len(lacks))
	for i, lack := range lacks {
		e := core.AsError(lack)
		texts[i], roles[i] = e.Message, e.Details
	}
	err := core.Errorf(core.CodeNoAgents, "%s", strings.Join(texts, "; "))
	err.Details = maps.Clone(roles[0])
	err.Details["roles"] = roles
	return err
}

// failWithout ends the execution for lack of agents.
func (r *chartRun) failWithout(c *change, err error) {
	if err == nil {
		return
	}
	lack := core.AsError(err)
	r.fail(c, lack.Code, lack.Message, lack.Details)
}

// requireRole returns NO_AGENTS when a role cannot have as many agents as required, busy ones counted.
func (r *chartRun) requireRole(role *roleRun, required int) error {
	if required == 0 {
		return nil
	}
	can, only, reason := r.eng.spawnable(role.role)
	if can {
		return nil
	}
	available := 0
	if !only {
		if available = r.eng.agents.CountCapable(role.need); available >= required {
			return nil
		}
		slots := 0 // one agent may serve several times
		for _, n := range r.eng.agents.Slots(role.need) {
			slots += n
		}
		if slots >= required {
			return nil
		}
	}
	return noRoleAgents(role.role, required, available, reason)
}

func noRoleAgents(role *core.Role, required, available int, reason string) *core.Error {
	capabilities := role.Capabilities
	if capabilities == nil {
		capabilities = []string{}
	}
	text := fmt.Sprintf("too few agents for the role %q with the capabilities %v: %d needed, %d connected", role.Key, capabilities, required, available)
	if reason != "" {
		text += "; none can be spawned: " + reason
	}
	err := core.Errorf(core.CodeNoAgents, "%s", text)
	err.Details = map[string]any{"required": required, "available": available, "capabilities": capabilities, "role": role.Key}
	return err
}

// ellipsis ends a text that was cut.
const ellipsis = "…"
