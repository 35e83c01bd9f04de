package policy

import (
	"slices"

	"github.com/wardroom/wardroom/core"
)

// needed are the permissions without which a role makes a scope good for less than it says.
var needed = map[string][]string{
	core.ScopePatternsRead:     {"patterns:read"},
	core.ScopePatternsWrite:    {"patterns:create", "patterns:update"},
	core.ScopePatternsDelete:   {"patterns:delete"},
	core.ScopeExecutionsCreate: every("executions"),
	core.ScopeExecutionsRead:   {"executions:read"},
	core.ScopeAgentsRead:       {"agents:read"},
	core.ScopeAgentsManage:     {"agents:create", "agents:update", "agents:delete"},
	core.ScopeExecute:          every("executions"),
	core.ScopeRead:             {"patterns:read", "executions:read", "agents:read"},
}

// inOrder are the built-in roles, each of which grants all that the one before does.
var inOrder = []string{"viewer", "developer", "operator", roleAdmin}

// FitKey returns the scopes of a new key that its roles would make good for less than they say. Where nothing gives the key a
// role, and those who have none are to have the default one, role is the least of the built-in ones that grants all of them.
func (c Config) FitKey(spec core.APIKeySpec) (lacking []string, role string) {
	if !c.RBAC {
		return nil, ""
	}
	by := c.bound()
	held := by.held(core.Principal{Kind: core.PrincipalAPIKey, ID: spec.Owner, Name: spec.Name, Roles: spec.Roles})
	unbound := len(held) == 0
	if unbound && c.DefaultRole != "" {
		held = []string{c.DefaultRole}
	}
	lacking = slices.DeleteFunc(slices.Clone(spec.Scopes), func(scope string) bool { return c.grant(held, scope) })
	if len(lacking) == 0 || !unbound || c.DefaultRole == "" {
		return lacking, ""
	}
	for _, role = range inOrder {
		if !slices.ContainsFunc(spec.Scopes, func(scope string) bool { return !c.grant([]string{role}, scope) }) {
			break
		}
	}
	return lacking, role
}

// grant reports whether roles grant all that a scope covers.
func (c Config) grant(roles []string, scope string) bool {
	var list []string
	for _, role := range roles {
		if own, ok := builtIn[role]; ok {
			list = append(list, own...)
		} else {
			list = append(list, c.Roles[role]...)
		}
	}
	if slices.Contains(list, "*") {
		return true
	}
	permissions, ok := needed[scope]
	return ok && !slices.ContainsFunc(permissions, func(p string) bool { return !slices.Contains(list, p) })
}
