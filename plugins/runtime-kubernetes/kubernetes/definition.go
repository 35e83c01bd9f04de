package kubernetes

import (
	"context"
	"encoding/json"
	"path/filepath"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/claude"
	"github.com/wardroom/wardroom/sdk/agentcli/codex"
	"github.com/wardroom/wardroom/sdk/agentcli/gemini"
	"github.com/wardroom/wardroom/sdk/plugin"
	"github.com/wardroom/wardroom/sdk/runtime"
	runtimeplugin "github.com/wardroom/wardroom/sdk/runtime/plugin"
)

// port is that of the server when the program is started by hand; those of the other runtimes are before it.
const port = 3300

// Definition is the plugin. One process serves one definition.
func Definition(version string) plugin.Definition {
	return runtimeplugin.Definition(runtimeplugin.Options{
		Name: "runtime-kubernetes", Version: version, Port: port, Schema: schema,
		Examples: []json.RawMessage{
			json.RawMessage(`{"namespace": "wardroom-agents"}`),
			json.RawMessage(`{"kubeconfig": "/etc/wardroom/kubeconfig", "namespace": "agents", "images": {"claude": "registry.example.com/agents/claude:2"}, "secrets": ["model-keys"], "limits": {"memory": "2g", "cpu": 1}}`),
		},
		Validate: func(_ context.Context, config json.RawMessage) []plugin.Problem {
			c, err := decode(config, "/") // the host's directory does not matter here
			if err != nil {
				return []plugin.Problem{{Text: runtime.AsError(err).Error(), Severity: plugin.SeverityError}}
			}
			return c.problems()
		},
		New: func(_ context.Context, config json.RawMessage, place runtimeplugin.Place) (agentcli.Options, error) {
			// Repeats plugins/runtime-docker: the configurations and the launchers are types of their plugins, and a plugin
			// imports no other.
			c, err := decode(config, place.StateDir)
			if err != nil {
				return agentcli.Options{}, err
			}
			launcher, err := Open(Options{
				Config: c, Version: version, Private: place.Private, Workspaces: place.Workspaces, Logger: place.Logger.Named("launcher"),
			})
			if err != nil {
				return agentcli.Options{}, err
			}
			return agentcli.Options{
				Launcher: launcher, StateDir: filepath.Join(c.StateDir, "sessions"),
				Adapters: []agentcli.Adapter{claude.New(), codex.New(), gemini.New()}, Types: c.Types,
				MaxAgents: c.MaxAgents, Scrollback: c.Scrollback, RingBytes: c.RingBytes,
				ResizePolicy: c.ResizePolicy, StuckAfter: duration(c.StuckAfter, 0), Images: true, EnforcesLimits: true,
				Isolation: &runtime.Isolation{NoNewPrivs: true, Reason: "agents are in pods"},
			}, nil
		},
	})
}
