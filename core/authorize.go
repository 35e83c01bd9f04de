package core

// Access is what authorization is asked with: may somebody do this to that?
type Access struct {
	Action   string // for example executions.create
	Resource string // kind of what it is done to, for example executions
	Scope    string // for example executions:create
	ID       string // of the resource in the path; empty on collections
	Owner    string // who made it, where that is known
	Pattern  string // that it is of, where it is of one
	// Guard is the allow-list of the pattern; nil: it has none.
	Guard *Guard
}

// ActionGrant is to give a key scopes, roles or an owner that are not those of whoever makes it: for administrators alone.
const ActionGrant = "keys.grant"

// Guard is the allow-list of a pattern: who may run and read it, and what comes of it.
type Guard struct {
	Users []string
	Roles []string
}

// Forbidden makes a FORBIDDEN error for an action. scope is the one that is missing, or "".
func Forbidden(action, scope, format string, args ...any) *Error {
	e := Errorf(CodeForbidden, format, args...)
	e.Details = map[string]any{"action": action}
	if scope != "" {
		e.Details["requiredScope"] = scope
	}
	return e
}
