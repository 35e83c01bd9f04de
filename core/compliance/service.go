package compliance

import (
	"context"
	"slices"
	"strings"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/clip"
	"github.com/wardroom/wardroom/sdk/wire"
)

// Probe looks at the running system for one control of a profile, and returns whether it holds and by what that shows.
type Probe func(ctx context.Context, profile string) (passed bool, evidence string, err error)

// control is something that profiles ask for.
type control struct {
	id, title string
	keys      []string
	profiles  []string
}

const all = "soc2 gdpr hipaa"

// controls in the order of reports.
var controls = []control{
	{"profile.enabled", "The profile is enforced", []string{"security.compliance.PROFILE.enabled"}, strings.Fields(all)},
	{"access.authentication", "Nobody is served without a credential", []string{"security.authentication"}, strings.Fields(all)},
	{"access.roles", "Roles bound what callers may do", []string{"security.rbac.enabled"}, []string{"soc2"}},
	{"access.sessions", "Sessions end and are bounded", []string{"security.sessions.timeout", "security.sessions.maxConcurrent"}, []string{"soc2"}},
	{"audit.enabled", "What is done is recorded, and nothing was lost", []string{"security.audit.enabled", "security.audit.events"}, strings.Fields(all)},
	{"audit.level", "Records say enough", []string{"security.audit.level", "security.compliance.hipaa.audit.level"}, []string{"soc2", "hipaa"}},
	{"audit.retention", "Records are kept for long enough", []string{"security.audit.retention", "security.compliance.hipaa.audit.retention"}, []string{"soc2", "hipaa"}},
	{"audit.integrity", "No record was changed, removed or inserted", []string{"security.audit.enabled"}, strings.Fields(all)},
	{"encryption.atRest", "What is stored is encrypted", []string{"security.encryption.atRest.enabled", "security.compliance.hipaa.phi.encryptionRequired"}, []string{"soc2", "hipaa"}},
	{"encryption.inTransit", "What is sent is encrypted", []string{"security.encryption.inTransit.enabled", "security.compliance.hipaa.phi.encryptionRequired"}, []string{"soc2", "hipaa"}},
	{"data.residency", "Data stays in its region", []string{"security.compliance.gdpr.dataResidency.region", "webhooks.regions", "runtimes.*.region"}, []string{"gdpr"}},
	{"data.retention", "Data of executions goes in time", []string{"security.compliance.gdpr.dataRetention.executionData", "store.retention"}, []string{"gdpr"}},
	{"data.auditRetention", "Audit records go in time", []string{"security.compliance.gdpr.dataRetention.auditLogs"}, []string{"gdpr"}},
	{"data.consent", "Executions need consent", []string{"security.compliance.gdpr.consent.required"}, []string{"gdpr"}},
	{"data.erasure", "What is to be erased is erased", nil, []string{"gdpr"}},
	{"phi.accessLogging", "Who reads is recorded", []string{"security.compliance.hipaa.phi.accessLogging"}, []string{"hipaa"}},
	{"phi.minimumNecessary", "Others than those who may see data in clear see it masked", []string{"security.compliance.hipaa.phi.minimumNecessary"}, []string{"hipaa"}},
}

// Options are what a Service is made of.
type Options struct {
	// Probes are those of the controls, by id; each control has one.
	Probes  map[string]Probe
	Enabled func(profile string) bool
	Clock   core.Clock
	Version string
}

// Service implements core.ComplianceService.
type Service struct{ opts Options }

var _ core.ComplianceService = (*Service)(nil)

// New makes a service. It panics where a control has no probe: it could not be proved.
func New(o Options) *Service {
	for _, c := range controls {
		if o.Probes[c.id] == nil {
			panic("compliance: the control " + c.id + " has no probe")
		}
	}
	return &Service{o}
}

// Check implements core.ComplianceService. A probe that fails to look is a control that did not pass.
func (s *Service) Check(ctx context.Context, profile string) (*core.ComplianceReport, error) {
	if !slices.Contains(wire.ComplianceProfiles, profile) {
		return nil, core.Invalid("profile", "must be one of %s, not %q", strings.Join(wire.ComplianceProfiles, ", "), clip.Text(profile, 64))
	}
	r := &core.ComplianceReport{
		Profile: profile, Enabled: s.opts.Enabled(profile), CheckedAt: s.opts.Clock.Now().UTC(), Version: s.opts.Version, Controls: []core.ComplianceControl{},
	}
	for _, c := range controls {
		if !slices.Contains(c.profiles, profile) {
			continue
		}
		passed, evidence, err := s.opts.Probes[c.id](ctx, profile)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			passed, evidence = false, "it could not be looked at: "+core.AsError(err).Message
		}
		if !passed {
			r.Failed++
		}
		r.Controls = append(r.Controls, core.ComplianceControl{ID: c.id, Title: c.title, Passed: passed, Evidence: evidence, Keys: keysFor(c.keys, profile)})
	}
	r.Passed = r.Failed == 0
	return r, nil
}

// keysFor returns the keys that matter for a profile.
func keysFor(keys []string, profile string) []string {
	list := []string{}
	for _, key := range keys {
		key = strings.Replace(key, "PROFILE", profile, 1)
		if rest, ok := strings.CutPrefix(key, "security.compliance."); ok && !strings.HasPrefix(rest, profile+".") {
			continue
		}
		list = append(list, key)
	}
	return list
}
