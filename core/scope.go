package core

import "slices"

// Scopes of credentials, those of the interface.
const (
	ScopePatternsRead     = "patterns:read"
	ScopePatternsWrite    = "patterns:write"
	ScopePatternsDelete   = "patterns:delete"
	ScopeExecutionsCreate = "executions:create"
	ScopeExecutionsRead   = "executions:read"
	ScopeAgentsRead       = "agents:read"
	ScopeAgentsManage     = "agents:manage"
	ScopeAuditRead        = "audit:read"    // the audit trail; read does not stand for it
	ScopeDataUnmasked     = "data:unmasked" // answers in clear where fields are masked; read does not stand for it
	ScopeAdmin            = "admin"         // implies all
	ScopeRead             = "read"          // all that end in :read, but for audit:read
	ScopeExecute          = "execute"       // executions:create and executions:read
	// ScopeAny is what operations need that every credential may use. It is never granted.
	ScopeAny = "any"
)

// Scopes lists every scope that a credential may have.
var Scopes = []string{
	ScopePatternsRead, ScopePatternsWrite, ScopePatternsDelete, ScopeExecutionsCreate, ScopeExecutionsRead,
	ScopeAgentsRead, ScopeAgentsManage, ScopeAuditRead, ScopeDataUnmasked, ScopeAdmin, ScopeRead, ScopeExecute,
}

// coarse says what the scopes that stand for others stand for.
var coarse = map[string][]string{
	ScopeRead:    {ScopePatternsRead, ScopeExecutionsRead, ScopeAgentsRead},
	ScopeExecute: {ScopeExecutionsCreate, ScopeExecutionsRead},
}

// ExpandScopes returns scopes together with what those of them that stand for others stand for, each once, in the order of
// Scopes. Words that are no scope are left out.
func ExpandScopes(scopes []string) []string {
	if slices.Contains(scopes, ScopeAdmin) {
		return slices.Clone(Scopes)
	}
	all := make([]string, 0, len(Scopes))
	for _, scope := range Scopes {
		if slices.Contains(scopes, scope) || slices.ContainsFunc(scopes, func(s string) bool { return slices.Contains(coarse[s], scope) }) {
			all = append(all, scope)
		}
	}
	return all
}

// Grants reports whether scopes cover a wanted one.
func Grants(scopes []string, wanted string) bool {
	for _, scope := range scopes {
		if scope == wanted || scope == ScopeAdmin || slices.Contains(coarse[scope], wanted) {
			return true
		}
	}
	return wanted == ScopeAny
}
