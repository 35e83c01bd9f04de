package engine

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/wardroom/wardroom/core"
)

// spawnReport is what became of an agent that was to be spawned for a role.
type spawnReport struct {
	spec  core.RoleSpec
	agent string
	kind  string
	err   error
}

// RoleSpawned implements core.RoleSink.
func (e *Engine) RoleSpawned(spec core.RoleSpec, agentID, agentType string, err error) {
	m := message{kind: msgSpawned, spawned: &spawnReport{spec, agentID, agentType, err}}
	if r := e.activeRun(spec.ExecutionID); r != nil && r.inbox.put(m) {
		return
	}
	if agentID != "" && !e.stopping() {
		e.roles.Stop(agentID, "the execution is over")
	}
}

// RolesChanged reports that a runtime became ready, or is so no more: executions that wait for agents to be spawned
// look again.
func (e *Engine) RolesChanged() { e.waiters.afresh() }

// roleSpawned takes the news of a spawned agent.
func (r *chartRun) roleSpawned(s *spawnReport, c *change) {
	role := r.role(s.spec.Role)
	if c.over || role == nil {
		return // all of the execution's agents are stopped at its end
	}
	if !role.spawning[s.spec.Instance] {
		if s.agent != "" && !r.serves(s.agent) {
			c.after = append(c.after, func() { r.eng.roles.Stop(s.agent, "the role has its agents") })
		}
		return
	}
	delete(role.spawning, s.spec.Instance)
	role.give(s.spec.Instance)
	if s.err == nil {
		role.failures = 0
		r.bindInstance(c, role, &instance{number: s.spec.Instance, agent: s.agent, kind: s.kind, managed: true})
		return
	}
	err := core.AsError(s.err)
	r.eng.log.Warn("an agent could not be spawned", "execution", r.exec.ID, "role", s.spec.Role, "error", s.err)
	waits := err.Unavailable || err.Code == core.CodeRateLimited
	if waits {
		role.spawnAt = c.now.Add(spawnRest) // no fault of the request: a runtime is full or away, or workspaces are
	} else {
		role.failures++
	}
	switch {
	case waits && role.missing() > 0:
		// It waits, for as long as the execution may.
	case role.failures <= r.eng.config.Load().TaskRetries && role.missing() > 0 && !lasting(err):
		r.spawnOne(c, role)
	case r.bound && len(role.instances) > 0 || role.missing() == 0:
		// It goes on with those that it has; before the first step all are needed.
	case role.least() == 0 && len(role.queue) == 0:
		r.giveUpCalls(c, role, err.Message)
	default:
		details := map[string]any{"role": s.spec.Role, "agentTypes": s.spec.Types}
		maps.Copy(details, err.Details)
		text := fmt.Sprintf("no agent could be spawned for role %q, of the types %v: %s", s.spec.Role, s.spec.Types, err.Message)
		if _, only, _ := r.eng.spawnable(role.role); !only {
			text += fmt.Sprintf("; or connect an agent with the capabilities %v", role.role.Capabilities)
		}
		if others := r.lackingToo(role); len(others) > 0 {
			roles := []map[string]any{{"role": s.spec.Role, "agentTypes": s.spec.Types}}
			for _, other := range others {
				text += fmt.Sprintf("; nor for role %q, of the types %v: none of their commands was found", other.Key, other.AgentTypes)
				roles = append(roles, map[string]any{"role": other.Key, "agentTypes": other.AgentTypes})
			}
			details["roles"] = roles
		}
		r.fail(c, core.CodeAgentError, text, details)
	}
}

// lackingToo returns the roles beside one that need agents and whose commands are missing as well, so that whoever
// reads the failure installs all that is needed at once.
func (r *chartRun) lackingToo(failed *roleRun) []*core.Role {
	var roles []*core.Role
	for _, role := range r.roles {
		if role == failed || len(role.instances) >= role.least() {
			continue
		}
		if can, _, _ := r.eng.spawnable(role.role); can && r.eng.roles.Lacking(role.role.AgentTypes, role.role.Runtime) {
			roles = append(roles, role.role)
		}
	}
	return roles
}

// spawnRest is how long a role waits after a runtime had no room for its agent.
const spawnRest = 10 * time.Second

// lasting reports whether a spawn that failed so would fail again: what it asks for is wrong, its program is missing
// or it lacks a login.
func lasting(err *core.Error) bool {
	return err.Code == core.CodeValidation || err.Code == core.CodeConflict || err.Code == core.CodeForbidden
}

// spawnDue returns the next instant at which a role may ask for an agent again; zero: none waits for that.
func (r *chartRun) spawnDue() time.Time {
	var next time.Time
	for _, role := range r.roles {
		next = sooner(next, role.spawnAt)
	}
	return next
}

// spawnOverdue lets roles that waited ask again.
func (r *chartRun) spawnOverdue(now time.Time) {
	for _, role := range r.roles {
		if !role.spawnAt.IsZero() && !now.Before(role.spawnAt) {
			role.spawnAt = time.Time{}
		}
	}
}

// serves reports whether an agent is an instance of any role.
func (r *chartRun) serves(agent string) bool {
	for _, role := range r.roles {
		for _, inst := range role.instances {
			if inst.agent == agent {
				return true
			}
		}
	}
	return false
}

// bindAgent and unbindAgent note which runs an agent serves, so that they learn when it is gone.
func (e *Engine) bindAgent(agent string, r *run) {
	e.tasksMu.Lock()
	runs := e.serving[agent]
	if runs == nil {
		runs = map[*run]int{}
		e.serving[agent] = runs
	}
	runs[r]++
	e.tasksMu.Unlock()
}

func (e *Engine) unbindAgent(agent string, r *run) {
	e.tasksMu.Lock()
	defer e.tasksMu.Unlock()
	runs := e.serving[agent]
	if runs[r]--; runs[r] <= 0 {
		delete(runs, r)
	}
	if len(runs) == 0 {
		delete(e.serving, agent)
	}
}

// servedBy returns the runs that an agent serves.
func (e *Engine) servedBy(agent string) []*run {
	e.tasksMu.RLock()
	defer e.tasksMu.RUnlock()
	return slices.Collect(maps.Keys(e.serving[agent]))
}
