package plugin

import (
	"cmp"
	"context"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
)

// InProcess serves a Definition within this process, for tests of plugins: go-plugin's TestPluginGRPCConn takes
// its Set, and dispenses the Conn of a host.
type InProcess struct {
	Name, RunDir, StateDir string
	Private                []string     // see Host.Private
	Workspaces             string       // see Host.Workspaces
	Logger                 hclog.Logger // nil: none

	server *server
}

// Set returns what go-plugin serves and connects to. It is called once.
func (p *InProcess) Set(def Definition) (goplugin.PluginSet, error) {
	if err := def.check(); err != nil {
		return nil, err
	}
	p.Logger = cmp.Or(p.Logger, hclog.NewNullLogger())
	s, err := newServer(&def, p.Logger, &pluginHost{
		log: p.Logger, name: p.Name, runDir: p.RunDir, stateDir: p.StateDir, private: p.Private, workspaces: p.Workspaces,
	})
	if err != nil {
		return nil, err
	}
	p.server = s
	return goplugin.PluginSet{Name: &glue{server: s}}, nil
}

// Close closes the plugin's service, as the end of its process does.
func (p *InProcess) Close(ctx context.Context) error {
	if p.server == nil {
		return nil
	}
	return p.server.end(ctx)
}
