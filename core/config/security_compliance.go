package config

import (
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/wardroom/wardroom/sdk/wire"
)

// Compliance is what laws and standards ask for. A profile that is enabled is enforced: a configuration that contradicts it
// is refused, at the start and at a reload. `wardroom compliance check` proves it from the running system, enabled or not.
type Compliance struct {
	// System and Organization Controls, type 2.
	SOC2 SOC2 `json:"soc2"`
	// General Data Protection Regulation.
	GDPR GDPR `json:"gdpr"`
	// Health Insurance Portability and Accountability Act.
	HIPAA HIPAA `json:"hipaa"`
}

// SOC2 has no keys of its own beside enabled: it is about those of security.rbac, audit, encryption and sessions.
type SOC2 struct {
	// Refuse to run without security.rbac, without audit records of all categories at the level verbose that are kept for a year,
	// without encryption of what is stored and sent, and with sessions of more than an hour without use or more than ten of one
	// person.
	Enabled bool `json:"enabled"`
}

// GDPR holds what the regulation asks for. The other keys are refused unless Enabled is set.
type GDPR struct {
	// Refuse to run without security.audit, so that what is done to personal data can be shown, and enforce the keys below.
	Enabled bool `json:"enabled"`
	// Where data stays.
	DataResidency DataResidency `json:"dataResidency"`
	// How long data is kept at most.
	DataRetention DataRetention `json:"dataRetention"`
	// Consent of the people that data is of.
	Consent Consent `json:"consent"`
}

// DataResidency is where data stays.
type DataResidency struct {
	// Region, such as eu-central-1. Webhooks are delivered to hosts that webhooks.regions has in it, and to no others; runtimes
	// and connected agents that declare another region are refused. Empty: anywhere.
	Region string `json:"region" check:"max=128"`
}

// DataRetention is how long data is kept at most.
type DataRetention struct {
	// Executions, batches, their events and deliveries: the shorter of this and store.retention, and webhooks.retention.age,
	// counts. 0: those alone.
	ExecutionData time.Duration `json:"executionData" check:"min=0s,max=3650d"`
	// Audit records: the shorter of this and security.audit.retention counts. 0: that alone.
	AuditLogs time.Duration `json:"auditLogs" check:"min=0s,max=3650d"`
}

// Consent is that of the people that data is of.
type Consent struct {
	// Refuse executions, batches and threads whose metadata has no consent: true.
	Required bool `json:"required"`
}

// HIPAA holds what the act asks for. The other keys are refused unless Enabled is set.
type HIPAA struct {
	// Refuse to run without clients that prove who they are, and without the audit trail of audit below.
	Enabled bool `json:"enabled"`
	// Protected health information.
	PHI PHI `json:"phi"`
	// The audit trail.
	Audit HIPAAAudit `json:"audit"`
}

// PHI is protected health information: what is put into executions and comes out of them.
type PHI struct {
	// Refuse to run unless what is stored and what is sent is encrypted.
	EncryptionRequired bool `json:"encryptionRequired"`
	// Record in the audit trail who read which execution, batch, thread, question, decision or experience, whatever the level.
	AccessLogging bool `json:"accessLogging"`
	// Show inputs, results and metadata only to callers with the scope data:unmasked: they are masked for others, in webhooks,
	// audit records and the log, by security.dataProtection.masking.method.
	MinimumNecessary bool `json:"minimumNecessary"`
}

// HIPAAAudit is the least that security.audit must do.
type HIPAAAudit struct {
	// Level that security.audit.level must have at least.
	Level string `json:"level" default:"verbose" enum:"minimal,standard,verbose"`
	// How long security.audit.retention must keep records at least.
	Retention time.Duration `json:"retention" default:"2190d" check:"min=0s,max=3650d"`
}

// Bounds of the profile soc2.
const (
	SOC2AuditRetention  = 365 * 24 * time.Hour
	SOC2SessionTimeout  = time.Hour
	SOC2SessionsAtOnce  = 10
	complianceSection   = "security.compliance"
	minimumExecutionAge = time.Hour
)

// auditLevels in rising order.
var auditLevels = []string{"minimal", "standard", "verbose"}

