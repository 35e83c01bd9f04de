package appliance

import (
	"context"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"github.com/wardroom/wardroom/core"
)

// notifyWatchdog says that the service is alive.
const notifyWatchdog = daemon.SdNotifyWatchdog

// watchdogShare is how often within the manager's limit the service reports that it is alive.
const watchdogShare = 3

// startWatchdog reports to the service manager that the store answers reads, as often as it wants that, until the work
// ends. Where the manager wants none of it, it does nothing.
func (a *App) startWatchdog() {
	limit, err := daemon.SdWatchdogEnabled(false)
	if err != nil || limit <= 0 {
		return
	}
	a.wg.Go(func() {
		a.watchdog(a.work, limit/watchdogShare, func() { notify(notifyWatchdog) })
	})
}

// watchdog calls alive every so often if the store answered a read since the last time. One that hangs keeps it from being
// called, and so does a machine without CPU for us: both end in a restart by the manager.
func (a *App) watchdog(ctx context.Context, every time.Duration, alive func()) {
	tick := time.NewTicker(every) // of the real clock: the manager's limit is real time, too
	defer tick.Stop()
	for {
		if a.answers(ctx) {
			alive()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// answers reports whether the store answers a read of a record that is not there.
func (a *App) answers(ctx context.Context) bool {
	_, err := a.store.FindExecution(ctx, core.PrefixExecution)
	return core.ErrorCode(err) == core.CodeNotFound
}
