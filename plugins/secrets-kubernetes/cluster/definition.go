package cluster

import (
	"context"
	"encoding/json"

	"github.com/wardroom/wardroom/sdk/plugin"
	"github.com/wardroom/wardroom/sdk/secret/source"
)

// Definition is the plugin. Configure asks nothing of the cluster: one that is not reachable does not stop the start,
// and Health tells.
func Definition(version string) plugin.Definition {
	d := source.Definition(schema, decode, func(_ context.Context, c Config, host plugin.Host) (plugin.Service, error) {
		s := open(c, host.Logger())
		return plugin.Service{Secret: s.provider, Health: s.health, Close: s.close}, nil
	})
	d.Name, d.Version = "secrets-kubernetes", version
	d.Examples = []json.RawMessage{
		json.RawMessage(`{}`),
		json.RawMessage(`{"kubeconfig": "/etc/wardroom/kubeconfig", "context": "prod", "namespace": "agents"}`),
		json.RawMessage(`{"secretRef": {"name": "wardroom", "key": "token"}}`),
	}
	return d
}
