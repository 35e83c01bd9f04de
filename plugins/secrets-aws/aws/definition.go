package aws

import (
	"context"
	"encoding/json"

	"github.com/wardroom/wardroom/sdk/plugin"
	"github.com/wardroom/wardroom/sdk/secret"
)

// Definition is the plugin. Configure asks nothing of the service: one that is not reachable keeps nobody from starting,
// and Health tells.
func Definition(version string) plugin.Definition {
	return plugin.Definition{
		Name: "secrets-aws", Version: version, Kind: plugin.KindSecret, Schema: schema,
		Examples: []json.RawMessage{
			json.RawMessage(`{"region": "eu-central-1", "secretPrefix": "wardroom/"}`),
			json.RawMessage(`{"region": "us-gov-west-1", "endpoint": "https://secretsmanager.vpce.example.com", "pollInterval": "1m"}`),
		},
		Validate: func(_ context.Context, config json.RawMessage) []plugin.Problem {
			_, problems := decode(config)
			return problems
		},
		Configure: func(ctx context.Context, raw json.RawMessage, _ plugin.Host) (plugin.Service, error) {
			c, problems := decode(raw)
			for _, p := range problems {
				if p.Severity == plugin.SeverityError {
					return plugin.Service{}, secret.Errorf(secret.CodeNotConfigured, "%s: %s", p.Path, p.Text)
				}
			}
			s, err := open(ctx, c)
			if err != nil {
				return plugin.Service{}, err
			}
			return plugin.Service{Secret: s.provider, Health: s.health, Close: s.close}, nil
		},
	}
}
