package appliance

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/config"
	"github.com/wardroom/wardroom/sdk/wire"
)

// How far back the status looks for alerts.
const (
	alertsShown = 10             // at most so many
	alertsAge   = 24 * time.Hour // none older
	alertsLook  = 2000           // in so many of the newest events
)

// status says how everything is, in rows.
func (a *App) status(ctx context.Context) (wire.AdminStatus, error) {
	report := a.health.Report(ctx)
	c := a.config.Load()
	s := wire.AdminStatus{
		Status: report.Verdict(), Phase: string(report.Phase), Version: a.opts.Version, Commit: a.opts.Commit,
		PID: os.Getpid(), StartedAt: a.started, Address: a.Addr(), Config: slices.Concat([]string{}, c.Files()),
		LogLevel: a.logLevel().Level, Rows: []wire.StatusRow{},
	}
	for _, check := range report.Checks {
		since := check.Since
		s.Rows = append(s.Rows, wire.StatusRow{
			Kind: "part", Name: check.Name, Status: string(check.Status), Since: &since, Message: check.Message, Hint: check.Hint,
		})
	}
	plugins, err := a.plugins.FindPlugins(ctx)
	if err != nil {
		return s, err
	}
	for _, p := range plugins {
		s.Rows = append(s.Rows, wire.StatusRow{
			Kind: "plugin", Name: p.Name, Status: string(p.State), Message: fmt.Sprintf("version %s, %d restarts", p.Version, p.Restarts),
		})
	}
	s.Rows = append(s.Rows, a.queueRows(ctx)...)
	s.Rows = append(s.Rows, a.certificateRows()...)
	s.Rows = append(s.Rows, a.diskRow(), a.encryptionRow())
	s.Rows = append(s.Rows, a.configRows()...)
	alerts, err := a.alertRows(ctx)
	s.Rows = append(s.Rows, alerts...)
	return s, err
}

// queueRows says how much waits, and for what.
func (a *App) queueRows(ctx context.Context) []wire.StatusRow {
	row := func(name, format string, args ...any) wire.StatusRow {
		return wire.StatusRow{Kind: "queue", Name: name, Status: "ok", Message: fmt.Sprintf(format, args...)}
	}
	executions, threads, hooks := a.engine.Stats(), a.threads.Stats(), a.webhooks.Stats()
	live := 0
	for _, n := range threads.ByStatus {
		live += n
	}
	return []wire.StatusRow{
		row("executions", "%d active, %d running, %d queued of %d, %d waiting for people or agents",
			executions.Active, executions.Running, executions.Queued, a.config.Load().Engine.MaxQueued, executions.Parked),
		row("threads", "%d active, %d messages queued", live, threads.Queued),
		row("webhooks", "%d deliveries waiting, oldest event without its deliveries: %s", hooks.Waiting, a.behind(ctx).Round(time.Second)),
	}
}

// certificateRows says until when the certificate of the listener counts.
func (a *App) certificateRows() []wire.StatusRow {
	source := a.certificates.Load()
	if source == nil {
		return nil
	}
	ends := source.Expires()
	row := wire.StatusRow{Kind: "certificate", Name: "server", Status: "ok", Message: "ends on " + ends.UTC().Format(time.RFC3339)}
	left := ends.Sub(a.clock.Now())
	switch failed := source.Failed(); {
	case left <= 0:
		row.Status, row.Hint = "failed", "replace security.mtls.serverCert and serverKey; they are taken up by themselves"
	case failed != nil:
		row.Status, row.Message = "degraded", row.Message+"; its files are not taken up: "+failed.Error()
		row.Hint = "repair the files of security.mtls"
	case left < certificateNear:
		row.Status, row.Hint = "degraded", "replace it before that"
	}
	return []wire.StatusRow{row}
}

// diskRow says how much room the store has.
func (a *App) diskRow() wire.StatusRow {
	path, free, least := a.space()
	figures := a.store.Stats()
	row := wire.StatusRow{
		Kind: "disk", Name: path, Status: "ok",
		Message: fmt.Sprintf("%d MiB free, %d MiB used by the store", free>>20, (figures.LSMBytes+figures.ValueBytes)>>20),
	}
	switch {
	case free < least:
		row.Status, row.Hint = "failed", "writes are refused: free space, or add some"
	case free < 2*least:
		row.Status, row.Hint = "degraded", "writes are refused below "+config.FormatSize(int64(least))
	}
	return row
}

// configRows reports whether the files of the configuration are what is in effect. A development server has none.
func (a *App) configRows() []wire.StatusRow {
	if a.opts.Dev {
		return nil
	}
	row := wire.StatusRow{Kind: "configuration", Name: "files", Status: "ok", Message: "what the files say is in effect"}
	loaded, err := load(a.opts)
	if err != nil {
		row.Status, row.Message = "degraded", "the files are not valid, and what was in effect stays: a reload is refused, and so is a start"
		row.Hint = "wardroom config validate " + a.opts.ConfigPath
		return []wire.StatusRow{row}
	}
	var reloads, restarts []string
	for _, change := range config.Changes(a.config.Load(), loaded) {
		if change.Reloaded {
			reloads = append(reloads, change.Key)
		} else {
			restarts = append(restarts, change.Key)
		}
	}
	switch refused := a.refused.Load(); {
	case len(reloads) > 0 && refused != nil:
		row.Status, row.Message, row.Hint = "degraded", "the last reload was refused, and what was in effect stays: "+*refused, "put it right, then wardroom reload"
	case len(reloads) > 0:
		row.Status, row.Message, row.Hint = "degraded", "not in effect yet: "+strings.Join(reloads, ", "), "wardroom reload"
	case len(restarts) > 0:
		row.Status, row.Message, row.Hint = "degraded", "in effect after a restart: "+strings.Join(restarts, ", "), "restart the service; agents live through it"
	}
	return []wire.StatusRow{row}
}

// alertRows lists the newest alerts of the last day, newest first.
func (a *App) alertRows(ctx context.Context) ([]wire.StatusRow, error) {
	last := a.store.LastSeq()
	after := last - min(last, alertsLook)
	oldest := a.clock.Now().Add(-alertsAge)
	var rows []wire.StatusRow
	for {
		page, more, err := a.store.Log(ctx, after, core.MaxPageLimit)
		if err != nil {
			return nil, err
		}
		for _, e := range page {
			after = e.Seq
			if e.Type != core.EventSystemAlert || e.Time.Before(oldest) {
				continue
			}
			var what core.Alert
			if err := json.Unmarshal(e.Data, &what); err != nil {
				continue // one that cannot be read hides none of the others
			}
			at := e.Time
			rows = append(rows, wire.StatusRow{Kind: "alert", Name: e.Subject, Status: what.Severity, Since: &at, Message: what.Message})
		}
		if !more || len(page) == 0 {
			break
		}
	}
	slices.Reverse(rows)
	return rows[:min(len(rows), alertsShown)], nil
}
