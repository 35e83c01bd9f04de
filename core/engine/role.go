package engine

import "github.com/wardroom/wardroom/core"

// RoleSpawned implements core.RoleSink.
func (e *Engine) RoleSpawned(spec core.RoleSpec, agentID, agentType string, err error) {}

// RolesChanged tells that a runtime became ready, or is so no more: executions that wait for agents to be spawned
// look again.
func (e *Engine) RolesChanged() { e.waiters.kick() }
