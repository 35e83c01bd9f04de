package appliance

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/audit"
	"github.com/wardroom/wardroom/core/compliance"
	"github.com/wardroom/wardroom/core/config"
	"github.com/wardroom/wardroom/sdk/audit/trail"
	"github.com/wardroom/wardroom/sdk/wire"
)

// compliance proves what profiles ask for by the parts that run, where it can by asking them for what they must refuse.
func (a *App) compliance() *compliance.Service {
	return compliance.New(compliance.Options{
		Clock: a.clock, Version: a.opts.Version, Enabled: a.profileEnabled,
		Probes: map[string]compliance.Probe{
			"profile.enabled":       a.proveProfile,
			"access.authentication": a.proveAuthentication,
			"access.roles":          a.proveRoles,
			"access.sessions":       a.proveSessions,
			"audit.enabled":         a.proveAudit,
			"audit.level":           a.proveAuditLevel,
			"audit.retention":       a.proveAuditKept,
			"audit.integrity":       a.proveTrail,
			"encryption.atRest":     a.proveAtRest,
			"encryption.inTransit":  a.proveInTransit,
			"data.residency":        a.proveResidency,
			"data.retention":        a.proveRetention,
			"data.auditRetention":   a.proveAuditGoes,
			"data.consent":          a.proveConsent,
			"data.erasure":          a.proveErasures,
			"phi.accessLogging":     a.proveAccessLogging,
			"phi.minimumNecessary":  a.proveMinimum,
		},
	})
}

func (a *App) profileEnabled(profile string) bool {
	c := &a.config.Load().Security.Compliance
	return map[string]bool{"soc2": c.SOC2.Enabled, "gdpr": c.GDPR.Enabled, "hipaa": c.HIPAA.Enabled}[profile]
}

func (a *App) proveProfile(_ context.Context, profile string) (bool, string, error) {
	if a.profileEnabled(profile) {
		return true, "a configuration that contradicts it is refused at the start and at a reload", nil
	}
	return false, "it is not enabled: nothing keeps the configuration from contradicting it", nil
}

func (a *App) proveAuthentication(ctx context.Context, _ string) (bool, string, error) {
	if a.access == nil {
		return false, "no security is configured: everyone who reaches the server may do everything", nil
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "/api/executions", nil)
	if err != nil {
		return false, "", err
	}
	if _, err := a.access.Authenticate(req); core.ErrorCode(err) != core.CodeUnauthorized {
		return false, "a request without a credential was not refused", nil
	}
	return true, "a request without a credential was made and refused", nil
}

func (a *App) proveRoles(ctx context.Context, _ string) (bool, string, error) {
	c := &a.config.Load().Security.RBAC
	if a.policy == nil || !c.Enabled {
		return false, "roles are off: the scopes of a credential alone decide", nil
	}
	nobody := core.Principal{Kind: core.PrincipalUser, ID: "compliance-probe", Scopes: []string{core.ScopePatternsWrite, core.ScopePatternsDelete}}
	access := core.Access{Action: "patterns.delete", Resource: "patterns", Scope: core.ScopePatternsDelete}
	ruling := a.policy.Decide(ctx, nobody, access)
	switch {
	case !ruling.Allowed:
		return true, "somebody with the scope but no role but the default was refused patterns.delete: " + ruling.Reason, nil
	case c.DefaultRole != "" && c.DefaultRole != "viewer":
		return false, "security.rbac.defaultRole is " + c.DefaultRole + ": whoever has no role may delete patterns", nil
	}
	return false, "somebody without a role was allowed patterns.delete", nil
}

func (a *App) proveSessions(context.Context, string) (bool, string, error) {
	s := &a.config.Load().Security.Sessions
	return s.Timeout <= config.SOC2SessionTimeout && s.MaxConcurrent <= config.SOC2SessionsAtOnce,
		fmt.Sprintf("a session ends after %s without use (1h at most) and %s in all; a person has %d at once (10 at most)", s.Timeout, s.MaxAge, s.MaxConcurrent), nil
}

func (a *App) proveAudit(ctx context.Context, _ string) (bool, string, error) {
	st, err := a.audit.AuditStatus(ctx)
	if err != nil {
		return false, "", err
	}
	var lacking []string
	for _, category := range wire.AuditCategories {
		if !a.audit.Wants(category, false) {
			lacking = append(lacking, category)
		}
	}
	failing := 0
	for _, k := range st.Sinks {
		if k.State == "failing" {
			failing++
		}
	}
	switch {
	case !st.Enabled:
		return false, "nothing is recorded: security.audit.enabled is false", nil
	case len(lacking) > 0:
		return false, "not recorded: " + strings.Join(lacking, ", "), nil
	case st.Lost > 0:
		return false, fmt.Sprintf("%d records were lost since the start", st.Lost), nil
	case failing > 0:
		return false, fmt.Sprintf("%d of %d sinks fail; wardroom audit status shows them", failing, len(st.Sinks)), nil
	}
	return true, fmt.Sprintf("records %d to %d are kept, all categories, in the mode %s; none was lost; %d sinks", st.First, st.Last, st.Mode, len(st.Sinks)), nil
}

