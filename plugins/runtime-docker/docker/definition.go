package docker

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strconv"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/claude"
	"github.com/wardroom/wardroom/sdk/agentcli/codex"
	"github.com/wardroom/wardroom/sdk/agentcli/gemini"
	"github.com/wardroom/wardroom/sdk/plugin"
	"github.com/wardroom/wardroom/sdk/runtime"
	runtimeplugin "github.com/wardroom/wardroom/sdk/runtime/plugin"
)

// port is that of the container runtime server of the interface.
const port = 3200

// Definition is the plugin. One process serves one definition.
func Definition(version string) plugin.Definition {
	return runtimeplugin.Definition(runtimeplugin.Options{
		Name: "runtime-docker", Version: version, Port: port, Schema: schema,
		Examples: []json.RawMessage{
			json.RawMessage(`{}`),
			json.RawMessage(`{"images": {"claude": "registry.example.com/agents/claude:2"}, "volumes": {"/srv/data": "ro"}, "limits": {"memory": "2g", "cpu": 1}}`),
		},
		Validate: func(_ context.Context, config json.RawMessage) []plugin.Problem {
			c, err := decode(config, "/") // the host's directory does not matter here
			if err != nil {
				return []plugin.Problem{{Text: runtime.AsError(err).Error(), Severity: plugin.SeverityError}}
			}
			return c.problems()
		},
		Settings: settings,
		New: func(_ context.Context, config json.RawMessage, place runtimeplugin.Place) (agentcli.Options, error) {
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
				Isolation: &runtime.Isolation{NoNewPrivs: true, Reason: "agents are in containers"},
			}, nil
		},
	})
}

// settings reads the variables of the interface for a server that is started by hand, and MAX_AGENTS.
func settings(getenv func(string) string) (map[string]any, error) {
	all, limits := map[string]any{}, map[string]any{}
	if text := getenv("CONTAINER_SOCKET"); text != "" {
		all["socket"] = text
	}
	if text := getenv("CONTAINER_NETWORK"); text != "" {
		all["network"] = text
	}
	if text := getenv("DEFAULT_MEMORY"); text != "" {
		if _, err := runtime.ParseMemory(text); err != nil {
			return nil, runtime.Errorf(runtime.CodeInvalidArgument, "DEFAULT_MEMORY: %v", err)
		}
		limits["memory"] = text
	}
	if text := getenv("DEFAULT_CPU"); text != "" {
		cores, err := strconv.ParseFloat(text, 64)
		if err != nil || !(cores >= 0.01 && cores <= 1024) {
			return nil, runtime.Errorf(runtime.CodeInvalidArgument, "DEFAULT_CPU is %q and must be a number of cores, such as 0.5", text)
		}
		limits["cpu"] = cores
	}
	if text := getenv("MAX_AGENTS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return nil, runtime.Errorf(runtime.CodeInvalidArgument, "MAX_AGENTS is %q and must be a number from 0 on; 0 means no limit", text)
		}
		all["maxAgents"] = n
	}
	if len(limits) > 0 {
		all["limits"] = limits
	}
	return all, nil
}
