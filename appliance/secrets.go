package appliance

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/config"
	"github.com/wardroom/wardroom/core/health"
	"github.com/wardroom/wardroom/core/metrics"
	"github.com/wardroom/wardroom/core/pluginhost"
	"github.com/wardroom/wardroom/core/secrets"
	"github.com/wardroom/wardroom/sdk/secret"
)

// openSecrets makes what resolves references to secrets. Its plugins are there once the plugins are: who needs one before
// that waits for it.
func (a *App) openSecrets(c *config.Config) {
	plugins := map[string]secrets.Plugin{}
	for _, spec := range pluginSpecs(c) {
		if spec.Kind != config.KindSecret {
			continue
		}
		plugins[spec.Name] = a.latePlugin(spec.Name)
	}
	a.secrets = secrets.New(secrets.Options{
		Clock: a.clock, Logger: a.log.Named("secrets"), Config: secretsConfig(c), Plugins: plugins,
	})
	a.secrets.Open()
	a.health.Register(health.Check{Name: "secrets", Severity: health.Degraded, Run: a.checkSecrets})
}

func (a *App) latePlugin(name string) secrets.Plugin {
	late := &latePlugin{app: a, name: name}
	return secrets.Plugin{Provider: late, State: late.state}
}

func secretsConfig(c *config.Config) secrets.Config {
	s := &c.Security.Secrets
	return secrets.Config{Refresh: s.Refresh, StaleFor: s.StaleFor, Timeout: s.Timeout, Allow: s.Allow}
}

// checkSecrets reports providers that cannot be asked, or do not have what was asked for.
func (a *App) checkSecrets(ctx context.Context) health.Result {
	list, err := a.secrets.FindSecretProviders(ctx)
	if err != nil {
		return health.Failed("the providers of secrets cannot be listed", "look into the log")
	}
	for _, p := range list {
		if p.Status != "ok" {
			return health.Impaired(fmt.Sprintf("secrets of %s: %s", p.Name, p.Reason), p.Hint)
		}
	}
	return health.OK()
}

// secretFigures is what metrics show of the providers of secrets.
func (a *App) secretFigures() []metrics.SecretFigures {
	var list []metrics.SecretFigures
	for _, f := range a.secrets.Figures() {
		list = append(list, metrics.SecretFigures(f))
	}
	return list
}

// latePlugin is a provider that is a plugin, before the plugins were started as well.
type latePlugin struct {
	app  *App
	name string

	mu       sync.Mutex // guards provider
	provider secret.Provider
}

var (
	_ secret.Provider = (*latePlugin)(nil)
	_ secret.Watcher  = (*latePlugin)(nil)
)

// live returns the plugin; nil before the plugins were started.
func (l *latePlugin) live() secret.Provider {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.provider == nil {
		if host := l.app.host.Load(); host != nil {
			l.provider = host.Secret(l.name)
		}
	}
	return l.provider
}

func (l *latePlugin) notYet() error {
	return secret.Errorf(secret.CodeUnavailable, "the plugin %s was not started yet", l.name)
}

// Resolve implements secret.Provider.
func (l *latePlugin) Resolve(ctx context.Context, refs []secret.Ref, by secret.Caller) ([]secret.Result, error) {
	p := l.live()
	if p == nil {
		return nil, l.notYet()
	}
	return p.Resolve(ctx, refs, by)
}

// Watch implements secret.Watcher.
func (l *latePlugin) Watch(ctx context.Context, refs []secret.Ref) (secret.ChangeStream, error) {
	watcher, ok := l.live().(secret.Watcher)
	if !ok {
		return nil, l.notYet()
	}
	return watcher.Watch(ctx, refs)
}

// state reports whether the plugin is there, and if not why.
func (l *latePlugin) state() (ready bool, reason, hint string) {
	host := l.app.host.Load()
	if host == nil {
		return false, "the plugins were not started yet", ""
	}
	p, err := host.FindPlugin(context.Background(), l.name)
	if err != nil {
		return false, core.AsError(err).Message, "wardroom plugin list shows the state of all plugins"
	}
	if p.State != core.PluginReady {
		return false, fmt.Sprintf("the plugin %s is %s: %s", l.name, p.State, p.Reason), p.Hint
	}
	return true, "", ""
}