// compliance reports what contradicts a profile that is enabled, and keys of profiles that are not.
func (r *ruling) compliance(s *Security) {
	c := &s.Compliance
	if c.SOC2.Enabled {
		r.soc2(s)
	}
	r.gdpr(s)
	r.hipaa(s)
	r.residency()
	if g := c.GDPR.DataRetention.AuditLogs; c.GDPR.Enabled && g > 0 {
		if c.SOC2.Enabled && g < SOC2AuditRetention {
			r.refuse(complianceSection+".gdpr.dataRetention", "auditLogs", "is less than the year for which soc2.enabled keeps audit records")
		}
		if c.HIPAA.Enabled && g < c.HIPAA.Audit.Retention {
			r.refuse(complianceSection+".gdpr.dataRetention", "auditLogs", "is less than hipaa.audit.retention")
		}
	}
}

// demands returns a function that refuses a key of a section for the sake of a profile, unless something holds.
func (r *ruling) demands(profile string) func(ok bool, section, name, reason string) {
	return func(ok bool, section, name, reason string) {
		if !ok {
			r.refuse(section, name, "%s: %s.%s asks for it", reason, complianceSection, profile)
		}
	}
}

// keeps reports whether a retention is at least so long; 0 is for ever.
func keeps(retention, least time.Duration) bool { return retention == 0 || retention >= least }

func (r *ruling) soc2(s *Security) {
	want := r.demands("soc2.enabled")
	want(s.RBAC.Enabled, "security.rbac", "enabled", "must be true")
	want(s.Audit.Enabled, "security.audit", "enabled", "must be true")
	want(len(s.Audit.Events) == 0 || len(s.Audit.Events) == len(s.Audit.Categories()) && allCategories(s.Audit.Events), "security.audit", "events", "must be empty, or have all categories")
	want(s.Audit.Level == "verbose", "security.audit", "level", "must be verbose")
	want(keeps(s.Audit.Retention, SOC2AuditRetention), "security.audit", "retention", "must be at least 365d, or 0")
	want(s.Encryption.AtRest.Enabled, "security.encryption.atRest", "enabled", "must be true")
	want(s.Encryption.InTransit.Enabled, "security.encryption.inTransit", "enabled", "must be true")
	want(s.Sessions.Timeout <= SOC2SessionTimeout, "security.sessions", "timeout", "must be at most 1h")
	want(s.Sessions.MaxConcurrent <= SOC2SessionsAtOnce, "security.sessions", "maxConcurrent", "must be at most 10")
}

func allCategories(events []string) bool {
	return !slices.ContainsFunc(Audit{}.Categories(), func(category string) bool { return !slices.Contains(events, category) })
}

func (r *ruling) gdpr(s *Security) {
	g := &s.Compliance.GDPR
	const section = complianceSection + ".gdpr"
	if !g.Enabled {
		if g.DataResidency.Region != "" {
			r.refuse(section+".dataResidency", "region", "is given without gdpr.enabled")
		}
		if g.DataRetention.ExecutionData != 0 {
			r.refuse(section+".dataRetention", "executionData", "is given without gdpr.enabled")
		}
		if g.DataRetention.AuditLogs != 0 {
			r.refuse(section+".dataRetention", "auditLogs", "is given without gdpr.enabled")
		}
		if g.Consent.Required {
			r.refuse(section+".consent", "required", "is given without gdpr.enabled")
		}
		return
	}
	r.demands("gdpr.enabled")(s.Audit.Enabled, "security.audit", "enabled", "must be true")
	if d := g.DataRetention.ExecutionData; d > 0 && d < minimumExecutionAge {
		r.refuse(section+".dataRetention", "executionData", "must be at least 1h, or 0")
	}
	if d := g.DataRetention.AuditLogs; d > 0 && d < minimumExecutionAge {
		r.refuse(section+".dataRetention", "auditLogs", "must be at least 1h, or 0")
	}
}

