package docker

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/wardroom/wardroom/sdk/plugin"
	"github.com/wardroom/wardroom/sdk/runtime"
	runtimeplugin "github.com/wardroom/wardroom/sdk/runtime/plugin"
)

var _ runtimeplugin.Checker = (*Launcher)(nil)

// Health looks at what agents need to start.
func (l *Launcher) Health(ctx context.Context) plugin.Health {
	health := plugin.Health{Status: plugin.StatusOK}
	if info, err := os.Stat(l.config.Holder); err != nil || info.Mode()&0o111 == 0 {
		health.Note("holder", plugin.StatusFailed, l.config.Holder+" is not executable: no agent can start")
	} else {
		health.Note("holder", plugin.StatusOK, "")
	}
	if probe, err := os.CreateTemp(l.config.StateDir, ".probe"); err != nil {
		health.Note("state", plugin.StatusFailed, "nothing can be written to "+l.config.StateDir+": no agent can start")
	} else {
		_ = probe.Close()
		_ = os.Remove(probe.Name())
		health.Note("state", plugin.StatusOK, "")
	}
	l.engine.forget()
	f, err := l.engine.look(ctx)
	if err != nil {
		e := runtime.AsError(err)
		health.Note("engine", plugin.StatusFailed, e.Message+"; "+e.Hint)
		return health
	}
	health.Note("engine", plugin.StatusOK, "version "+f.version)
	if f.memory && f.cpu && f.pids {
		health.Note("limits", plugin.StatusOK, "")
	} else {
		health.Note("limits", plugin.StatusDegraded, fmt.Sprintf("the engine does not hold containers to all limits (memory %t, cpu %t, pids %t): "+
			"give it the cgroup controllers", f.memory, f.cpu, f.pids))
	}
	health.Note("isolation", plugin.StatusOK, l.isolation(f))
	if !f.liveRestore {
		health.Note("restart", plugin.StatusOK, "agents end when the engine is restarted: set live-restore in its daemon.json to keep them")
	}
	return health
}

// forget makes the next look ask the engine.
func (e *engine) forget() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asked = e.asked.Add(-factsTime)
}

func (l *Launcher) isolation(f facts) string {
	parts := []string{"user " + l.config.identify(f).user, "no capabilities", "no_new_privs", "read-only root"}
	if f.seccomp {
		parts = append(parts, "seccomp")
	}
	if f.rootless {
		parts = append(parts, "rootless engine")
	}
	return strings.Join(parts, ", ")
}
