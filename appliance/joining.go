package appliance

import (
	"context"
	"maps"
	"slices"

	"github.com/wardroom/wardroom/core/config"
	"github.com/wardroom/wardroom/core/pluginhost"
	"github.com/wardroom/wardroom/core/runtimes"
)

// joining holds what a reload starts anew: plugins that no configuration had before, and what uses them. Nothing else
// knows of it until keep.
type joining struct {
	app       *App
	plugins   *pluginhost.Added
	providers []string // of secrets; plugins that start may need them
	runtimes  []runtimes.Source
}

// startJoining starts what next has and old has not. Where one plugin does not start nothing does, and the error says why.
func (a *App) startJoining(old, next *config.Config) (*joining, error) {
	ctx, cancel := context.WithTimeout(a.work, switchTime)
	defer cancel()
	j := &joining{app: a, plugins: &pluginhost.Added{}}
	known := map[string]bool{}
	for _, spec := range pluginSpecs(old) {
		known[spec.Name] = true
	}
	var specs []pluginhost.Spec
	for _, spec := range pluginSpecs(next) {
		if known[spec.Name] {
			continue
		}
		specs = append(specs, spec)
		if spec.Kind == config.KindSecret && a.secrets.Join(spec.Name, a.latePlugin(spec.Name)) {
			j.providers = append(j.providers, spec.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(next.Runtimes)) {
		if old.Runtimes[name] != nil {
			continue
		}
		source, err := a.source(ctx, name, next.Runtimes[name])
		if err != nil {
			j.drop()
			return nil, err
		}
		j.runtimes = append(j.runtimes, source)
	}
	added, err := a.plugins.Add(ctx, specs)
	if err != nil {
		j.drop()
		return nil, err
	}
	j.plugins = added
	return j, nil
}

// drop ends what was started.
func (j *joining) drop() {
	j.plugins.Drop()
	for _, name := range j.providers {
		j.app.secrets.Leave(name)
	}
}

// keep has everything use what was started.
func (j *joining) keep(next *config.Config) {
	a := j.app
	for _, s := range j.plugins.Keep() {
		a.log.Info("the configuration had a plugin started", "plugin", s.Name, "kind", s.Kind, "enabled", s.Enabled, "state", string(s.State))
		a.recordPluginChange("plugins.enable", s.Name, map[string]any{"kind": s.Kind, "state": string(s.State), "reason": "config.reload"})
	}
	for _, name := range auditSinks(next) {
		a.audit.Join(name, a.plugins.Audit(name))
	}
	for _, source := range j.runtimes {
		if err := a.runtimes.Join(a.work, a.watched(source, next.Runtimes[source.Name])); err != nil {
			a.log.Error("a runtime that is new in the configuration is not used before a restart", "runtime", source.Name, "error", err)
		}
	}
}
