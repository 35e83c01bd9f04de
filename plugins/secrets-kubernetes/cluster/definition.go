package cluster

import (
	"context"
	"encoding/json"

	"github.com/wardroom/wardroom/sdk/plugin"
	"github.com/wardroom/wardroom/sdk/secret"
)

// Definition is the plugin. Configure asks nothing of the cluster: one that is not reachable keeps nobody from starting,
// and Health tells.
func Definition(version string) plugin.Definition {
	return plugin.Definition{
		Name: "secrets-kubernetes", Version: version, Kind: plugin.KindSecret, Schema: schema,
		Examples: []json.RawMessage{
			json.RawMessage(`{}`),
			json.RawMessage(`{"kubeconfig": "/etc/wardroom/kubeconfig", "context": "prod", "namespace": "agents"}`),
			json.RawMessage(`{"secretRef": {"name": "wardroom", "key": "token"}}`),
		},
		Validate: func(_ context.Context, config json.RawMessage) []plugin.Problem {
			_, problems := decode(config)
			return problems
		},
		Configure: func(_ context.Context, raw json.RawMessage, host plugin.Host) (plugin.Service, error) {
			c, problems := decode(raw)
			for _, p := range problems {
				if p.Severity == plugin.SeverityError {
					return plugin.Service{}, secret.Errorf(secret.CodeNotConfigured, "%s: %s", p.Path, p.Text)
				}
			}
			s := open(c, host.Logger())
			return plugin.Service{Secret: s.provider, Health: s.health, Close: s.close}, nil
		},
	}
}
