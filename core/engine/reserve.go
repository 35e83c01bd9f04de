package engine

import (
	"cmp"
	"maps"
	"slices"

	"github.com/wardroom/wardroom/core"
)

// RoleBinding says which agents serve roles.
type RoleBinding string

// Bindings of roles. A role marked managed is always served by spawned agents.
const (
	BindAuto      RoleBinding = "auto"      // connected agents; spawned ones where too few are connected
	BindConnected RoleBinding = "connected" // connected agents only
	BindManaged   RoleBinding = "managed"   // spawned agents, for every role that names agent types
)

// roleWant describes the agents that an execution lacks for a role.
type roleWant struct {
	role  *core.Role
	need  core.TaskNeed
	count int
	spawn int // of count, those that may be spawned
}

// roleGrant is what it gets: slots of connected agents, and leave to spawn others.
type roleGrant struct {
	agents []string
	spawn  int
}

// spawnable reports whether agents may be spawned for a role now, and whether only such agents may serve it.
func (e *Engine) spawnable(role *core.Role) (can, only bool, reason string) {
	binding := e.config.Load().RoleBinding
	only = role.Managed || binding == BindManaged && len(role.AgentTypes) > 0
	switch {
	case !only && (binding == BindConnected || len(role.AgentTypes) == 0):
		return false, false, ""
	case e.roles == nil:
		return false, only, "no runtime is configured"
	}
	can, reason = e.roles.CanSpawn(role.AgentTypes, role.Runtime)
	return can, only, reason
}

// bindRoles reserves connected agents and grants spawns. With all it grants everything or nothing; grants is nil when
// nothing is granted. noise tells that slots were taken and given back for nothing.
func (e *Engine) bindRoles(wants []roleWant, all bool) (grants []roleGrant, noise bool) {
	got := make([]roleGrant, len(wants))
	if !e.reserveRoles(wants, all, got) {
		return nil, e.releaseGrants(got)
	}
	for _, g := range got {
		if len(g.agents) > 0 || g.spawn > 0 {
			return got, false
		}
	}
	if all && len(wants) == 0 {
		return got, false
	}
	return nil, false
}

// releaseGrants gives back reserved slots and reports whether there were any.
func (e *Engine) releaseGrants(got []roleGrant) bool {
	some := false
	for i := range got {
		for _, agent := range got[i].agents {
			e.agents.Release(agent, "", "")
			some = true
		}
		got[i] = roleGrant{}
	}
	return some
}

// reserveRoles adds to got, by wants, what of it is free. With all it returns false when something is lacking; what is
// in got stays reserved then.
func (e *Engine) reserveRoles(wants []roleWant, all bool, got []roleGrant) bool {
	short := false
	var order []int // of those that take connected agents, the scarcest first
	capable := make([]int, len(wants))
	spawn := make([]bool, len(wants))
	for i := range wants {
		w := &wants[i]
		got[i].spawn = 0
		can, only, _ := e.spawnable(w.role)
		switch {
		case only && (!can || w.spawn < w.count && all):
			short = true
		case only:
			got[i].spawn = min(w.count, w.spawn)
		default:
			spawn[i] = can
			if capable[i] = e.agents.CountCapable(w.need); capable[i] > 0 {
				order = append(order, i)
			} else if can {
				got[i].spawn = min(w.count, w.spawn)
			} else {
				short = true
			}
		}
	}
	if short && all {
		return false
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(capable[a]-wants[a].count, capable[b]-wants[b].count) })
	complete := true
	for _, i := range order {
		w := &wants[i]
		if lacking := w.count - len(got[i].agents); lacking > 0 {
			got[i].agents = append(got[i].agents, e.reserveSlots(w.need, lacking)...)
		}
		for len(got[i].agents) < w.count && e.exchange(wants, got, i, map[string]bool{}) {
			continue
		}
		lacking := w.count - len(got[i].agents)
		if lacking > 0 && spawn[i] && capable[i] < w.count {
			got[i].spawn = min(lacking, w.spawn)
			lacking -= got[i].spawn
		}
		complete = complete && lacking <= 0
	}
	return complete || !all
}

// feasible reports whether all of wants could be served if every agent were free.
func (e *Engine) feasible(wants []roleWant) bool {
	left := map[string]int{} // slots by agent that are not matched
	var fits []map[string]int
	for i := range wants {
		w := &wants[i]
		can, only, _ := e.spawnable(w.role)
		if only {
			if !can || w.spawn < w.count {
				return false
			}
			continue
		}
		slots := e.agents.Slots(w.need)
		maps.Copy(left, slots)
		for range w.count - map[bool]int{true: min(w.spawn, w.count)}[can] {
			fits = append(fits, slots)
		}
	}
	holders := map[string][]int{} // by agent: the demands that are matched to it
	var match func(demand int, seen map[string]bool) bool
	match = func(demand int, seen map[string]bool) bool {
		for id := range fits[demand] {
			if seen[id] {
				continue
			}
			seen[id] = true
			if left[id] > 0 {
				left[id]--
				holders[id] = append(holders[id], demand)
				return true
			}
			for k, other := range holders[id] {
				if match(other, seen) {
					holders[id][k] = demand
					return true
				}
			}
		}
		return false
	}
	for demand := range fits {
		if !match(demand, map[string]bool{}) {
			return false
		}
	}
	return true
}

// reserveSlots takes slots, of as many agents as there are first, then further ones of the same agents.
func (e *Engine) reserveSlots(need core.TaskNeed, count int) []string {
	got := e.agents.Reserve(need, count)
	for len(got) > 0 && len(got) < count {
		more := e.agents.Reserve(need, count-len(got))
		if len(more) == 0 {
			break
		}
		got = append(got, more...)
	}
	return got
}

// exchange finds one more slot for wants[i]: a slot of another role that fits it, when that role finds another for
// itself. Roles whose capabilities overlap would otherwise wait for each other's agents for ever.
func (e *Engine) exchange(wants []roleWant, got []roleGrant, i int, seen map[string]bool) bool {
	for j := range got {
		if j == i {
			continue
		}
		for k, agent := range got[j].agents {
			if seen[agent] || !e.fits(wants[i].need, agent) {
				continue
			}
			seen[agent] = true
			other := e.agents.Reserve(wants[j].need, 1)
			if len(other) == 0 && e.exchange(wants, got, j, seen) {
				last := len(got[j].agents) - 1
				other, got[j].agents = got[j].agents[last:], got[j].agents[:last]
			}
			if len(other) > 0 {
				replacement := other[0]
				got[j].agents[k] = replacement
				got[i].agents = append(got[i].agents, agent)
				return true
			}
		}
	}
	return false
}

// fits reports whether an agent has what the need asks for.
func (e *Engine) fits(need core.TaskNeed, agent string) bool {
	without := need
	without.Exclude = map[string]bool{agent: true}
	for id := range need.Exclude {
		without.Exclude[id] = true
	}
	return e.agents.CountCapable(need) > e.agents.CountCapable(without)
}
