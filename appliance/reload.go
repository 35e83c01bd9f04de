package appliance

import (
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/config"
	"github.com/wardroom/wardroom/sdk/wire"
)

// hangups delivers SIGHUP until stop is called.
func hangups() (<-chan os.Signal, func()) {
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, syscall.SIGHUP)
	return ch, func() { signal.Stop(ch) }
}

// bearBrokenPipes has a write of the log fail whose reader has left, where its signal would end the process. It is not undone: the last
// words of a process would end it without its exit code. Programs that are started get the signal as ever.
func bearBrokenPipes() {
	if signal.Ignored(syscall.SIGPIPE) {
		return // by the service manager, for them as well
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
}

// reloader applies one part's share of a configuration.
type reloader struct {
	name  string
	apply func(c *config.Config) error
	// keep returns what puts back what is in force; nil: to apply the former configuration does. That does not where files that it
	// names are read as well, which are others by then.
	keep func() (putBack func())
}

// undoing returns what puts back what a part has in force, before it applies another configuration than that of old.
func (r *reloader) undoing(old *config.Config) func() error {
	if r.keep == nil {
		return func() error { return r.apply(old) }
	}
	putBack := r.keep()
	return func() error {
		putBack()
		return nil
	}
}

func (a *App) reloaders() []reloader {
	return []reloader{
		{name: "log", apply: func(c *config.Config) error {
			a.levels.apply(c.Log)
			a.plugins.RefreshLogLevels()
			return nil
		}},
		{name: "masking", apply: func(c *config.Config) error { return a.applyMasking(c) }}, // before those who keep what was masked
		{name: "secrets", apply: func(c *config.Config) error { a.secrets.ApplyConfig(secretsConfig(c)); return nil }},
		{name: "agents", apply: func(c *config.Config) error { return a.agents.ApplyConfig(agentsConfig(c)) }},
		{name: "engine", apply: func(c *config.Config) error { a.engine.ApplyConfig(engineConfig(c)); return nil }},
		{name: "workspaces", apply: func(c *config.Config) error {
			places, err := a.workspaceConfig(c)
			if err == nil {
				a.workspaces.ApplyConfig(places)
			}
			return err
		}},
		{name: "memory", apply: func(c *config.Config) error { a.memory.ApplyConfig(memoryConfig(c)); return nil }},
		{name: "threads", apply: func(c *config.Config) error { a.threads.ApplyConfig(threadsConfig(c)); return nil }},
		{name: "tracing", apply: func(c *config.Config) error { return a.applyTracing(c) }},
		{name: "webhooks", apply: func(c *config.Config) error { return a.reloadWebhooks(c) }},
		{name: "approvals", apply: a.loadApprovals, keep: a.approvals.Keep},
		{name: "access", apply: func(c *config.Config) error {
			if a.policy == nil {
				return nil
			}
			return a.policy.Load(a.work, policyConfig(c))
		}, keep: func() func() {
			if a.policy == nil {
				return func() {}
			}
			return a.policy.Keep()
		}},
		{name: "audit", apply: func(c *config.Config) error { a.reloadAudit(c); return nil }},
		{name: "api", apply: func(c *config.Config) error { a.api.ApplyConfig(apiConfig(c)); return nil }},
		{name: "certificates", apply: func(*config.Config) error {
			if source := a.certificates.Load(); source != nil {
				_ = source.Reload() // it has said why not, and the former certificate stays in use
			}
			return nil
		}},
		{name: "limits", apply: func(c *config.Config) error {
			rules, err := limitRules(c)
			if err == nil {
				a.gate.Change(rules)
			}
			return err
		}},
		{name: "connections", apply: func(c *config.Config) error { a.connections.Apply(a.connectionLimits(c)); return nil }},
		{name: "plugins", apply: func(c *config.Config) error { a.reloadPlugins(c); return nil }}, // last: it logs what it did
	}
}

// warnIdle reports what the file sets that does nothing, or is refused later.
func (a *App) warnIdle(c *config.Config) {
	for _, w := range c.Warnings() {
		if w.Key == config.KeyListen { // a start refuses that one, unless it was given --insecure
			continue
		}
		a.log.Warn("a section of the configuration does nothing, or is refused when it is used", "key", w.Key, "at", w.String())
	}
}

// policyRevision names the policy that decides; "" for none.
func (a *App) policyRevision() string {
	if a.policy == nil {
		return ""
	}
	return a.policy.Revision()
}

// Reload reads the configuration again and applies what may change while the process runs: all of it, or
// nothing. Keys that wait for a restart are named in the log. A bad file changes nothing.
func (a *App) Reload() (err error) {
	a.reloading.Lock()
	defer a.reloading.Unlock()
	notifyReloading()
	defer func() {
		a.metrics.Config.Reloaded(err == nil, a.clock.Now())
		status := "STATUS=ready on " + a.Addr()
		if err != nil {
			status = "STATUS=the last reload failed, the old configuration is in effect; ready on " + a.Addr()
		}
		notify(notifyReady, status)
		a.refused.Store(nil)
		if err != nil {
			message := core.AsError(err).Message
			a.refused.Store(&message)
			a.recordSystem("config.reload", wire.AuditFailure, map[string]any{"code": string(core.ErrorCode(err))})
		}
	}()
	if a.opts.Dev {
		return core.Errorf(core.CodeConflict, "the development server has no configuration file to reload")
	}
	loaded, err := load(a.opts)
	if err != nil {
		return err
	}
	policy := a.policyRevision()
	old := a.config.Load()
	if err := old.CheckEmptied(loaded); err != nil {
		return err
	}
	next := old.With(loaded)
	if err := next.CheckMixed(); err != nil {
		return err
	}
	joining, err := a.startJoining(old, next)
	if err != nil {
		return err
	}
	parts := a.reloaders()
	undo := make([]func() error, 0, len(parts))
	for i := range parts {
		undo = append(undo, parts[i].undoing(old))
		if err := parts[i].apply(next); err != nil {
			joining.drop()
			for j, back := range undo[:i] {
				if back := back(); back != nil {
					a.log.Error("the old configuration could not be put back", "part", parts[j].name, "error", back)
				}
			}
			return err
		}
	}
	joining.keep(next)
	a.config.Store(next) // retention reads it from here at its next run
	var changed []string
	for _, change := range config.Changes(old, next) {
		changed = append(changed, change.Key)
	}
	a.recordSystem("config.reload", wire.AuditSuccess, map[string]any{"changed": changed})
	if now := a.policyRevision(); now != policy {
		a.recordSystem("policy.change", wire.AuditSuccess, map[string]any{"revision": now, "previousRevision": policy})
	}
	a.warnUnmatched(a.work)
	a.warnIdle(loaded)
	a.log.Info("configuration reloaded", "changed", strings.Join(changed, ","))
	if waiting := config.NeedsRestart(old, loaded); len(waiting) > 0 {
		a.log.Warn("some keys wait for a restart", "keys", strings.Join(waiting, ","))
	}
	return nil
}
