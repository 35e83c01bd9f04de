package engine

import (
	"github.com/wardroom/wardroom/core"
)

// mayRun returns FORBIDDEN if a principal may not run a pattern that names who may. Without access control nobody is a user or
// has a role that could be named, so such a pattern runs for nobody but Wardroom itself, which goes on with what somebody
// began who was allowed to.
func mayRun(p core.Principal, name string, d *core.Definition) error {
	if d.Guard == nil || p.Kind == core.PrincipalSystem {
		return nil
	}
	err := core.Errorf(core.CodeForbidden, "pattern %q is for those whom its security.allowedUsers and security.allowedRoles name, and without "+
		"access control nobody can be told to be one of them: it runs for nobody but the server's admin; take the section out, "+
		"or configure access control", name)
	err.Details = map[string]any{"action": "executions.create"}
	return err
}
