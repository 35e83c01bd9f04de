package core

import (
	"context"
	"encoding/json"
	"time"
)

// PluginState is where a plugin is in its life.
type PluginState string

// States of a plugin. A plugin that is wanted goes through verifying, starting and configuring to ready; from
// anywhere on that way it may fail, which is tried again, or be put into quarantine, which is not.
const (
	PluginDisabled    PluginState = "disabled"    // nobody wants it to run
	PluginVerifying   PluginState = "verifying"   // its binary is compared with what its manifest says
	PluginStarting    PluginState = "starting"    // its process was started and has not answered
	PluginConfiguring PluginState = "configuring" // it takes its settings
	PluginReady       PluginState = "ready"
	PluginFailed      PluginState = "failed"      // it is tried again at NextAttempt
	PluginQuarantined PluginState = "quarantined" // it failed too often; restart or enable it by hand
)

// PluginStates lists the states in the order of a plugin's life.
var PluginStates = []PluginState{
	PluginDisabled, PluginVerifying, PluginStarting, PluginConfiguring, PluginReady, PluginFailed, PluginQuarantined,
}

// Kinds of plugins.
const (
	PluginKindRuntime = "runtime"
	PluginKindSecret  = "secret"
	PluginKindAudit   = "audit"
)

// Plugin is one plugin as callers see it; values are snapshots and hold no secret.
type Plugin struct {
	Name    string
	Kind    string // runtime, secret or audit; empty while nothing tells
	Version string // what the running plugin says, else its manifest
	// Installed is the version in the manifest now, when a build was installed that is not the one that runs; else empty.
	Installed string
	SDK       string // version of the sdk that the running plugin was built of; empty: not known
	Path      string // of the binary
	SHA256    string // that the binary must have; empty: any, in development
	Required  bool   // the service does not start without it
	Enabled   bool
	Declared  bool // the configuration names it; else it is only installed

	State       PluginState
	Since       time.Time // of State
	Reason      string    // why it is not ready; of a ready one, what keeps it from being of use
	Hint        string    // what an operator can do about it
	NextAttempt time.Time // of PluginFailed; else zero

	PID       int       // 0: no process
	StartedAt time.Time // of the process; zero: none
	Protocol  int       // major version that was agreed on; 0: none
	Features  []string  // that the running plugin has
	Restarts  int       // since the service started
	Failures  int       // that count for the quarantine

	Health       string // of a ready plugin: ok, degraded or failed; empty: not asked yet
	HealthReason string
}

// PluginDetail is a plugin with what it says about its settings.
type PluginDetail struct {
	Plugin
	Schema   json.RawMessage   // JSON Schema of its settings; nil: not known, or none
	Examples []json.RawMessage // settings that are valid
	Checks   []PluginCheck     // of its health
}

// PluginCheck is one finding about a plugin.
type PluginCheck struct {
	Name   string
	Status string // ok, warning, failed or skipped
	Text   string // what was found
}

// Outcomes of a PluginCheck.
const (
	PluginCheckOK      = "ok"
	PluginCheckWarning = "warning"
	PluginCheckFailed  = "failed"
	PluginCheckSkipped = "skipped" // an earlier check failed, or the text tells why
)

// PluginReport is the outcome of VerifyPlugin.
type PluginReport struct {
	Name   string
	OK     bool // no check failed
	Checks []PluginCheck
}

// PluginLogLine is one line that a plugin logged or printed, or one change of its state.
type PluginLogLine struct {
	Time    time.Time
	Level   string // trace, debug, info, warn or error
	Message string
}

// PluginService knows the plugins of this process. Methods are safe for concurrent use. Those with a name
// return NOT_FOUND for a plugin that is neither configured nor installed.
type PluginService interface {
	// FindPlugins lists all plugins that are configured or installed, by name.
	FindPlugins(ctx context.Context) ([]*Plugin, error)
	// FindPlugin returns one plugin with its schema.
	FindPlugin(ctx context.Context, name string) (*PluginDetail, error)
	// VerifyPlugin checks the binary, starts a second instance that serves nothing, and checks the settings
	// with it. What runs is left alone. The report tells what is wrong; err is for other failures.
	VerifyPlugin(ctx context.Context, name string) (*PluginReport, error)
	// EnablePlugin and DisablePlugin say whether a plugin is to run, now and after a restart of the service.
	// They return once the plugin runs, failed once, or stands; a plugin in quarantine is started again.
	// CONFLICT for disabling a required one.
	EnablePlugin(ctx context.Context, name string) (*Plugin, error)
	DisablePlugin(ctx context.Context, name string) (*Plugin, error)
	// RestartPlugin ends the plugin if it runs and starts it anew, forgetting its failures. CONFLICT for a
	// plugin that is disabled.
	RestartPlugin(ctx context.Context, name string) (*Plugin, error)
	// PluginLogs returns the last lines of a plugin, oldest first; tail 0 is all that are kept.
	PluginLogs(ctx context.Context, name string, tail int) ([]PluginLogLine, error)
	// FollowPluginLogs gives the last lines and then each new one to visit, in order, until ctx ends or visit
	// fails, and returns that error. lost is the number of lines that were missed before a line, by a visit
	// that is too slow.
	FollowPluginLogs(ctx context.Context, name string, tail int, visit func(line PluginLogLine, lost int) error) error
}
