package config_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core/config"
)

func TestSecrets(t *testing.T) {
	const vault = "security: {secrets: {provider: vault, vault: {address: 'https://v:8200', auth: {method: token}, secretPath: kv}}}\n"
	for name, c := range map[string]struct{ text, problem string }{
		"Provider":           {vault, ""},
		"Webhook":            {vault + "webhooks: {endpoints: [{url: 'https://h/x', events: ['*'], secret: 'vault:hooks#key', headers: {A: 'env:A'}}]}\n", ""},
		"Agent":              {"agentTypes: {x: {command: x, env: {A: 'env:A', B: plain, C: 'https://x/#y'}}}\n", ""},
		"ThirdParty":         {"plugins: {secrets-x: {kind: secret}}\nagentTypes: {x: {command: x, env: {A: 'secrets-x:a#b'}}}\n", ""},
		"Kubernetes":         {"security: {secrets: {provider: kubernetes, kubernetes: {secretRef: {name: n, key: k}}}}\nagentTypes: {x: {command: x, env: {A: 'kubernetes:'}}}\n", ""},
		"NotConfigured":      {"agentTypes: {x: {command: x, env: {A: 'vault:a#b'}}}\n", "agentTypes.x.env.A: refers to a secret of vault, which is not configured"},
		"NoPlugin":           {"agentTypes: {x: {command: x, env: {A: 'secrets-x:a#b'}}}\n", "declare plugins.secrets-x"},
		"Malformed":          {vault + "webhooks: {endpoints: [{url: 'https://h/x', events: ['*'], secret: 'vault:hooks'}]}\n", "is not of the form vault:<path>#<key>"},
		"NoAddress":          {"security: {secrets: {provider: vault}}\n", "security.secrets.vault.address: is missing"},
		"NoRegion":           {"security: {secrets: {provider: aws-secrets-manager}}\n", "security.secrets.aws.region: is missing"},
		"Allow":              {"security: {secrets: {allow: ['vault:agents/**#*', 'secrets-x:*#*']}}\n", ""},
		"AllowOwn":           {"security: {secrets: {allow: ['file:/**']}}\n", "is no pattern of references"},
		"Token":              {"runtimes: {r: {url: 'http://127.0.0.1:1', token: 'env:T'}}\n", "runtimes.r.token: takes no reference"},
		"Certificate":        {"security: {secrets: {provider: kubernetes}, mtls: {enabled: true, serverCertSecret: tls, clientCASecret: 'kubernetes:ca#bundle.pem'}}\n", ""},
		"CertificateTwice":   {"security: {secrets: {provider: kubernetes}, mtls: {enabled: true, clientAuth: none, serverCert: a.crt, serverKey: a.key, serverCertSecret: tls}}\n", "security.mtls.serverCert: is given beside serverCertSecret"},
		"KeyTwice":           {"security: {secrets: {provider: kubernetes}, mtls: {enabled: true, clientAuth: none, serverKey: a.key, serverCertSecret: tls}}\n", "security.mtls.serverKey: is given beside serverCertSecret"},
		"AuthoritiesTwice":   {"security: {secrets: {provider: kubernetes}, mtls: {enabled: true, serverCertSecret: tls, clientCA: ca.crt, clientCASecret: ca}}\n", "security.mtls.clientCA: is given beside clientCASecret"},
		"PluginEnv":          {vault + "plugins: {runtime-x: {env: {A: 'vault:a#b', B: 'env:B'}}}\n", ""},
		"PluginEnvNowhere":   {"plugins: {runtime-x: {env: {A: 'vault:a#b'}}}\n", "plugins.runtime-x.env.A: refers to a secret of vault, which is not configured"},
		"PluginEnvMalformed": {vault + "plugins: {runtime-x: {env: {A: 'vault:a'}}}\n", "plugins.runtime-x.env.A: begins as a reference to a secret and is not of the form"},
		"PluginEnvProvider":  {vault + "plugins: {secrets-vault: {kind: secret, env: {A: 'vault:a#b', B: 'file:/b'}}}\n", "plugins.secrets-vault.env.A: refers to a secret of vault: a provider of secrets may refer"},
		"CertificateNowhere": {"security: {mtls: {enabled: true, clientAuth: none, serverCertSecret: tls}}\n", "names no provider"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "c.yaml")
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := config.Load(path, config.Options{})
			switch {
			case c.problem == "" && err != nil:
				t.Error(err)
			case c.problem != "" && (err == nil || !strings.Contains(err.Error(), c.problem)):
				t.Errorf("got %v, want %s", err, c.problem)
			}
		})
	}
}

func TestSecretsPlugin(t *testing.T) {
	s := config.Secrets{Provider: "vault"}
	s.Vault.Address, s.Vault.Auth.Method, s.Vault.Auth.Role, s.Vault.SecretPath = "https://v", "kubernetes", "r", "kv"
	name, settings := s.Plugin()
	want := map[string]any{"address": "https://v", "auth": map[string]any{"method": "kubernetes", "role": "r"}, "secretPath": "kv"}
	if name != "secrets-vault" || !reflect.DeepEqual(settings, want) {
		t.Errorf("%s %v", name, settings)
	}
	s = config.Secrets{Provider: "kubernetes"}
	s.Kubernetes.SecretRef.Name = "n"
	if name, settings := s.Plugin(); name != "secrets-kubernetes" || !reflect.DeepEqual(settings, map[string]any{"secretRef": map[string]any{"name": "n"}}) {
		t.Errorf("%s %v", name, settings)
	}
	s = config.Secrets{Provider: "aws-secrets-manager"}
	s.AWS.Region, s.AWS.SecretPrefix = "eu", "w/"
	if name, settings := s.Plugin(); name != "secrets-aws" || !reflect.DeepEqual(settings, map[string]any{"region": "eu", "secretPrefix": "w/"}) {
		t.Errorf("%s %v", name, settings)
	}
}
