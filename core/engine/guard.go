package engine

import (
	"github.com/wardroom/wardroom/core"
)

// mayRun returns FORBIDDEN for a pattern that names who may run it where nobody has to say who they are: without access
// control no caller is a user or has a role that could be named. Callers with a credential were asked about before, by the
// policy, and Wardroom itself goes on with what somebody began who was allowed to.
func mayRun(p core.Principal, name string, d *core.Definition) error {
	if d.Guard == nil || p.Kind != core.PrincipalAnonymous {
		return nil
	}
	err := core.Errorf(core.CodeForbidden, "pattern %q is for those whom its security.allowedUsers and security.allowedRoles name, and without "+
		"access control nobody can be told to be one of them: it runs for nobody but the server's admin; take the section out, "+
		"or configure access control", name)
	err.Details = map[string]any{"action": "executions.create"}
	return err
}
