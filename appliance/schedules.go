package appliance

import (
	"context"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/metrics"
	"github.com/wardroom/wardroom/core/schedule"
	"github.com/wardroom/wardroom/core/workspace"
)

var _ schedule.Observer = (*metrics.Schedules)(nil)

// openSchedules starts what is due by the clock, and what was due while the server did not run.
func (a *App) openSchedules(ctx context.Context) error {
	key, err := sealKey(a.config.Load().Store.Path, scheduleKeyFile)
	if err != nil {
		return err
	}
	a.schedules = schedule.New(schedule.Options{
		Store: a.store, Clock: a.clock, IDs: a.ids, Logger: a.log.Named("schedules"), Launcher: launcher{a}, SealKey: key,
		Host: a.repositoryHost,
		Alert: func(subject, message string, details map[string]any) {
			a.alerts.raise(subject, core.Alert{Severity: core.SeverityWarning, Message: message, Details: details})
		},
		Observer: a.metrics.Schedules,
	})
	a.metrics.Schedules.Watch(func() metrics.ScheduleFigures {
		s := a.schedules.Stats()
		return metrics.ScheduleFigures{ByStatus: s.ByStatus, Queued: s.Queued}
	})
	return a.schedules.Open(ctx)
}

// repositoryHost returns the host of the repository that the threads of a target work on; "" where there is none.
func (a *App) repositoryHost(t core.Target) string {
	if a.workspaces == nil || t.Thread == nil || t.Thread.Preparation.Workspace == nil {
		return ""
	}
	spec, err := a.workspaces.ResolveWorkspace(t.Thread.Preparation.Workspace)
	if err != nil { // the start says so, and waits for no host
		return ""
	}
	return workspace.Host(spec.Repo)
}

// aboutTarget returns the execution that the threads of a target belong to, and the pattern that its executions are of; ""
// where there is none.
func aboutTarget(t *core.Target) (executionID, pattern string) {
	if t.Execution != nil {
		return "", t.Execution.Pattern
	}
	if t.Thread != nil && core.ValidID(core.PrefixExecution, t.Thread.ExecutionID) {
		return t.Thread.ExecutionID, ""
	}
	return "", ""
}
