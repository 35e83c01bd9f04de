package appliance

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/audit"
	"github.com/wardroom/wardroom/core/config"
	"github.com/wardroom/wardroom/core/health"
	"github.com/wardroom/wardroom/core/pluginhost"
	"github.com/wardroom/wardroom/core/store"
	sinks "github.com/wardroom/wardroom/sdk/audit"
	"github.com/wardroom/wardroom/sdk/wire"
)

// newAudit makes what records, before the store that it records in is open.
func (a *App) newAudit(c *config.Config) error {
	if err := a.applyMasking(c); err != nil {
		return err
	}
	key, err := audit.OpenKey(c.Store.Path)
	if err != nil {
		return err
	}
	a.audit = audit.New(audit.Options{
		Clock: a.clock, IDs: a.ids, Logger: a.log, Config: auditConfig(c), Key: key, Metrics: a.metrics.Audit, Mask: &a.masker,
		Version: a.opts.Version,
		Older:   func(since time.Time, age time.Duration) bool { return a.store.Older(since, age) },
		Alert: func(subject, message string, details map[string]any) {
			if raised := a.alerting.Load(); raised != nil {
				raised.raise(subject, core.Alert{Severity: core.SeverityCritical, Message: message, Details: details})
			}
		},
	})
	return nil
}

func auditConfig(c *config.Config) audit.Config {
	s := &c.Security.Audit
	return audit.Config{
		Enabled: s.Enabled, Blocking: s.Mode == "blocking", Level: audit.ParseLevel(s.Level), Events: s.Categories(),
		Retention: c.Security.Compliance.AuditAge(s.Retention), MaxBytes: s.MaxSize, Queue: s.Queue,
	}
}

// reloadAudit takes over what is recorded from now on. That it changes is recorded by the former rules, so that whoever
// turns the trail off leaves a record; one that is turned on begins with it.
func (a *App) reloadAudit(c *config.Config) {
	old, next := &a.config.Load().Security.Audit, &c.Security.Audit
	changed := old.Enabled != next.Enabled || old.Level != next.Level || old.Mode != next.Mode || old.Retention != next.Retention ||
		old.MaxSize != next.MaxSize || !slices.Equal(old.Events, next.Events)
	record := func() {
		a.recordSystem("audit.change", wire.AuditSuccess, map[string]any{
			"enabled": next.Enabled, "level": next.Level, "mode": next.Mode, "events": next.Categories(), "retention": next.Retention.String(),
		})
	}
	if changed && old.Enabled {
		record()
	}
	a.audit.ApplyConfig(auditConfig(c))
	if changed && !old.Enabled {
		record()
	}
}

// auditSinks names the plugins that records go to.
func auditSinks(c *config.Config) []string {
	var names []string
	for _, spec := range pluginSpecs(c) {
		if spec.Kind == config.KindAudit {
			names = append(names, spec.Name)
		}
	}
	return names
}

// destination returns the plugin that security.audit.destination is, with its settings; what plugins has for it stands
// over those.
func destination(c *config.Config, specs map[string]pluginhost.Spec) {
	s := &c.Security.Audit
	settings := map[string]any{}
	var secrets []string
	set := func(name string, value any, given bool) {
		if given {
			settings[name] = value
		}
	}
	switch s.Destination {
	case "":
		return
	case "file":
		f := &s.File
		set("path", f.Path, f.Path != "")
		settings["rotation"] = map[string]any{
			"maxSize": config.FormatSize(f.Rotation.MaxSize), "maxAge": f.Rotation.MaxAge.String(), "compress": f.Rotation.Compress,
		}
	case "elasticsearch":
		e := &s.Elasticsearch
		settings["hosts"], settings["index"] = e.Hosts, e.Index
		set("username", e.Username, e.Username != "")
		set("password", e.Password.Reveal(), !e.Password.IsZero())
		secrets = append(secrets, e.Password.Reveal())
	case "splunk":
		k := &s.Splunk
		settings["host"], settings["port"], settings["token"] = k.Host, k.Port, k.Token.Reveal()
		set("index", k.Index, k.Index != "")
		secrets = append(secrets, k.Token.Reveal())
	case "cloudwatch":
		settings["logGroup"], settings["region"] = s.CloudWatch.LogGroup, s.CloudWatch.Region
	}
	name := "audit-" + s.Destination
	spec, ok := specs[name]
	if !ok {
		spec = pluginhost.Spec{Name: name, Enabled: true}
	}
	spec.Kind = config.KindAudit
	own := map[string]any{}
	if len(spec.Config) > 0 && json.Unmarshal(spec.Config, &own) == nil {
		maps.Copy(settings, own)
	}
	if merged, err := json.Marshal(settings); err == nil { // of maps and texts it does not fail
		spec.Config = merged
	}
	spec.Secrets = append(spec.Secrets, slices.DeleteFunc(secrets, func(s string) bool { return s == "" })...)
	specs[name] = spec
}