func (a *App) proveAuditLevel(_ context.Context, profile string) (bool, string, error) {
	c := &a.config.Load().Security
	want := "verbose"
	if profile == "hipaa" {
		want = c.Compliance.HIPAA.Audit.Level
	}
	return c.Audit.Enabled && audit.ParseLevel(c.Audit.Level) >= audit.ParseLevel(want), "the level is " + c.Audit.Level + "; " + want + " is asked for", nil
}

func (a *App) proveAuditKept(_ context.Context, profile string) (bool, string, error) {
	c := &a.config.Load().Security
	want := config.SOC2AuditRetention
	if profile == "hipaa" {
		want = c.Compliance.HIPAA.Audit.Retention
	}
	kept := c.Compliance.AuditAge(c.Audit.Retention)
	if kept == 0 {
		return c.Audit.Enabled, "records are kept for ever", nil
	}
	return c.Audit.Enabled && kept >= want, fmt.Sprintf("records are kept for %s; at least %s is asked for", days(kept), days(want)), nil
}

func days(d time.Duration) string { return fmt.Sprintf("%gd", float64(int64(d.Hours()/24*10))/10) }

func (a *App) proveTrail(ctx context.Context, _ string) (bool, string, error) {
	st, err := a.audit.AuditStatus(ctx)
	if err != nil {
		return false, "", err
	}
	if !st.Enabled {
		return false, "there is no trail: security.audit.enabled is false", nil
	}
	v := &trail.Verifier{Whole: true}
	if key, err := trail.ParsePublicKey(st.PublicKey); err == nil {
		v.Keys = append(v.Keys, key)
	}
	from, to := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := a.audit.ExportAudit(ctx, time.Time{}, time.Time{}, string(trail.FormatJSON), to)
		_ = to.CloseWithError(err) // it never fails
		done <- err
	}()
	err = trail.VerifyFile(from, v)
	_ = from.CloseWithError(err) // likewise
	if exportErr := <-done; err == nil {
		err = exportErr
	}
	if err != nil {
		return false, "", err
	}
	r := v.Report()
	if !r.OK {
		first := ""
		if len(r.Findings) > 0 {
			first = ": " + r.Findings[0].Text
		}
		return false, fmt.Sprintf("%d findings in %d records%s", len(r.Findings)+r.More, r.Records, first), nil
	}
	return true, fmt.Sprintf("%d records were verified, with %d signed checkpoints; %d are redacted by erasures", r.Records, r.Checkpoints, r.Redacted), nil
}

func (a *App) proveAtRest(context.Context, string) (bool, string, error) {
	st := a.store.EncryptionStatus()
	switch {
	case !st.Enabled:
		return false, "the store is in clear", nil
	case st.Failed != "":
		return false, "records that former keys sealed are not sealed anew: " + st.Failed, nil
	}
	return true, fmt.Sprintf("the store is open with the master key %s from %s; data key %d since %s", st.MasterKey, st.Source, st.DataKey, st.Since.UTC().Format(time.DateOnly)), nil
}

// probeTimeout bounds the connection that a probe makes to our own listener.
const probeTimeout = 5 * time.Second

func (a *App) proveInTransit(ctx context.Context, _ string) (bool, string, error) {
	c := a.config.Load()
	transit := c.Security.Encryption.InTransit
	if !transit.Enabled {
		return false, "plain text is taken: security.encryption.inTransit.enabled is false", nil
	}
	if !c.Security.MTLS.Enabled {
		return transit.AllowLoopback && c.Server.LoopbackOnly(), "plain text is taken on loopback only (" + a.Addr() + "), for a proxy on this machine", nil
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	_, port, err := net.SplitHostPort(a.Addr())
	if err != nil {
		return false, "", err
	}
	host, _, _ := net.SplitHostPort(c.Server.Listen) // it was listened on
	if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
		host = "localhost"
	}
	//nolint:gosec // whose certificate it is does not matter: it is asked whether there is TLS
	conn, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}).DialContext(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return false, "", err
	}
	version := tls.VersionName(conn.(*tls.Conn).ConnectionState().Version)
	_ = conn.Close() // nothing was said
	until := ""
	if source := a.certificates.Load(); source != nil {
		if left := source.Expires().Sub(a.clock.Now()); left <= 0 {
			return false, "the certificate of the listener expired at " + source.Expires().UTC().Format(time.RFC3339), nil
		}
		until = ", with a certificate until " + source.Expires().UTC().Format(time.DateOnly)
	}
	return true, "the listener speaks " + version + until + "; targets of webhooks, runtimes and repositories must be encrypted too", nil
}

