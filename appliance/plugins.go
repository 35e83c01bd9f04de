package appliance

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/wardroom/wardroom/core/config"
	"github.com/wardroom/wardroom/core/health"
	"github.com/wardroom/wardroom/core/pluginhost"
	"github.com/wardroom/wardroom/core/store/atrest"
	"github.com/wardroom/wardroom/core/workspace"
)

// localPlugin is the plugin that the development server uses when it lies beside the binary.
const localPlugin = "runtime-local"

// openPlugins starts the plugins that the configuration names.
func (a *App) openPlugins(ctx context.Context) error {
	c := a.config.Load()
	dir, err := pluginDir(c.Plugins.Dir)
	if err != nil {
		return err
	}
	state := stateDir(c)
	run, err := runDir(state)
	if err != nil {
		return err
	}
	if err := a.clearRunDirs(ctx, run, state); err != nil {
		return fmt.Errorf("claim the run directory: %w", err)
	}
	workspaces, err := filepath.Abs(workspaceRoot(c))
	if err != nil {
		return err
	}
	var source atrest.KeySource
	if e := Encryption(c); e != nil {
		source = e.Source
	}
	if a.stateKeys, err = openStateKeys(ctx, c.Store.Path, source, a.store.EncryptionStatus().MasterKey); err != nil {
		return err
	}
	a.plugins, err = pluginhost.New(pluginhost.Options{
		Dir: dir, RunDir: run, StateDir: state, Dev: a.opts.Dev,
		Private: a.privatePaths(c, state, run), Workspaces: workspace.TreesDir(workspaces),
		Uses: []string{config.KindRuntime, config.KindAudit, config.KindSecret}, Secrets: a.pluginSecret, Keys: a.stateKeys.of, TrustedKeys: c.Plugins.TrustedKeys,
		Plugins: pluginSpecs(c), Clock: a.clock, Logger: a.log, Metrics: a.pluginWatch(), Unsafe: a.unsafePlugins, Check: a.watchPlugin,
	})
	if err != nil {
		return err
	}
	a.host.Store(a.plugins)
	return a.plugins.Open(ctx)
}

// watchPlugin registers a plugin with the health of the whole.
func (a *App) watchPlugin(c pluginhost.HealthCheck) {
	severity := health.Degraded
	if c.Required {
		severity = health.Required
	}
	a.health.Register(health.Check{Name: c.Name, Severity: severity, Run: func(context.Context) health.Result {
		switch status, message, hint := c.Run(); status {
		case "ok":
			return health.OK()
		case "degraded":
			return health.Impaired(message, hint)
		default:
			return health.Failed(message, hint)
		}
	}})
}

// pluginSpecs lists the plugins of the configuration: those that have an entry, and those that a runtime, the audit
// destination or the provider of secrets is.
func pluginSpecs(c *config.Config) []pluginhost.Spec {
	specs := make(map[string]pluginhost.Spec)
	for name, p := range c.Plugins.Entries {
		kind := p.Kind
		if p.IsSecret(name) {
			kind = config.KindSecret
		}
		specs[name] = pluginhost.Spec{
			Name: name, Kind: kind, Path: p.Path, SHA256: p.SHA256, Required: p.Required, Enabled: p.Enabled,
			Config: p.Config.JSON(), Env: p.Env.Reveal(), Secrets: p.Config.Secrets(),
		}
	}
	for _, r := range c.Runtimes {
		if r.Plugin == "" {
			continue
		}
		spec, ok := specs[r.Plugin]
		if !ok {
			spec = pluginhost.Spec{Name: r.Plugin, Enabled: true}
		}
		spec.Kind = config.KindRuntime
		spec.Required = spec.Required || r.Required
		if !r.Config.IsZero() {
			spec.Config, spec.Secrets = r.Config.JSON(), r.Config.Secrets()
		}
		if len(spec.Config) == 0 {
			spec.Config = json.RawMessage("{}")
		}
		specs[r.Plugin] = spec
	}
	destination(c, specs)
	secretProvider(c, specs)
	var list []pluginhost.Spec
	for _, name := range slices.Sorted(maps.Keys(specs)) {
		list = append(list, specs[name])
	}
	return list
}

// devRuntimes gives the development server the local runtime, if its plugin is there, and a shell as an agent
// type, so that managed agents can be tried without any coding tool.
func devRuntimes(c *config.Config) {
	dir, err := pluginDir(c.Plugins.Dir)
	if err != nil {
		return
	}
	if info, err := os.Stat(filepath.Join(dir, localPlugin)); err == nil && info.Mode().IsRegular() {
		c.Runtimes = map[string]*config.Runtime{"local": {Plugin: localPlugin, Priority: 10}}
		c.AgentTypes = map[string]*config.AgentType{"bash": {
			Command: "bash", Args: []string{"--norc", "--noprofile"}, Env: config.Env{"PS1": config.NewSecret("bash$ "), "HISTFILE": config.NewSecret("/dev/null")},
			Ready: config.Ready{Pattern: `^bash\$ $`, Timeout: time.Minute}, Exit: "exit",
		}}
	}
}
