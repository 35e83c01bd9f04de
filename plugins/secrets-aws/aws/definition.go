package aws

import (
	"context"
	"encoding/json"

	"github.com/wardroom/wardroom/sdk/plugin"
	"github.com/wardroom/wardroom/sdk/secret/source"
)

// Definition is the plugin. Configure asks nothing of the service: one that is not reachable does not stop the start,
// and Health tells.
func Definition(version string) plugin.Definition {
	d := source.Definition(schema, decode, func(ctx context.Context, c Config, _ plugin.Host) (plugin.Service, error) {
		s, err := open(ctx, c)
		if err != nil {
			return plugin.Service{}, err
		}
		return plugin.Service{Secret: s.provider, Health: s.health, Close: s.close}, nil
	})
	d.Name, d.Version = "secrets-aws", version
	d.Examples = []json.RawMessage{
		json.RawMessage(`{"region": "eu-central-1", "secretPrefix": "wardroom/"}`),
		json.RawMessage(`{"region": "us-gov-west-1", "endpoint": "https://secretsmanager.vpce.example.com", "pollInterval": "1m"}`),
	}
	return d
}