// deliverAudit begins to hand records to the plugins.
func (a *App) deliverAudit() {
	a.audit.Deliver(func(name string) sinks.Sink { return a.plugins.Audit(name) })
	a.metrics.Audit.Watch(func() core.AuditStatus {
		st, _ := a.audit.AuditStatus(a.work) // it only looks at memory
		return *st
	})
	a.health.Register(health.Check{Name: "audit", Severity: health.Degraded, Run: func(context.Context) health.Result {
		if message, hint := a.audit.Trouble(); message != "" {
			return health.Impaired(message, hint)
		}
		return health.OK()
	}})
}

// recordSystem records what the appliance does by itself.
func (a *App) recordSystem(action, outcome string, details map[string]any) {
	if a.audit == nil {
		return
	}
	kind, _, _ := strings.Cut(action, ".")
	err := a.audit.Record(a.work, core.AuditEntry{
		Category: wire.AuditAdmin, Action: action, Outcome: outcome, Details: details,
		Actor: wire.AuditActor{Type: string(core.PrincipalSystem), ID: core.System.ID}, Resource: wire.AuditResource{Type: kind},
	})
	if err != nil {
		a.log.Warn("an audit record was not kept", "action", action, "error", err)
	}
}

// recordPlugin records that a plugin became ready, or was put into quarantine.
func (a *App) recordPlugin(plugin, state string) {
	details := map[string]any{"state": state}
	if p, err := a.plugins.FindPlugin(a.work, plugin); err == nil {
		details["kind"], details["version"], details["sha256"] = p.Kind, p.Version, p.SHA256
	}
	err := a.audit.Record(a.work, core.AuditEntry{
		Category: wire.AuditAdmin, Action: "plugins.state", Outcome: wire.AuditSuccess, Details: details,
		Actor: wire.AuditActor{Type: string(core.PrincipalSystem), ID: core.System.ID}, Resource: wire.AuditResource{Type: "plugins", ID: plugin},
	})
	if err != nil {
		a.log.Warn("an audit record was not kept", "action", "plugins.state", "error", err)
	}
}

// recordPluginChange records that the configuration had a plugin started or stopped.
func (a *App) recordPluginChange(action, plugin string, details map[string]any) {
	err := a.audit.Record(a.work, core.AuditEntry{
		Category: wire.AuditAdmin, Action: action, Outcome: wire.AuditSuccess, Details: details,
		Actor: wire.AuditActor{Type: string(core.PrincipalSystem), ID: core.System.ID}, Resource: wire.AuditResource{Type: "plugins", ID: plugin},
	})
	if err != nil {
		a.log.Warn("an audit record was not kept", "action", action, "error", err)
	}
}

// OfflineAudit hands fn the audit trail in the directory of a store that no server has open. CONFLICT when one has.
func OfflineAudit(ctx context.Context, at store.Location, fn func(ctx context.Context, trail core.AuditService) error) error {
	return offlineTrail(ctx, at, false, fn)
}

// offlineTrail is OfflineAudit; with records it takes some as well.
func offlineTrail(ctx context.Context, at store.Location, records bool, fn func(ctx context.Context, trail core.AuditService) error) (err error) {
	s, err := store.Open(ctx, store.Options{Path: at.Path, Encryption: at.Encryption})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	service, err := offlineAudit(at.Path, records)
	if err != nil {
		return err
	}
	service.Open(s, nil)
	defer service.Close()
	return fn(ctx, service)
}

// offlineAudit makes the service of a command that works on a store by itself.
func offlineAudit(dir string, enabled bool) (*audit.Service, error) {
	key, err := audit.OpenKey(dir)
	if err != nil {
		return nil, err
	}
	clock := newClock()
	return audit.New(audit.Options{
		Clock: clock, IDs: core.NewIDs(clock), Logger: hclog.NewNullLogger(), Key: key,
		Config: audit.Config{Enabled: enabled, Blocking: true, Level: audit.Standard, Events: wire.AuditCategories},
	}), nil
}
