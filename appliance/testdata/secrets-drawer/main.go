// Command secrets-drawer is a provider of secrets for tests: it reads JSON objects of texts, one a path, in its directory.
package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/wardroom/wardroom/sdk/plugin"
	"github.com/wardroom/wardroom/sdk/secret"
)

func main() {
	plugin.Main(plugin.Definition{
		Name: "secrets-drawer", Version: "1.0.0", Kind: plugin.KindSecret, Schema: []byte(`{"type": "object"}`),
		Examples: []json.RawMessage{json.RawMessage(`{"directory": "/etc/secrets"}`)},
		Configure: func(_ context.Context, raw json.RawMessage, _ plugin.Host) (plugin.Service, error) {
			var d drawer
			err := json.Unmarshal(raw, &d)
			return plugin.Service{Secret: &d}, err
		},
	})
}

type drawer struct {
	Directory string `json:"directory"`
}

func (d *drawer) Resolve(_ context.Context, refs []secret.Ref, _ secret.Caller) ([]secret.Result, error) {
	results := make([]secret.Result, len(refs))
	for i, ref := range refs {
		results[i].Ref = ref
		var fields map[string]string
		data, err := os.ReadFile(filepath.Join(d.Directory, ref.Path+".json"))
		if err != nil || json.Unmarshal(data, &fields) != nil {
			return nil, secret.Errorf(secret.CodeUnavailable, "the drawer does not open")
		}
		text, ok := fields[ref.Key]
		if !ok {
			results[i].Error = secret.Errorf(secret.CodeNotFound, "there is no %s", ref)
			continue
		}
		results[i].Value = secret.NewValue([]byte(text), "", time.Time{})
	}
	return results, nil
}
