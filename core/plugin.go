package core

import (
	"context"

	"github.com/wardroom/wardroom/sdk/wire"
)

// What is public of plugins. Values are snapshots.
type (
	Plugin        = wire.Plugin
	PluginState   = wire.PluginState
	PluginDetail  = wire.PluginDetail
	PluginCheck   = wire.PluginCheck
	PluginReport  = wire.PluginReport
	PluginRemoval = wire.PluginRemoval
	PluginLogLine = wire.PluginLogLine
)

// States of a plugin.
const (
	PluginDisabled    = wire.PluginDisabled
	PluginVerifying   = wire.PluginVerifying
	PluginStarting    = wire.PluginStarting
	PluginConfiguring = wire.PluginConfiguring
	PluginReady       = wire.PluginReady
	PluginFailed      = wire.PluginFailed
	PluginQuarantined = wire.PluginQuarantined
)

// PluginStates lists the states in the order of a plugin's life.
var PluginStates = []PluginState{
	PluginDisabled, PluginVerifying, PluginStarting, PluginConfiguring, PluginReady, PluginFailed, PluginQuarantined,
}

// EventPluginChanged tells that a plugin changed its state or its health, or is no more. Its subject is the name, and its data a
// PluginNotice. It is live only, as what it tells of is: the state of a process.
const EventPluginChanged EventType = "plugin.changed"

// PluginNotice is the data of an EventPluginChanged.
type PluginNotice struct {
	Name     string      `json:"name"`
	Kind     string      `json:"kind,omitempty"`
	State    PluginState `json:"state"`
	Health   string      `json:"health,omitempty"` // of a ready one, once it was asked: ok, degraded or failed
	Reason   string      `json:"reason,omitempty"` // of the state
	Restarts int         `json:"restarts"`
}

// Kinds of plugins.
const (
	PluginKindRuntime = "runtime"
	PluginKindSecret  = "secret"
	PluginKindAudit   = "audit"
)

// Outcomes of a PluginCheck.
const (
	PluginCheckOK      = "ok"
	PluginCheckWarning = "warning"
	PluginCheckFailed  = "failed"
	PluginCheckSkipped = "skipped" // an earlier check failed, or the text tells why
)

// PluginService knows the plugins of this process. Methods are safe for concurrent use. Those with a name
// return NOT_FOUND for a plugin that is neither configured nor installed.
//
// It has many methods because they are the operations of the interface on one noun, three of which only differ in their end.
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
	// RemovePlugin ends an installed plugin that the configuration does not use, and removes its files, those of its former
	// version included. CONFLICT for one that is in use, or came with the package of Wardroom.
	RemovePlugin(ctx context.Context, name string) (*PluginRemoval, error)
	// PluginLogs returns the last lines of a plugin, oldest first; tail 0 is all that are kept.
	PluginLogs(ctx context.Context, name string, tail int) ([]PluginLogLine, error)
	// FollowPluginLogs gives the last lines and then each new one to visit, in order, until ctx ends or visit
	// fails, and returns that error. lost is the number of lines that were missed before a line, by a visit
	// that is too slow.
	FollowPluginLogs(ctx context.Context, name string, tail int, visit func(line PluginLogLine, lost int) error) error
}
