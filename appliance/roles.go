package appliance

import "github.com/wardroom/wardroom/core/roles"

// newRoles makes what spawns agents for roles of org charts, on the managed agents. The engine opens after it.
func (a *App) newRoles() *roles.Service {
	return roles.New(roles.Options{
		Agents: a.runtimes, Threads: a.threads, Store: a.store, Clock: a.clock, Logger: a.log.Named("roles"),
		Approve: a.threads.RulePrompt, Tracer: a.tracing,
		Changed: func() { a.engine.RolesChanged() },
	})
}
