package local

import (
	"context"
	"fmt"
	"os"

	"github.com/wardroom/wardroom/sdk/plugin"
	runtimeplugin "github.com/wardroom/wardroom/sdk/runtime/plugin"
)

var _ runtimeplugin.Checker = (*Launcher)(nil)

// Health looks at what agents need to start.
func (l *Launcher) Health(context.Context) plugin.Health {
	health := plugin.Health{Status: plugin.StatusOK}
	fail := func(name, text string) {
		health.Status, health.Reason = plugin.StatusFailed, text
		health.Checks = append(health.Checks, plugin.Check{Name: name, Status: plugin.StatusFailed, Text: text})
	}
	if info, err := os.Stat(l.opts.Holder); err != nil || info.Mode()&0o111 == 0 {
		fail("holder", l.opts.Holder+" is not executable: no agent can start")
	} else {
		health.Checks = append(health.Checks, plugin.Check{Name: "holder", Status: plugin.StatusOK})
	}
	if probe, err := os.CreateTemp(l.opts.StateDir, ".probe"); err != nil {
		fail("state", "nothing can be written to "+l.opts.StateDir+": no agent can start")
	} else {
		_ = probe.Close()
		_ = os.Remove(probe.Name())
		health.Checks = append(health.Checks, plugin.Check{Name: "state", Status: plugin.StatusOK})
	}
	memory, cpu, pids := l.Enforces()
	limits := plugin.Check{Name: "limits", Status: plugin.StatusOK, Text: fmt.Sprintf("memory %t, cpu %t, pids %t", memory, cpu, pids)}
	wanted := l.opts.Limits
	if wanted.MemoryBytes > 0 && !memory || wanted.CPU > 0 && !cpu || wanted.PIDs > 0 && !pids {
		limits.Status = plugin.StatusDegraded
		limits.Text += ": not all configured limits hold; delegate cgroups to the service"
		if health.Status == plugin.StatusOK {
			health.Status, health.Reason = plugin.StatusDegraded, limits.Text
		}
	}
	health.Checks = append(health.Checks, limits, l.isolation.check())
	return health
}
