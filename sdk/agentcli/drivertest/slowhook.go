package drivertest

import (
	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// slowHook is an adapter with a shell script before its hooks.
type slowHook struct {
	agentcli.Adapter
	script string
}

// BeforeHooks returns an adapter that runs a shell script before its hooks: it gets the hook's command as its arguments, and runs that.
func BeforeHooks(adapter agentcli.Adapter, script string) agentcli.Adapter {
	return slowHook{adapter, script}
}

// Plan implements agentcli.Adapter.
func (h slowHook) Plan(spec *runtime.Spec, room agentcli.Room, life agentcli.Life) (agentcli.Plan, error) {
	room.Hook = append([]string{"/bin/sh", "-c", h.script, "hook"}, room.Hook...)
	return h.Adapter.Plan(spec, room, life)
}
