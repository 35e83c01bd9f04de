package plugin

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/plugin"
	runtimeserver "github.com/wardroom/wardroom/sdk/runtime/server"
)

// Options are a runtime plugin. Name, Version and New are needed.
type Options struct {
	Name    string // of the plugin: runtime-NAME; the runtime is called NAME
	Version string
	Port    int // of the server when it is started by hand and PORT is 0 or empty; 0: 3100
	// Schema, Examples and Validate are those of plugin.Definition.
	Schema   []byte
	Examples []json.RawMessage
	Validate func(ctx context.Context, config json.RawMessage) []plugin.Problem
	// New makes the options of the runtime for a configuration that satisfies the schema; it may be called while
	// the runtime of an earlier one is open, and must not disturb it. Name, StateDir and Logger are filled in
	// where they are empty. What a *runtime.Error says is shown to the operator. The launcher is asked for its health
	// if it is a Checker, and closed after its runtime if it is an io.Closer.
	New func(ctx context.Context, config json.RawMessage, place Place) (agentcli.Options, error)
	// Settings reads variables of a program that was started by hand, which stand for settings; they go before those
	// of CONFIG_FILE, and are checked with them. Its error names the variable. Nil: there are none.
	Settings func(getenv func(string) string) (map[string]any, error)
	// End is called when the program ends and the runtime is closed: the place to end agents that cannot
	// outlive it. Nil: nothing is done. It is not called after SIGKILL.
	End func(ctx context.Context) error
}

// Place is where the program runs.
type Place struct {
	StateDir string // outlives everything, 0700
	RunDir   string // for sockets, 0700, may be emptied by a reboot
	Logger   hclog.Logger
	// Private is what belongs to the service alone, and Workspaces where it makes work directories for agents, as
	// local.Rooms has them; empty when the program was started by hand.
	Private    []string
	Workspaces string
	Host       plugin.Host // nil when the program was started by hand
	// KeyFile is where the key of the agents' environments lies when there is no host that has one; empty: in StateDir.
	KeyFile string
}

// stateKey returns what the environments of agents are encrypted under; nil: the runtime sees to it.
func (p *Place) stateKey(ctx context.Context) ([]byte, error) {
	switch {
	case p.Host != nil && p.Host.Has(plugin.FeatureHostStateKey):
		return p.Host.StateKey(ctx)
	case p.KeyFile != "":
		return agentcli.KeyFile(p.KeyFile)
	}
	return nil, nil
}

// Checker is a launcher that looks at what its agents need to start. It may be called at any time while its runtime
// is open.
type Checker interface {
	Health(ctx context.Context) plugin.Health
}

// Definition makes what plugin.Main takes. One process serves one definition.
func Definition(o Options) plugin.Definition {
	s := &services{o: o}
	def := plugin.Definition{
		Name: o.Name, Version: o.Version, Kind: plugin.KindRuntime, Schema: o.Schema, Examples: o.Examples, Validate: o.Validate,
		Configure: func(ctx context.Context, config json.RawMessage, host plugin.Host) (plugin.Service, error) {
			now, err := s.replace(ctx, config, Place{
				StateDir: host.StateDir(), RunDir: host.RunDir(), Logger: host.Logger(), Private: host.Private(), Workspaces: host.Workspaces(), Host: host,
			})
			if err != nil {
				return plugin.Service{}, err
			}
			return plugin.Service{Runtime: now.runtime, Health: now.health, Metrics: now.metrics, Close: now.close}, nil
		},
	}
	checked := def // without ServeAlone, which refers to it
	def.AlonePort = s.o.port()
	def.ServeAlone = func(ctx context.Context) error { return s.serve(ctx, &checked, os.Getenv) }
	return def
}

// runtimeName is the plugin's name without its kind.
func (o *Options) runtimeName() string { return strings.TrimPrefix(o.Name, "runtime-") }

// complete fills in what New left empty.
func (o *Options) complete(a agentcli.Options, place Place) agentcli.Options {
	a.Name = cmp.Or(a.Name, o.runtimeName())
	a.StateDir = cmp.Or(a.StateDir, filepath.Join(place.StateDir, "sessions"))
	a.Logger = cmp.Or(a.Logger, place.Logger)
	return a
}

func (o *Options) port() int {
	return cmp.Or(o.Port, runtimeserver.DefaultPort)
}