func (a *App) proveResidency(ctx context.Context, _ string) (bool, string, error) {
	c := a.config.Load()
	region := c.Security.Compliance.Residency()
	if region == "" {
		return false, "no region is set: data may go anywhere", nil
	}
	guard, err := webhookGuard(c)
	if err != nil {
		return false, "", err
	}
	if _, err := guard.CheckURL("https://residency-probe.invalid/"); err == nil {
		return false, "a webhook to a host of no region was not refused", nil
	}
	hooks, err := a.store.AllWebhooks(ctx)
	if err != nil {
		return false, "", err
	}
	away := 0
	for _, w := range hooks {
		if _, err := guard.CheckURL(w.URL); err != nil {
			away++
		}
	}
	agents, _, _, err := a.agents.FindAgents(ctx, core.AgentFilter{Page: core.Page{Limit: core.MaxPageLimit}})
	if err != nil {
		return false, "", err
	}
	for _, g := range agents {
		if g.Status != core.AgentDisconnected && g.Region != "" && g.Region != region {
			return false, "the agent " + g.ID + " is connected from " + g.Region, nil
		}
	}
	declared := 0
	for _, r := range c.Runtimes {
		if r.Region != "" {
			declared++
		}
	}
	return true, fmt.Sprintf("data stays in %s: a webhook to a host of no region was refused; %d endpoints, of which %d get nothing as they are elsewhere; %d of %d runtimes declare the region",
		region, len(hooks), away, declared, len(c.Runtimes)), nil
}

// retentionSlack is how much longer than retention says something may be there: maintenance runs every hour.
const retentionSlack = 2 * time.Hour

func (a *App) proveRetention(ctx context.Context, _ string) (bool, string, error) {
	limit := a.config.Load().Security.Compliance.GDPR.DataRetention.ExecutionData
	policy := a.retention()
	if limit == 0 {
		return false, "dataRetention.executionData is not set; store.retention keeps executions for " + days(policy.Executions), nil
	}
	before := a.clock.Now().Add(-policy.Executions - retentionSlack)
	old := 0
	for _, status := range []core.ExecutionStatus{core.ExecutionCompleted, core.ExecutionFailed, core.ExecutionCancelled} {
		rows, _, err := a.store.FindExecutions(ctx, core.ExecutionFilter{Statuses: []core.ExecutionStatus{status}, Until: before, Page: core.Page{Limit: core.MaxPageLimit}})
		if err != nil {
			return false, "", err
		}
		for _, row := range rows {
			ended := cmp.Or(row.CompletedAt, row.CancelledAt)
			if ended != nil && ended.Before(before) {
				old++
			}
		}
	}
	experiences, err := a.oldExperiences(ctx, memoryConfig(a.config.Load()).MaxAge)
	if err != nil {
		return false, "", err
	}
	if failures := a.store.RetentionFailures(); len(failures) > 0 {
		return false, "retention fails: " + failures[0].Kind + ": " + failures[0].Reason, nil
	}
	if old > 0 {
		return false, fmt.Sprintf("%d executions or more are older than %s; what is old goes within the hour", old, days(policy.Executions)), nil
	}
	keep := memoryConfig(a.config.Load()).MaxAge
	if experiences > 0 {
		return false, fmt.Sprintf("%d experiences or more are older than %s; what is old goes within the hour", experiences, days(keep)), nil
	}
	return policy.Executions <= limit && policy.Events <= limit && policy.Batches <= limit && policy.Deliveries <= limit && keep <= limit,
		fmt.Sprintf("executions are kept for %s, batches for %s, events for %s, deliveries for %s, experiences for %s; no execution or experience is older",
			days(policy.Executions), days(policy.Batches), days(policy.Events), days(policy.Deliveries), days(keep)), nil
}

// oldExperiences counts experiences that were made the last time longer ago than they are kept, up to a page of them; 0 is for
// ever. One that was made again has the id of the first time.
func (a *App) oldExperiences(ctx context.Context, keep time.Duration) (old int, err error) {
	if keep == 0 {
		return 0, nil
	}
	before := a.clock.Now().Add(-keep - retentionSlack)
	end, enough := core.IDBound(core.PrefixMemory, before), errors.New("enough")
	err = a.store.WalkExperiences(ctx, "", func(e *core.Experience) error {
		if e.ID >= end || old >= core.MaxPageLimit {
			return enough
		}
		made := e.CreatedAt
		if e.UpdatedAt != nil {
			made = *e.UpdatedAt
		}
		if made.Before(before) {
			old++
		}
		return ctx.Err()
	})
	if errors.Is(err, enough) {
		err = nil
	}
	return old, err
}