func (r *ruling) hipaa(s *Security) {
	h := &s.Compliance.HIPAA
	const section = complianceSection + ".hipaa"
	if !h.Enabled {
		for _, k := range []struct {
			name  string
			given bool
		}{{"encryptionRequired", h.PHI.EncryptionRequired}, {"accessLogging", h.PHI.AccessLogging}, {"minimumNecessary", h.PHI.MinimumNecessary}} {
			if k.given {
				r.refuse(section+".phi", k.name, "is given without hipaa.enabled")
			}
		}
		if former := Default().Security.Compliance.HIPAA.Audit; h.Audit.Level != former.Level {
			r.refuse(section+".audit", "level", "is given without hipaa.enabled")
		} else if h.Audit.Retention != former.Retention {
			r.refuse(section+".audit", "retention", "is given without hipaa.enabled")
		}
		return
	}
	want := r.demands("hipaa.enabled")
	if !s.Enabled() {
		r.refuse(section, "enabled", "needs to know who reads: enable security.authentication.apiKeys, jwt or sso too")
	}
	want(s.Audit.Enabled, "security.audit", "enabled", "must be true")
	want(slices.Index(auditLevels, s.Audit.Level) >= slices.Index(auditLevels, h.Audit.Level), "security.audit", "level", "must be at least "+h.Audit.Level)
	want(keeps(s.Audit.Retention, h.Audit.Retention), "security.audit", "retention", "must be at least hipaa.audit.retention")
	if h.PHI.AccessLogging {
		want = r.demands("hipaa.phi.accessLogging")
		for _, category := range []string{wire.AuditAdmin, wire.AuditAgents, wire.AuditExecutions} { // those of routes that content is read by
			want(len(s.Audit.Events) == 0 || slices.Contains(s.Audit.Events, category), "security.audit", "events", "must have "+category)
		}
	}
	if h.PHI.EncryptionRequired {
		want = r.demands("hipaa.phi.encryptionRequired")
		want(s.Encryption.AtRest.Enabled, "security.encryption.atRest", "enabled", "must be true")
		want(s.Encryption.InTransit.Enabled, "security.encryption.inTransit", "enabled", "must be true")
	}
}

// residency reports runtimes and endpoints that are declared elsewhere than data may be.
func (r *ruling) residency() {
	c := r.config
	region := c.Security.Compliance.Residency()
	if region == "" {
		return
	}
	const rule = complianceSection + ".gdpr.dataResidency.region is "
	for _, name := range sortedKeys(c.Runtimes) {
		if own := c.Runtimes[name].Region; own != "" && own != region {
			r.refuse("runtimes."+name, "region", "is %s, and %s%s", own, rule, region)
		}
	}
	for i := range c.Webhooks.Endpoints {
		if e := &c.Webhooks.Endpoints[i]; e.URL != "" && !c.Webhooks.Resides(hostOfURL(e.URL), region) {
			r.refuse(endpointKey(i), "url", "is of a host that webhooks.regions does not have in %s, and %s%s", region, rule, region)
		}
	}
}

// Residency returns the region that data stays in; "": any.
func (c *Compliance) Residency() string {
	if !c.GDPR.Enabled {
		return ""
	}
	return c.GDPR.DataResidency.Region
}

// ConsentRequired reports whether executions need the consent of whom their data is of.
func (c *Compliance) ConsentRequired() bool { return c.GDPR.Enabled && c.GDPR.Consent.Required }

// ExecutionAge returns how long data of executions is kept, given what another key says.
func (c *Compliance) ExecutionAge(other time.Duration) time.Duration {
	return shorter(other, c.GDPR.DataRetention.ExecutionData, c.GDPR.Enabled)
}

// AuditAge returns how long audit records are kept, given what another key says.
func (c *Compliance) AuditAge(other time.Duration) time.Duration {
	return shorter(other, c.GDPR.DataRetention.AuditLogs, c.GDPR.Enabled)
}

// shorter returns the shorter of two times, of which 0 is for ever.
func shorter(a, b time.Duration, enabled bool) time.Duration {
	if !enabled || b == 0 || a != 0 && a < b {
		return a
	}
	return b
}

// WebhookRegion is where hosts are.
type WebhookRegion struct {
	// Name of the region, as in security.compliance.gdpr.dataResidency.region.
	Region string `json:"region" missing:"name the region" check:"max=128"`
	// Hosts in it, without ports; * stands for any characters but dots, and *. at the beginning for any subdomain.
	Hosts []string `json:"hosts" missing:"list the hosts" check:"max=1000"`
}

// Resides reports whether a host is declared to be in a region.
func (w *Webhooks) Resides(host, region string) bool {
	return slices.ContainsFunc(w.Regions, func(r WebhookRegion) bool {
		return r.Region == region && slices.ContainsFunc(r.Hosts, func(glob string) bool { return hostMatches(glob, host) })
	})
}

// hostOfURL returns the host of a URL without its port; "" for what is none.
func hostOfURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

func hostMatches(glob, host string) bool {
	glob, host = strings.ToLower(glob), strings.ToLower(strings.TrimSuffix(host, "."))
	if parent, ok := strings.CutPrefix(glob, "*."); ok && !strings.Contains(parent, "*") {
		return strings.HasSuffix(host, "."+parent)
	}
	ok, err := path.Match(glob, strings.ReplaceAll(host, "/", ""))
	return err == nil && ok && strings.Count(glob, ".") == strings.Count(host, ".")
}
