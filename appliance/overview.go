package appliance

import (
	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/overview"
	"github.com/wardroom/wardroom/core/roles"
	"github.com/wardroom/wardroom/core/threads"
)

// overview makes what reads the inbox and the numbers.
func (a *App) overview() core.OverviewService {
	return overview.New(overview.Options{
		Store: a.store, Agents: a.agents, Managed: a.runtimes, Clock: a.clock, ThreadLabel: threads.LabelThread, RoleLabel: roles.LabelRole,
	})
}
