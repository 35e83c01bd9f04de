package appliance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/config"
	"github.com/wardroom/wardroom/core/health"
	"github.com/wardroom/wardroom/core/pluginhost"
	"github.com/wardroom/wardroom/core/store"
	"github.com/wardroom/wardroom/core/store/atrest"
	"github.com/wardroom/wardroom/core/workspace"
	"github.com/wardroom/wardroom/sdk/wire"
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
		UsedBy:  func(name string) string { return a.config.Load().PluginUser(name) },
		Plugins: pluginSpecs(c), Clock: a.clock, Logger: a.log, Metrics: a.pluginWatch(), Unsafe: a.unsafePlugins, Check: a.watchPlugin, Changed: a.noticePlugin,
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

// switchTime bounds how long a reload waits for plugins that it starts and stops.
const switchTime = 20 * time.Second

// reloadPlugins starts and stops plugins as the configuration has them now, and says what that means. It is done last of a
// reload: it cannot fail.
func (a *App) reloadPlugins(c *config.Config) {
	ctx, cancel := context.WithTimeout(a.work, switchTime)
	defer cancel()
	for _, s := range a.plugins.ApplyConfig(ctx, pluginSpecs(c)) {
		args := []any{"plugin", s.Name, "kind", s.Kind, "enabled", s.Enabled, "state", string(s.State)}
		if s.Removed {
			args = append(args, "reason", "the configuration does not have it any more")
		}
		if s.Chosen {
			a.log.Warn("the configuration changed whether a plugin runs, and what wardroom plugin enable or disable said last stays in effect", args...)
			continue
		}
		message := "the configuration had a plugin started"
		if !s.Enabled {
			message = "the configuration had a plugin stopped"
			args = append(args, a.withoutPlugin(c, s)...)
		}
		a.log.Info(message, args...)
		what := "plugins.enable"
		if !s.Enabled {
			what = "plugins.disable"
		}
		a.recordPluginChange(what, s.Name, map[string]any{"kind": s.Kind, "state": string(s.State), "reason": "config.reload"})
	}
}

// withoutPlugin says, for the log, what goes without a plugin that was stopped.
func (a *App) withoutPlugin(c *config.Config, s pluginhost.Switched) []any {
	switch s.Kind {
	case config.KindRuntime:
		for _, name := range slices.Sorted(maps.Keys(c.Runtimes)) {
			if c.Runtimes[name].Plugin != s.Name {
				continue
			}
			return []any{"runtime", name, "agents", a.agentsOf(name), "effect",
				"its agents are unreachable, and found again once it is enabled, as far as they outlive their plugin; nothing is spawned there meanwhile"}
		}
	case config.KindAudit:
		return []any{"effect", "records wait for it, and are kept, until it is enabled, or gone from the configuration at a restart"}
	case config.KindSecret:
		return []any{"effect", "secrets of it are not resolved; those that were stay for security.secrets.staleFor"}
	}
	return nil
}

// agentsOf counts the agents of a runtime that are not over.
func (a *App) agentsOf(runtime string) int {
	_, info, err := a.runtimes.FindManagedAgents(a.work, core.ManagedAgentFilter{Runtime: runtime, Page: core.Page{Limit: 1}})
	if err != nil {
		return 0
	}
	return info.Total
}

// OfflineRemovePlugin removes an installed plugin of a service that does not run, and records that. CONFLICT when the
// service runs.
func OfflineRemovePlugin(ctx context.Context, c *config.Config, at store.Location, name string) (*wire.PluginRemoval, error) {
	if key := c.PluginUser(name); key != "" {
		return nil, pluginhost.InUse(name, key)
	}
	dir, err := pluginDir(c.Plugins.Dir)
	if err != nil {
		return nil, err
	}
	var removed wire.PluginRemoval
	err = offlineTrail(ctx, at, true, func(ctx context.Context, trail core.AuditService) error { // the store is held meanwhile: nothing starts
		before, err := trail.FindAudit(ctx, core.AuditFilter{Limit: 1})
		if err != nil {
			return err
		}
		if removed, err = pluginhost.Remove(dir, name); err != nil {
			return err
		}
		err = pluginhost.Forget(stateDir(c), name)
		if len(before.Records) == 0 {
			return err // nothing was ever recorded here
		}
		return errors.Join(err, trail.Record(ctx, core.AuditEntry{
			Category: wire.AuditAdmin, Action: "plugins.remove", Outcome: wire.AuditSuccess,
			Resource: wire.AuditResource{Type: "plugins", ID: name, Version: removed.Version},
			Actor:    wire.AuditActor{Type: string(core.PrincipalSystem), ID: core.System.ID},
		}))
	})
	if err != nil {
		return nil, err
	}
	if kept := filepath.Join(stateDir(c), "data", name); pluginhost.Exists(kept) {
		removed.State = kept
	}
	return &removed, nil
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
