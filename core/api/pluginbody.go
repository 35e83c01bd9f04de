package api

import (
	"encoding/json"
	"io"
	"time"

	"github.com/wardroom/wardroom/core"
)

type pluginList struct {
	Plugins []pluginBody `json:"plugins"`
	Total   int          `json:"total"`
}

type pluginBody struct {
	Name         string           `json:"name"`
	Kind         string           `json:"kind,omitempty" doc:"runtime, secret or audit; absent while nothing tells."`
	Version      string           `json:"version,omitempty"`
	Installed    string           `json:"installed,omitempty" doc:"Version of a build that was installed since, and runs after a restart of the plugin."`
	SDK          string           `json:"sdk,omitempty" doc:"Version of the sdk that the running plugin was built of."`
	State        core.PluginState `json:"state" enum:"disabled,verifying,starting,configuring,ready,failed,quarantined"`
	Since        timestamp        `json:"since" doc:"Of the state."`
	Reason       string           `json:"reason,omitempty" doc:"Why it is not ready, or, of a ready one, not used."`
	Hint         string           `json:"hint,omitempty" doc:"What an operator can do about it."`
	NextAttempt  *timestamp       `json:"nextAttempt,omitempty" doc:"When a failed plugin is tried again."`
	Required     bool             `json:"required" doc:"The service does not start without it."`
	Enabled      bool             `json:"enabled"`
	Configured   bool             `json:"configured" doc:"The configuration names it; else it is only installed."`
	Path         string           `json:"path"`
	SHA256       string           `json:"sha256,omitempty" doc:"That its binary must have."`
	PID          int              `json:"pid,omitempty"`
	StartedAt    *timestamp       `json:"startedAt,omitempty" doc:"Of its process."`
	Protocol     int              `json:"protocol,omitempty" doc:"Major version of the plugin protocol that was agreed on."`
	Features     []string         `json:"features"`
	Restarts     int              `json:"restarts" doc:"Since the service started."`
	Failures     int              `json:"failures" doc:"That count for the quarantine."`
	Health       string           `json:"health,omitempty" enum:"ok,degraded,failed" doc:"What a ready plugin says of itself."`
	HealthReason string           `json:"healthReason,omitempty"`
}

type pluginDetail struct {
	pluginBody
	Schema   json.RawMessage   `json:"schema" doc:"JSON Schema of its settings; null while it is not known."`
	Examples []json.RawMessage `json:"examples" doc:"Settings that are valid."`
	Checks   []pluginCheck     `json:"checks" doc:"Of its health."`
}

type pluginReport struct {
	Name   string        `json:"name"`
	OK     bool          `json:"ok" doc:"No check failed."`
	Checks []pluginCheck `json:"checks"`
}

type pluginCheck struct {
	Name   string `json:"name"`
	Status string `json:"status" enum:"ok,warning,degraded,failed,skipped"`
	Text   string `json:"text"`
}

type pluginLogList struct {
	Logs []pluginLogRow `json:"logs"`
	Tail int            `json:"tail"`
}

type pluginLogRow struct {
	Timestamp timestamp `json:"timestamp"`
	Level     string    `json:"level" enum:"trace,debug,info,warn,error"`
	Message   string    `json:"message"`
	Lost      int       `json:"lost,omitempty" doc:"Lines before this one that a slow follower missed."`
}

func newPluginBody(p *core.Plugin) pluginBody {
	body := pluginBody{
		Name: p.Name, Kind: p.Kind, Version: p.Version, Installed: p.Installed, SDK: p.SDK, State: p.State, Since: timestamp(p.Since), Reason: p.Reason, Hint: p.Hint,
		NextAttempt: stampOf(p.NextAttempt), Required: p.Required, Enabled: p.Enabled, Configured: p.Declared, Path: p.Path,
		SHA256: p.SHA256, PID: p.PID, StartedAt: stampOf(p.StartedAt), Protocol: p.Protocol, Features: p.Features,
		Restarts: p.Restarts, Failures: p.Failures, Health: p.Health, HealthReason: p.HealthReason,
	}
	if body.Features == nil {
		body.Features = []string{}
	}
	return body
}

// stampOf is stamp for a time that may be zero.
func stampOf(t time.Time) *timestamp {
	if t.IsZero() {
		return nil
	}
	return stamp(&t)
}

func newPluginDetail(p *core.PluginDetail) pluginDetail {
	body := pluginDetail{
		pluginBody: newPluginBody(&p.Plugin), Schema: rawValue(p.Schema), Examples: []json.RawMessage{}, Checks: newPluginChecks(p.Checks),
	}
	for _, example := range p.Examples {
		body.Examples = append(body.Examples, rawValue(example))
	}
	return body
}

// rawValue is JSON from elsewhere, or null when it is none.
func rawValue(raw json.RawMessage) json.RawMessage {
	if !json.Valid(raw) {
		return json.RawMessage("null")
	}
	return raw
}

func newPluginChecks(checks []core.PluginCheck) []pluginCheck {
	list := make([]pluginCheck, len(checks))
	for i, check := range checks {
		list[i] = pluginCheck(check)
	}
	return list
}

func newPluginLogRow(line core.PluginLogLine, lost int) pluginLogRow {
	return pluginLogRow{Timestamp: timestamp(line.Time), Level: line.Level, Message: line.Message, Lost: lost}
}

// endOf is what a stream ends with: a log that ends by itself, without an error, is at its end.
func endOf(err error) error {
	if err == nil {
		return io.EOF
	}
	return err
}
