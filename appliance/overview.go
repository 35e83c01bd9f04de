package appliance

import (
	"context"
	"encoding/json"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/overview"
	"github.com/wardroom/wardroom/core/roles"
	"github.com/wardroom/wardroom/core/threads"
)

// newOverview makes what reads the inbox and the numbers.
func (a *App) newOverview() *overview.Service {
	return overview.New(overview.Options{
		Store: a.store, Agents: a.agents, Managed: a.runtimes, Clock: a.clock, ThreadLabel: threads.LabelThread, RoleLabel: roles.LabelRole,
	})
}

// newCounter returns the counter of the numbers of the overview. It computes nothing before the first stream of events
// follows it, which is after the overview is made.
func (a *App) newCounter() *overview.Counter {
	return overview.NewCounter(overview.CounterOptions{
		Counts:  func(ctx context.Context) (*core.OverviewCounts, error) { return a.overview.Counts(ctx) },
		Publish: a.bus.Publish, Clock: a.clock, Logger: a.log.Named("overview"),
	})
}

// notice tells those who follow all events of a change that is not stored as one.
func (a *App) notice(e core.Event) {
	a.counter.Touch()
	a.notices.Publish(e)
}

// noticePlugin tells of the state of a plugin.
func (a *App) noticePlugin(p core.Plugin) {
	data, _ := json.Marshal(core.PluginNotice{ // plain data always encodes
		Name: p.Name, Kind: p.Kind, State: p.State, Health: p.Health, Reason: p.Reason, Restarts: p.Restarts,
	})
	a.notice(core.Event{Type: core.EventPluginChanged, Time: a.clock.Now(), Subject: p.Name, Data: data})
}
