package local

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

// Definition is the plugin. One process serves one definition.
func Definition(version string) plugin.Definition {
	var children children // every configuration starts some, and whichever is in force reaps them
	return runtimeplugin.Definition(runtimeplugin.Options{
		Name: "runtime-local", Version: version, Schema: schema,
		Examples: []json.RawMessage{
			json.RawMessage(`{}`),
			json.RawMessage(`{"maxAgents": 20, "workdirs": ["/srv/work"], "limits": {"memoryBytes": 4294967296}}`),
		},
		Validate: func(_ context.Context, config json.RawMessage) []plugin.Problem {
			c, err := decode(config, "/", "/") // the host's directories do not matter here
			if err != nil {
				return []plugin.Problem{{Text: runtime.AsError(err).Message}}
			}
			return c.problems()
		},
		Settings: settings,
		New: func(ctx context.Context, config json.RawMessage, place runtimeplugin.Place) (agentcli.Options, error) {
			c, err := decode(config, place.StateDir, place.RunDir)
			if err != nil {
				return agentcli.Options{}, err
			}
			return c.open(ctx, place, &children)
		},
	})
}

// open makes the launcher of a configuration, ready for use, and the options of the runtime that it is for.
func (c *Config) open(ctx context.Context, place runtimeplugin.Place, all *children) (agentcli.Options, error) {
	launcher := New(Options{
		StateDir: c.StateDir, RoomsDir: c.RoomsDir, RunDir: c.RunDir, Holder: c.Holder, Workdirs: c.Workdirs, Env: c.Env,
		Credentials: c.Credentials, Limits: c.Limits, RingBytes: c.RingBytes, Cgroup: c.Cgroups != "off",
		Isolation: c.Isolation, Private: place.Private, Workspaces: place.Workspaces, Logger: place.Logger.Named("launcher"),
	})
	launcher.children = all
	if err := launcher.Open(ctx); err != nil {
		return agentcli.Options{}, err
	}
	memory, cpu, pids := launcher.Enforces()
	return agentcli.Options{
		Launcher: launcher, StateDir: filepath.Join(c.StateDir, "sessions"),
		Adapters: []agentcli.Adapter{claude.New(), codex.New(), gemini.New()}, Types: c.Types,
		MaxAgents: c.MaxAgents, Scrollback: c.Scrollback, RingBytes: c.RingBytes,
		ResizePolicy: c.ResizePolicy, StuckAfter: c.stuckAfter(), EnforcesLimits: memory && cpu && pids,
		Isolation: launcher.isolation.inForce(),
	}, nil
}

// settings reads MAX_AGENTS and WORKDIRS (separated by colons) for a server that is started by hand.
func settings(getenv func(string) string) (map[string]any, error) {
	all := map[string]any{}
	if text := getenv("MAX_AGENTS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return nil, runtime.Errorf(runtime.CodeInvalidArgument, "MAX_AGENTS is %q and must be a number from 0 on; 0 means no limit", text)
		}
		all["maxAgents"] = n
	}
	if text := getenv("WORKDIRS"); text != "" {
		roots := filepath.SplitList(text)
		for _, root := range roots {
			if !filepath.IsAbs(root) {
				return nil, runtime.Errorf(runtime.CodeInvalidArgument, "WORKDIRS has %q, which is not an absolute path", root)
			}
		}
		all["workdirs"] = roots
	}
	return all, nil
}