// secretProvider adds the plugin that security.secrets.provider is, with its settings; what plugins has for it stands over those.
func secretProvider(c *config.Config, specs map[string]pluginhost.Spec) {
	name, settings := c.Security.Secrets.Plugin()
	if name == "" {
		return
	}
	spec, ok := specs[name]
	if !ok {
		spec = pluginhost.Spec{Name: name, Enabled: true}
	}
	spec.Kind = config.KindSecret
	own := map[string]any{}
	if len(spec.Config) > 0 && json.Unmarshal(spec.Config, &own) == nil {
		overlay(settings, own)
	}
	if merged, err := json.Marshal(settings); err == nil { // of maps and texts it does not fail
		spec.Config = merged
	}
	specs[name] = spec
}

// overlay lays settings over others: sections join, everything else replaces.
func overlay(under, over map[string]any) {
	for key, value := range over {
		below, ok := under[key].(map[string]any)
		if above, section := value.(map[string]any); section && ok {
			overlay(below, above)
			continue
		}
		under[key] = value
	}
}

// pluginSecret resolves a reference that stands in the settings of a plugin. A provider of secrets gets those of built-in
// providers only: it must not wait for itself.
func (a *App) pluginSecret(ctx context.Context, plugin, text string) (secret.Value, error) {
	ref, ok, err := core.ParseSecretRef(text)
	switch {
	case err != nil:
		return secret.Value{}, secret.Errorf(secret.CodeInvalidRef, "the reference %s", err)
	case !ok:
		return secret.Value{}, secret.Errorf(secret.CodeInvalidRef, "the text is no reference to a secret; they are of the form <provider>:<path>#<key>")
	case !ref.BuiltIn() && a.secrets.Knows(plugin):
		return secret.Value{}, secret.Errorf(secret.CodeForbidden, "a provider of secrets may refer to env, file and credential only")
	}
	return a.secrets.Resolve(ctx, ref, secret.Caller{Component: plugin})
}

// certificateTime bounds one look for certificates that are secrets.
const certificateTime = 30 * time.Second

// certificateSecrets returns the names of the certificates of the listener, files or secrets, and what reads those that are
// secrets.
func (a *App) certificateSecrets(c *config.Config) (cert, key, ca string, read func(name string) ([]byte, bool, error), err error) {
	m, refs := &c.Security.MTLS, map[string]core.SecretRef{}
	cert, key, ca = m.ServerCert, m.ServerKey, m.ClientCA
	name := func(text, member string) (string, error) {
		ref, err := c.Security.Secrets.Certificate(text, member)
		if err != nil {
			return "", err
		}
		refs[ref.String()] = ref
		return ref.String(), nil
	}
	if m.ServerCertSecret != "" {
		if cert, err = name(m.ServerCertSecret, "tls.crt"); err != nil {
			return "", "", "", nil, core.Invalid("security.mtls.serverCertSecret", "%s", err)
		}
		if key, err = name(m.ServerCertSecret, "tls.key"); err != nil {
			return "", "", "", nil, core.Invalid("security.mtls.serverCertSecret", "%s", err)
		}
	}
	if m.ClientCASecret != "" {
		if ca, err = name(m.ClientCASecret, "ca.crt"); err != nil {
			return "", "", "", nil, core.Invalid("security.mtls.clientCASecret", "%s", err)
		}
	}
	source := a.secrets.Configured("listener")
	return cert, key, ca, func(name string) ([]byte, bool, error) {
		ref, ok := refs[name]
		if !ok {
			return nil, false, nil
		}
		ctx, cancel := context.WithTimeout(a.work, certificateTime)
		defer cancel()
		v, err := source.Value(ctx, ref)
		return v.Reveal(), true, err
	}, nil
}

// gitPassword returns what gives the password of a repository to a connection: that of the moment.
func (a *App) gitPassword(name string, password config.Secret) func() string {
	source := a.secrets.Configured("git")
	if _, ok, _ := core.ParseSecretRef(password.Reveal()); !ok {
		return password.Reveal
	}
	return func() string {
		text, err := source.SecretText(a.work, password.Reveal())
		if err != nil {
			a.log.Error("the password of a repository is not there", "repository", "threads.repositories."+name, "error", err)
			return ""
		}
		return text
	}
}