func (a *App) proveAuditGoes(ctx context.Context, _ string) (bool, string, error) {
	c := &a.config.Load().Security
	if c.Compliance.GDPR.DataRetention.AuditLogs == 0 {
		return false, "dataRetention.auditLogs is not set; security.audit.retention keeps records for " + days(c.Audit.Retention), nil
	}
	kept := c.Compliance.AuditAge(c.Audit.Retention)
	slack := min(kept/20, 24*time.Hour) + retentionSlack
	page, err := a.audit.FindAudit(ctx, core.AuditFilter{Until: a.clock.Now().Add(-kept - slack), Limit: 1})
	if err != nil {
		return false, "", err
	}
	if len(page.Records) > 0 {
		return false, "records older than " + days(kept) + " are stored; what a sink lacks stays until it has it", nil
	}
	return true, "records are kept for " + days(kept) + "; none older is stored", nil
}

func (a *App) proveConsent(ctx context.Context, _ string) (bool, string, error) {
	if !a.config.Load().Security.Compliance.ConsentRequired() {
		return false, "executions are taken without consent: consent.required is false", nil
	}
	list, _, err := a.patterns.FindPatterns(ctx, core.PatternFilter{Page: core.Page{Limit: 1}})
	if err != nil {
		return false, "", err
	}
	if len(list) == 0 {
		return true, "consent is required; there is no pattern to try it on", nil
	}
	ctx = core.WithPrincipal(ctx, core.System) // whoever checks need not be allowed to run patterns
	e, err := a.engine.Start(ctx, core.ExecuteRequest{Pattern: list[0].Name, Input: []byte("{}")})
	if err == nil {
		_, _ = a.engine.Cancel(ctx, e.ID, "it was started to prove that it would be refused") // it failed already
		return false, "an execution without consent was taken", nil
	}
	if !strings.Contains(core.AsError(err).Message, core.ConsentKey) {
		return false, "an execution without consent was refused, but for another reason: " + core.AsError(err).Message, nil
	}
	return true, "an execution of " + list[0].Name + " without consent was asked for and refused", nil
}

// erasureLimit is how long an erasure may take: a month.
const erasureLimit = 30 * 24 * time.Hour

func (a *App) proveErasures(ctx context.Context, _ string) (bool, string, error) {
	all, err := a.store.AllErasures(ctx)
	if err != nil {
		return false, "", err
	}
	running, late := 0, 0
	for _, e := range all {
		if e.Status == wire.ErasureRunning {
			running++
			if a.clock.Now().Sub(e.CreatedAt) > erasureLimit {
				late++
			}
		}
	}
	if late > 0 {
		return false, fmt.Sprintf("%d erasures are not over after a month; wardroom data erasures shows them", late), nil
	}
	return true, fmt.Sprintf("%d erasures are over, %d run; wardroom data export and erase serve requests", len(all)-running, running), nil
}

func (a *App) proveAccessLogging(ctx context.Context, _ string) (bool, string, error) {
	if !apiConfig(a.config.Load()).RecordReads {
		return false, "who reads is not recorded at each level: phi.accessLogging is false", nil
	}
	for _, category := range a.api.ContentCategories() {
		if !a.audit.Wants(category, false) {
			return false, "the category " + category + " is not recorded", nil
		}
	}
	page, err := a.audit.FindAudit(ctx, core.AuditFilter{Action: "executions.read", Limit: 1})
	if err != nil {
		return false, "", err
	}
	if len(page.Records) == 0 {
		return true, "every read is recorded; there was none yet", nil
	}
	return true, "every read is recorded; the last one is record " + fmt.Sprint(page.Records[0].Sequence), nil
}

func (a *App) proveMinimum(ctx context.Context, _ string) (bool, string, error) {
	h := &a.config.Load().Security.Compliance.HIPAA
	if !h.Enabled || !h.PHI.MinimumNecessary {
		return false, "inputs and results are shown to all who may read: phi.minimumNecessary is false", nil
	}
	const canary = "phi-probe-value"
	masked := a.masker.Mask([]byte(`{"input":{"a":"` + canary + `"},"result":{"b":["` + canary + `"]},"metadata":{"c":"` + canary + `"}}`))
	if bytes.Contains(masked, []byte(canary)) {
		return false, "a value in an input or a result was not masked", nil
	}
	if a.access == nil {
		return false, "no security is configured: everyone sees everything", nil
	}
	reader := core.Principal{Kind: core.PrincipalUser, ID: "compliance-probe", Scopes: []string{core.ScopeRead}}
	if a.policy.Decide(ctx, reader, core.Access{Action: "data.unmasked", Resource: "data", Scope: core.ScopeDataUnmasked}).Allowed {
		return false, "somebody with the scope read alone may see data in clear", nil
	}
	return true, "an input, a result and metadata were masked; somebody with the scope read was refused data.unmasked", nil
}
