package appliance_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/appliance"
	"github.com/wardroom/wardroom/core/store/atrest"
)

// everyProfile satisfies all three profiles at once.
const everyProfile = `
server: {listen: '127.0.0.1:0'}
store: {path: store}
plugins: {dir: plugins}
webhooks: {regions: [{region: lab, hosts: [127.0.0.1]}]}
security:
  authentication: {apiKeys: {enabled: true}}
  rbac: {enabled: true, defaultRole: viewer, bindings: [{subject: {type: user, name: admin}, role: admin}]}
  sessions: {timeout: 30m, maxConcurrent: 5}
  audit: {enabled: true, level: verbose, retention: 700d}
  encryption: {atRest: {enabled: true, file: store.key}, inTransit: {enabled: true, allowLoopback: true}}
  compliance:
    soc2: {enabled: true}
    gdpr: {enabled: true, dataResidency: {region: lab}, dataRetention: {executionData: 30d, auditLogs: 600d}, consent: {required: true}}
    hipaa: {enabled: true, phi: {encryptionRequired: true, accessLogging: true, minimumNecessary: true}, audit: {level: verbose, retention: 500d}}
`

// Each key of a profile is switched off and on while the server runs, and its control follows with other evidence; what a profile
// demands cannot be switched off while the profile is enabled.
func TestComplianceFollowsKeys(t *testing.T) {
	s := &secured{t: t, dir: t.TempDir(), log: new(log)}
	s.config = filepath.Join(s.dir, "wardroom.yaml")
	write(t, filepath.Join(s.dir, "store.key"), atrest.NewMasterKey().Text()+"\n")
	write(t, s.config, everyProfile)
	s.App = open(t, appliance.Options{ConfigPath: s.config, Version: "1.2.3", Stderr: s.log})
	key, err := os.ReadFile(filepath.Join(s.dir, "store", "admin.key"))
	if err != nil {
		t.Fatal(err)
	}
	local := s.client(strings.TrimSpace(string(key)))
	reload := func(replaces ...string) error {
		t.Helper()
		text := strings.NewReplacer(replaces...).Replace(everyProfile)
		if text == everyProfile && len(replaces) > 0 {
			t.Fatalf("%v changes nothing", replaces)
		}
		write(t, s.config, text)
		return s.Reload()
	}
	for _, profile := range []string{"soc2", "gdpr", "hipaa"} {
		for id, k := range controls(t, local, profile) {
			if !k.Passed {
				t.Errorf("%s %s: %s", profile, id, k.Evidence)
			}
		}
	}
	const (
		soc2  = "soc2: {enabled: true}"
		hipaa = "hipaa: {enabled: true, phi: {encryptionRequired: true, accessLogging: true, minimumNecessary: true}, audit: {level: verbose, retention: 500d}}"
		gdpr  = "gdpr: {enabled: true, dataResidency: {region: lab}, dataRetention: {executionData: 30d, auditLogs: 600d}, consent: {required: true}}"
		free  = "soc2: {enabled: false}" // what follows it is not demanded by it
	)
	noHIPAA, noGDPR := "hipaa: {enabled: false}", "gdpr: {enabled: false}"
	for _, tt := range []struct {
		profile, control, from, to string
		demanded                   bool // by a profile, which the second part switches off first
	}{
		{"soc2", "profile.enabled", soc2, free, false},
		{"soc2", "access.roles", "rbac: {enabled: true", "rbac: {enabled: false", true},
		{"soc2", "access.sessions", "timeout: 30m", "timeout: 2h", true},
		{"soc2", "access.sessions", "maxConcurrent: 5", "maxConcurrent: 11", true},
		{"soc2", "audit.enabled", "audit: {enabled: true, level: verbose, retention: 700d}", "audit: {enabled: true, level: verbose, retention: 700d, events: [admin]}", true},
		{"soc2", "audit.enabled", "audit: {enabled: true, level: verbose, retention: 700d}", "audit: {enabled: false, level: verbose, retention: 700d}", true},
		{"soc2", "audit.integrity", "audit: {enabled: true, level: verbose, retention: 700d}", "audit: {enabled: false, level: verbose, retention: 700d}", true},
		{"soc2", "audit.level", "audit: {enabled: true, level: verbose", "audit: {enabled: true, level: standard", true},
		{"soc2", "audit.retention", "retention: 700d", "retention: 300d", true},
		{"gdpr", "profile.enabled", gdpr, noGDPR, false},
		{"gdpr", "data.residency", "dataResidency: {region: lab}, ", "", false},
		{"gdpr", "data.retention", "executionData: 30d, ", "", false},
		{"gdpr", "data.auditRetention", ", auditLogs: 600d", "", false},
		{"gdpr", "data.consent", "consent: {required: true}", "consent: {required: false}", false},
		{"gdpr", "audit.enabled", "audit: {enabled: true, level: verbose, retention: 700d}", "audit: {enabled: false, level: verbose, retention: 700d}", true},
		{"hipaa", "profile.enabled", hipaa, noHIPAA, false},
		{"hipaa", "phi.accessLogging", "accessLogging: true", "accessLogging: false", false},
		{"hipaa", "phi.minimumNecessary", "minimumNecessary: true", "minimumNecessary: false", false},
		{"hipaa", "audit.level", "audit: {enabled: true, level: verbose", "audit: {enabled: true, level: minimal", true},
		{"hipaa", "audit.retention", "retention: 700d", "retention: 400d", true},
	} {
		t.Run(tt.profile+"/"+tt.control, func(t *testing.T) {
			before := controls(t, local, tt.profile)[tt.control]
			change := []string{tt.from, tt.to}
			if tt.demanded {
				if err := reload(change...); err == nil || !strings.Contains(err.Error(), "security.compliance.") {
					t.Errorf("%q was taken: %v", tt.to, err)
				}
				if now := controls(t, local, tt.profile)[tt.control]; !now.Passed {
					t.Errorf("a refused reload changed it: %s", now.Evidence)
				}
				change = append(change, soc2, free, gdpr, noGDPR, hipaa, noHIPAA)
			}
			if err := reload(change...); err != nil {
				t.Fatal(err)
			}
			off := controls(t, local, tt.profile)[tt.control]
			if off.Passed || off.Evidence == before.Evidence {
				t.Errorf("with %q it passes: %v, by %q", tt.to, off.Passed, off.Evidence)
			}
			if err := reload(); err != nil {
				t.Fatal(err)
			}
			if on := controls(t, local, tt.profile)[tt.control]; !on.Passed {
				t.Errorf("switched on again: %s", on.Evidence)
			}
		})
	}
	// Encryption is switched by a restart only.
	for _, change := range []string{"atRest: {enabled: true", "inTransit: {enabled: true"} {
		if err := reload(change, strings.Replace(change, "true", "false", 1)); err == nil || !strings.Contains(err.Error(), "security.compliance.") {
			t.Errorf("%s: switched off under the profiles: %v", change, err)
		}
	}
	if status, _ := s.get("", "/api/executions"); status != http.StatusUnauthorized {
		t.Errorf("without a credential: %d", status)
	}
}
