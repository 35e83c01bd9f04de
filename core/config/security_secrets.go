package config

import (
	"time"

	"github.com/wardroom/wardroom/core"
)

// Secrets is where secrets come from that this file, patterns and requests refer to.
type Secrets struct {
	// Where secrets are kept. The plugin secrets-vault, secrets-kubernetes or secrets-aws reads them there, with the settings
	// below; references begin with vault, kubernetes or aws. Empty: nowhere; plugins of the kind secret in plugins are used in
	// any case, and references to the environment, to files and to credentials need no plugin. Of the sections below that
	// one counts which is the provider's.
	Provider string `json:"provider" enum:",kubernetes,vault,aws-secrets-manager" reload:"restart"`
	// Secrets of Kubernetes.
	Kubernetes SecretsKubernetes `json:"kubernetes" reload:"restart"`
	// HashiCorp Vault, or OpenBao.
	Vault SecretsVault `json:"vault" reload:"restart"`
	// AWS Secrets Manager.
	AWS SecretsAWS `json:"aws" reload:"restart"`
	// References that patterns and requests may use, with * for any part of a path and ** for any number of parts, such as
	// vault:agents/**. Empty: all of plugins. They never read the environment, files or credentials of the service.
	Allow []string `json:"allow" check:"is=secretGlob"`
	// How long a secret is used before its plugin is asked for it again. Plugins that tell of changes are heard at once.
	Refresh time.Duration `json:"refresh" default:"5m" check:"min=1s,max=24h"`
	// How much longer it is used while its plugin does not answer. One that expires is never used beyond that. 0: not at all.
	StaleFor time.Duration `json:"staleFor" default:"1h" check:"min=0s,max=30d"`
	// How long a plugin may take to answer.
	Timeout time.Duration `json:"timeout" default:"10s" check:"min=100ms,max=2m"`
}

// SecretsKubernetes is the configuration of the plugin secrets-kubernetes.
type SecretsKubernetes struct {
	// The secret that is read where a reference names none.
	SecretRef SecretKeyRef `json:"secretRef"`
}

// SecretKeyRef names a key of a secret of Kubernetes.
type SecretKeyRef struct {
	// Name of the secret.
	Name string `json:"name"`
	// Key in it.
	Key string `json:"key"`
}

// SecretsVault is the configuration of the plugin secrets-vault.
type SecretsVault struct {
	// Address of the server, such as https://vault.example.com:8200.
	Address string `json:"address" check:"is=url"`
	// How the plugin proves who it is.
	Auth SecretsVaultAuth `json:"auth"`
	// Path that those of references are below. Empty: they are whole.
	SecretPath string `json:"secretPath"`
}

// SecretsVaultAuth is how the plugin secrets-vault proves who it is.
type SecretsVaultAuth struct {
	// Method: token, approle or kubernetes. What it needs beside a role is in plugins.secrets-vault.
	Method string `json:"method"`
	// Role to log in as.
	Role string `json:"role"`
}

// SecretsAWS is the configuration of the plugin secrets-aws. Credentials come from its environment, from files of the
// AWS tools or from the machine.
type SecretsAWS struct {
	// Region, such as eu-central-1.
	Region string `json:"region"`
	// What the names of references are put behind.
	SecretPrefix string `json:"secretPrefix"`
}

// Plugin returns the plugin of the provider, and its settings; "" for no provider.
func (s *Secrets) Plugin() (name string, settings map[string]any) {
	settings = map[string]any{}
	set := func(into map[string]any, key, value string) {
		if value != "" {
			into[key] = value
		}
	}
	switch s.Provider {
	case "kubernetes":
		ref := map[string]any{}
		set(ref, "name", s.Kubernetes.SecretRef.Name)
		set(ref, "key", s.Kubernetes.SecretRef.Key)
		if len(ref) > 0 {
			settings["secretRef"] = ref
		}
		return core.SecretAliases["kubernetes"], settings
	case "vault":
		set(settings, "address", s.Vault.Address)
		auth := map[string]any{}
		set(auth, "method", s.Vault.Auth.Method)
		set(auth, "role", s.Vault.Auth.Role)
		if len(auth) > 0 {
			settings["auth"] = auth
		}
		set(settings, "secretPath", s.Vault.SecretPath)
		return core.SecretAliases["vault"], settings
	case "aws-secrets-manager":
		set(settings, "region", s.AWS.Region)
		set(settings, "secretPrefix", s.AWS.SecretPrefix)
		return core.SecretAliases["aws"], settings
	}
	return "", nil
}

// secretPlugins returns the plugins that references may name.
func (c *Config) secretPlugins() map[string]bool {
	names := map[string]bool{}
	if name, _ := c.Security.Secrets.Plugin(); name != "" {
		names[name] = true
	}
	for name, p := range c.Plugins.Entries {
		switch {
		case !p.Enabled:
			delete(names, name)
		case p.IsSecret(name):
			names[name] = true
		}
	}
	return names
}

