package vault

import (
	"context"
	"encoding/json"

	"github.com/wardroom/wardroom/sdk/plugin"
	"github.com/wardroom/wardroom/sdk/secret/source"
)

// Definition is the plugin. Nothing is asked of the server by Configure: one that is down does not stop the start, and
// Health tells.
func Definition(version string) plugin.Definition {
	d := source.Definition(schema, decode, func(_ context.Context, c Config, host plugin.Host) (plugin.Service, error) {
		s, err := open(c, host.Logger())
		if err != nil {
			return plugin.Service{}, err
		}
		return plugin.Service{Secret: s.provider, Health: s.health, Close: s.close}, nil
	})
	d.Name, d.Version = "secrets-vault", version
	d.Examples = []json.RawMessage{
		json.RawMessage(`{"address": "https://vault.example.com:8200", "auth": {"method": "approle", "roleId": "5f4c9e1a-wardroom", "secretIdFile": "/etc/wardroom/vault-secret-id"}, "secretPath": "secret/data/wardroom"}`),
		json.RawMessage(`{"address": "https://vault.example.com:8200", "caCert": "/etc/wardroom/vault-ca.pem", "auth": {"method": "token", "tokenFile": "/run/vault-agent/token"}}`),
		json.RawMessage(`{"address": "https://vault.vault.svc:8200", "auth": {"method": "kubernetes", "role": "wardroom"}}`),
	}
	return d
}
