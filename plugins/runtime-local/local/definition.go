package local

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/sdk/plugin"
	"github.com/wardroom/wardroom/sdk/runtime"
	runtimeserver "github.com/wardroom/wardroom/sdk/runtime/server"
)

// Definition is the plugin. One process serves one definition.
func Definition(version string) plugin.Definition {
	p := &owner{}
	return plugin.Definition{
		Name: "runtime-local", Version: version, Kind: plugin.KindRuntime, Schema: schema,
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
		Configure: func(ctx context.Context, config json.RawMessage, host plugin.Host) (plugin.Service, error) {
			c, err := decode(config, host.StateDir(), host.RunDir())
			if err != nil {
				return plugin.Service{}, err
			}
			s, err := p.replace(ctx, c, Site{Private: host.Private(), Workspaces: host.Workspaces()}, host.Logger())
			if err != nil {
				return plugin.Service{}, err
			}
			return plugin.Service{Runtime: s.Runtime(), Health: s.Health, Metrics: s.Metrics, Close: s.Close}, nil
		},
		ServeAlone: func(ctx context.Context) error { return serve(ctx, os.Getenv) },
	}
}

// owner remembers the service in force, because the next one has to take its state over.
type owner struct {
	mu  sync.Mutex
	now *Service
}

func (p *owner) replace(ctx context.Context, c Config, site Site, log hclog.Logger) (*Service, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, err := NewService(c, site, log)
	if err != nil {
		return nil, err
	}
	if err := s.Open(ctx, p.now, log); err != nil {
		return nil, err
	}
	p.now = s
	return s, nil
}

// DefaultPort is that of the local runtime's server.
const DefaultPort = 3100

// serve is the plugin started by hand: a runtime server, configured by the environment.
func serve(ctx context.Context, getenv func(string) string) error {
	log := hclog.New(&hclog.LoggerOptions{Name: "runtime-local", Level: hclog.LevelFromString(getenv("LOG_LEVEL"))})
	options, err := runtimeserver.FromEnv(func(name string) string {
		value := getenv(name)
		switch {
		case value != "":
		case name == "WARDROOM_LISTEN":
			value = getenv("HOST")
		case name == "WARDROOM_TOKEN" && getenv("WARDROOM_TOKEN_FILE") == "":
			value = getenv("TOKEN")
		}
		return value
	}, DefaultPort)
	if err != nil {
		return err
	}
	config, err := configFromEnv(getenv)
	if err != nil {
		return err
	}
	s, err := NewService(config, Site{}, log)
	if err != nil {
		return err
	}
	if err := s.Open(ctx, nil, log); err != nil {
		return err
	}
	// The way out is not bound to ctx, which has ended by then.
	defer func() { _ = s.Close(context.WithoutCancel(ctx)) }()
	options.Runtime, options.Logger = s.Runtime(), log
	server, err := runtimeserver.New(options)
	if err != nil {
		return err
	}
	return server.Run(ctx)
}

// configFromEnv reads MAX_AGENTS, STATE_DIR, RUN_DIR and WORKDIRS (separated by colons).
func configFromEnv(getenv func(string) string) (Config, error) {
	state := getenv("STATE_DIR")
	if state == "" {
		base := getenv("XDG_STATE_HOME")
		if base == "" {
			home, err := os.UserHomeDir()
			if err != nil {
				return Config{}, runtime.Errorf(runtime.CodeInvalidArgument, "STATE_DIR is not set, and there is no home directory")
			}
			base = filepath.Join(home, ".local", "state")
		}
		state = filepath.Join(base, "wardroom", "runtime-local")
	}
	run := getenv("RUN_DIR")
	if runtimeDir := getenv("XDG_RUNTIME_DIR"); run == "" && runtimeDir != "" {
		run = filepath.Join(runtimeDir, "wardroom-runtime-local")
	}
	c, err := decode([]byte("{}"), state, run)
	if err != nil {
		return c, err
	}
	if text := getenv("MAX_AGENTS"); text != "" {
		if c.MaxAgents, err = strconv.Atoi(text); err != nil || c.MaxAgents < 0 {
			return c, runtime.Errorf(runtime.CodeInvalidArgument, "MAX_AGENTS is %q and must be a number from 0 on; 0 means no limit", text)
		}
	}
	if text := getenv("WORKDIRS"); text != "" {
		c.Workdirs = filepath.SplitList(text)
		for _, root := range c.Workdirs {
			if !filepath.IsAbs(root) {
				return c, runtime.Errorf(runtime.CodeInvalidArgument, "WORKDIRS has %q, which is not an absolute path", root)
			}
		}
	}
	for _, problem := range c.problems() {
		if problem.Severity == plugin.SeverityError {
			return c, runtime.Errorf(runtime.CodeInvalidArgument, "%s: %s", problem.Path, problem.Text)
		}
	}
	return c, nil
}