// secrets reports what the chosen provider lacks, and references that could never be resolved.
func (r *ruling) secrets(s *Secrets) {
	const at = "security.secrets"
	if s.Provider == "vault" && s.Vault.Address == "" {
		r.refuse(at+".vault", "address", "is missing: give the address of the server")
	}
	if s.Provider == "aws-secrets-manager" && s.AWS.Region == "" {
		r.refuse(at+".aws", "region", "is missing: name the region")
	}
	plugins := r.config.secretPlugins()
	check := func(entry, name, text string) {
		ref, ok, err := core.ParseSecretRef(text)
		switch {
		case err != nil:
			r.refuse(entry, name, "begins as a reference to a secret and %s", err)
		case ok && !ref.BuiltIn() && r.disabled(ref.Plugin()):
			r.refuse(entry, name, "refers to a secret of %s, and plugins.%s.enabled is false: enable it, or take the reference out first", ref.Provider, ref.Plugin())
		case ok && !ref.BuiltIn() && !plugins[ref.Plugin()]:
			r.refuse(entry, name, "refers to a secret of %s, which is not configured: set security.secrets.provider, or declare plugins.%s with kind: secret", ref.Provider, ref.Plugin())
		}
	}
	r.secretTexts(check)
	m := &r.config.Security.MTLS
	for name, text := range map[string]string{"serverCertSecret": m.ServerCertSecret, "clientCASecret": m.ClientCASecret} {
		if text == "" {
			continue
		}
		ref, err := s.Certificate(text, "")
		switch {
		case err != nil:
			r.refuse("security.mtls", name, "%s", err)
		case !ref.BuiltIn() && r.disabled(ref.Plugin()):
			r.refuse("security.mtls", name, "refers to a secret of %s, and plugins.%s.enabled is false", ref.Provider, ref.Plugin())
		case !ref.BuiltIn() && !plugins[ref.Plugin()]:
			r.refuse("security.mtls", name, "refers to a secret of %s, which is not configured", ref.Provider)
		}
	}
}

// disabled reports whether the configuration says of a plugin that it is not to run.
func (r *ruling) disabled(plugin string) bool {
	p := r.config.Plugins.Entries[plugin]
	return p != nil && !p.Enabled
}

// secretTexts hands the texts that may refer to secrets to check, and refuses references in those that may not.
func (r *ruling) secretTexts(check func(entry, name, text string)) {
	c := r.config
	vars := func(entry string, of map[string]Secret) {
		for _, name := range sortedKeys(of) {
			check(entry, name, of[name].Reveal())
		}
	}
	plain := func(entry, name string, value Secret) {
		if _, ok, _ := core.ParseSecretRef(value.Reveal()); ok {
			r.refuse(entry, name, "takes no reference to a secret; use one to the environment, as ${NAME}")
		}
	}
	for _, name := range sortedKeys(c.AgentTypes) {
		vars("agentTypes."+name+".env", c.AgentTypes[name].Env)
	}
	for _, name := range sortedKeys(c.Plugins.Entries) {
		p, entry := c.Plugins.Entries[name], "plugins."+name+".env"
		for _, variable := range sortedKeys(p.Env) {
			text := p.Env[variable].Reveal()
			check(entry, variable, text)
			if ref, ok, _ := core.ParseSecretRef(text); ok && !ref.BuiltIn() && p.IsSecret(name) {
				r.refuse(entry, variable, "refers to a secret of %s: a provider of secrets may refer to env, file and credential only", ref.Provider)
			}
		}
	}
	for i := range c.Webhooks.Endpoints {
		check(endpointKey(i), "secret", c.Webhooks.Endpoints[i].Secret.Reveal())
		vars(endpointKey(i)+".headers", c.Webhooks.Endpoints[i].Headers)
	}
	for _, name := range sortedKeys(c.Threads.Repositories) {
		check("threads.repositories."+name, "password", c.Threads.Repositories[name].Password.Reveal())
	}
	sso := &c.Security.SSO
	check("security.sso."+sso.Provider, "clientSecret", sso.Client().ClientSecret.Reveal())
	plain("security.audit.elasticsearch", "password", c.Security.Audit.Elasticsearch.Password)
	plain("security.audit.splunk", "token", c.Security.Audit.Splunk.Token)
	for _, name := range sortedKeys(c.Runtimes) {
		plain("runtimes."+name, "token", c.Runtimes[name].Token)
	}
	plain("webhooks", "proxyPassword", c.Webhooks.ProxyPassword)
}

// Certificate reads the name of a secret that holds certificates: a whole reference but for its key, or a name at the chosen
// provider. key is the one that is read where the name has none.
func (s *Secrets) Certificate(text, key string) (core.SecretRef, error) {
	return core.WholeSecretRef(text, map[string]string{"kubernetes": "kubernetes", "vault": "vault", "aws-secrets-manager": "aws"}[s.Provider], key)
}
