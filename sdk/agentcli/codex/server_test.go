package codex_test

import (
	"fmt"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/drivertest"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// configured is the adapter with keys of config.toml beside its own.
type configured struct {
	agentcli.Adapter
	keys []string
}

func (c configured) Plan(spec *runtime.Spec, room agentcli.Room, life agentcli.Life) (agentcli.Plan, error) {
	p, err := c.Adapter.Plan(spec, room, life)
	for _, key := range c.keys {
		p.Args = append(p.Args, "-c", key)
	}
	return p, err
}

// withServer is the adapter of a codex that has the MCP server.
func withServer(adapter agentcli.Adapter) (agentcli.Adapter, error) {
	argv, err := drivertest.ServerCommand()
	if err != nil {
		return nil, err
	}
	return configured{adapter, []string{fmt.Sprintf("mcp_servers.own={command=%q,args=[%q]}", argv[0], argv[1])}}, nil
}
