package wire

import (
	"encoding/json"
	"time"
)

// PluginState is where a plugin is in its life.
type PluginState string

// States of a plugin. A plugin that is wanted goes through verifying, starting and configuring to ready; from anywhere on
// that way it may fail, which is tried again, or be put into quarantine, which is not.
const (
	PluginDisabled    PluginState = "disabled"    // it is not wanted to run
	PluginVerifying   PluginState = "verifying"   // its binary is compared with what its manifest says
	PluginStarting    PluginState = "starting"    // its process was started and has not answered
	PluginConfiguring PluginState = "configuring" // it takes its settings
	PluginReady       PluginState = "ready"
	PluginFailed      PluginState = "failed"      // it is tried again at NextAttempt
	PluginQuarantined PluginState = "quarantined" // it failed too often; restart or enable it by hand
)

// Plugin is a plugin that is configured or installed. It holds no secret.
type Plugin struct {
	Name         string      `json:"name"`
	Kind         string      `json:"kind,omitempty" doc:"runtime, secret or audit; absent while nothing tells."`
	Version      string      `json:"version,omitempty"` // what the running plugin says, else its manifest
	Installed    string      `json:"installed,omitempty" doc:"Version of a build that was installed since, and runs after a restart of the plugin."`
	SDK          string      `json:"sdk,omitempty" doc:"Version of the sdk that the running plugin was built of."`
	State        PluginState `json:"state" enum:"disabled,verifying,starting,configuring,ready,failed,quarantined"`
	Since        time.Time   `json:"since" doc:"Of the state."`
	Reason       string      `json:"reason,omitempty" doc:"Why it is not ready, or, of a ready one, not used."`
	Hint         string      `json:"hint,omitempty" doc:"What an operator can do about it."`
	NextAttempt  time.Time   `json:"nextAttempt,omitzero" doc:"When a failed plugin is tried again."`
	Required     bool        `json:"required" doc:"The service does not start without it."`
	Enabled      bool        `json:"enabled"`
	Declared     bool        `json:"configured" doc:"The configuration names it; else it is only installed."`
	Path         string      `json:"path"`                                              // of the binary
	SHA256       string      `json:"sha256,omitempty" doc:"That its binary must have."` // empty: any, in development
	PID          int         `json:"pid,omitempty"`                                     // 0: no process
	StartedAt    time.Time   `json:"startedAt,omitzero" doc:"Of its process."`          // zero: none
	Protocol     int         `json:"protocol,omitempty" doc:"Major version of the plugin protocol that was agreed on."`
	Features     []string    `json:"features"` // that the running plugin has
	Restarts     int         `json:"restarts" doc:"Since the service started."`
	Failures     int         `json:"failures" doc:"That count for the quarantine."`
	Health       string      `json:"health,omitempty" enum:"ok,degraded,failed" doc:"What a ready plugin says of itself."` // empty: not asked yet
	HealthReason string      `json:"healthReason,omitempty"`
}

// PluginDetail is a plugin with what it says about its settings.
type PluginDetail struct {
	Plugin
	Schema   json.RawMessage   `json:"schema" doc:"JSON Schema of its settings; null while it is not known."`
	Examples []json.RawMessage `json:"examples" doc:"Settings that are valid."`
	Checks   []PluginCheck     `json:"checks" doc:"Of its health."`
}

// PluginCheck is one finding about a plugin.
type PluginCheck struct {
	Name   string `json:"name"`
	Status string `json:"status" enum:"ok,warning,degraded,failed,skipped"`
	Text   string `json:"text"` // what was found
}

// PluginRemoval is what was removed of a plugin.
type PluginRemoval struct {
	Name      string `json:"name"`
	Kind      string `json:"kind"`
	Version   string `json:"version"`
	SHA256    string `json:"sha256" doc:"Of its binary."`
	Former    string `json:"former,omitempty" doc:"Version that a rollback would have brought back; it is gone too."`
	Directory string `json:"directory" doc:"That it was installed in."`
	State     string `json:"state,omitempty" doc:"Directory of what it kept, which stays."`
}

// PluginReport is what was found of a plugin that was verified.
type PluginReport struct {
	Name   string        `json:"name"`
	OK     bool          `json:"ok" doc:"No check failed."`
	Checks []PluginCheck `json:"checks"`
}

// PluginLogLine is one line that a plugin logged or printed, or one change of its state.
type PluginLogLine struct {
	Timestamp time.Time `json:"timestamp"`
	Level     string    `json:"level" enum:"trace,debug,info,warn,error"`
	Message   string    `json:"message"`
	Lost      int       `json:"lost,omitempty" doc:"Lines before this one that a slow follower missed."`
}
