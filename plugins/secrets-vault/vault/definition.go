package vault

import (
	"context"
	"encoding/json"

	"github.com/wardroom/wardroom/sdk/plugin"
	"github.com/wardroom/wardroom/sdk/secret"
)

// Definition is the plugin. Nothing is asked of the server by Configure: one that is down keeps nobody from starting, and
// Health tells.
func Definition(version string) plugin.Definition {
	return plugin.Definition{
		Name: "secrets-vault", Version: version, Kind: plugin.KindSecret, Schema: schema,
		Examples: []json.RawMessage{
			json.RawMessage(`{"address": "https://vault.example.com:8200", "auth": {"method": "approle", "roleId": "5f4c9e1a-wardroom", "secretIdFile": "/etc/wardroom/vault-secret-id"}, "secretPath": "secret/data/wardroom"}`),
			json.RawMessage(`{"address": "https://vault.example.com:8200", "caCert": "/etc/wardroom/vault-ca.pem", "auth": {"method": "token", "tokenFile": "/run/vault-agent/token"}}`),
			json.RawMessage(`{"address": "https://vault.vault.svc:8200", "auth": {"method": "kubernetes", "role": "wardroom"}}`),
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
			s, err := open(c, host.Logger())
			if err != nil {
				return plugin.Service{}, err
			}
			return plugin.Service{Secret: s.provider, Health: s.health, Close: s.close}, nil
		},
	}
}
