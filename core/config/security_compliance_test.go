package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core/config"
)

// A profile refuses what contradicts it, and keys of a profile that is not enabled are refused.
func TestCompliance(t *testing.T) {
	const keys = "  authentication: {apiKeys: {enabled: true}}\n"
	const gdpr = keys + "  audit: {enabled: true}\n  compliance: {gdpr: {enabled: true, "
	for name, tt := range map[string]struct {
		text string
		want []string // nothing: it is taken
	}{
		"SOC2": {"security:\n" + keys + "  compliance: {soc2: {enabled: true}}\n", []string{
			"security.rbac.enabled: must be true", "security.audit.enabled", "security.audit.level: must be verbose", "security.audit.retention: must be at least 365d",
			"security.encryption.atRest.enabled", "security.encryption.inTransit.enabled",
		}},
		"SOC2Events":       {"security:\n" + keys + "  audit: {enabled: true, events: [admin]}\n  compliance: {soc2: {enabled: true}}\n", []string{"security.audit.events: must be empty"}},
		"SOC2Sessions":     {"security:\n" + keys + "  sessions: {timeout: 2h, maxConcurrent: 20}\n  compliance: {soc2: {enabled: true}}\n", []string{"security.sessions.timeout", "security.sessions.maxConcurrent"}},
		"GDPR":             {"security:\n" + gdpr + "consent: {required: true}, dataRetention: {executionData: 30d, auditLogs: 1d}}}\n", nil},
		"GDPRAudit":        {"security:\n" + keys + "  compliance: {gdpr: {enabled: true}}\n", []string{"security.audit.enabled: must be true"}},
		"GDPROff":          {"security:\n  compliance: {gdpr: {consent: {required: true}}}\n", []string{"consent.required: is given without gdpr.enabled"}},
		"GDPRShort":        {"security:\n" + gdpr + "dataRetention: {executionData: 1m}}}\n", []string{"executionData: must be at least 1h"}},
		"RegionOfRuntime":  {"runtimes: {remote: {url: 'https://a.example.com/', region: us}}\nsecurity:\n" + gdpr + "dataResidency: {region: eu}}}\n", []string{"runtimes.remote.region: is us"}},
		"RegionOfEndpoint": {"webhooks: {endpoints: [{url: 'https://a.example.com/', events: ['*'], secret: x}]}\nsecurity:\n" + gdpr + "dataResidency: {region: eu}}}\n", []string{"webhooks.endpoints[0].url: is of a host"}},
		"RegionDeclared": {"webhooks: {regions: [{region: eu, hosts: ['*.example.com']}], endpoints: [{url: 'https://a.example.com/', events: ['*'], secret: x}]}\nsecurity:\n" +
			gdpr + "dataResidency: {region: eu}}}\n", nil},
		"HIPAA":    {"security:\n  compliance: {hipaa: {enabled: true, phi: {encryptionRequired: true}}}\n", []string{"needs to know who reads", "security.audit.enabled", "security.audit.level: must be at least verbose", "security.audit.retention", "atRest.enabled"}},
		"HIPAAOff": {"security:\n  compliance: {hipaa: {phi: {minimumNecessary: true}, audit: {level: standard}}}\n", []string{"minimumNecessary: is given without", "audit.level: is given without"}},
		"Together": {"security:\n" + keys + "  audit: {enabled: true, level: verbose, retention: 0s}\n  compliance: {hipaa: {enabled: true}, gdpr: {enabled: true, dataRetention: {auditLogs: 30d}}}\n", []string{"auditLogs: is less than hipaa.audit.retention"}},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "wardroom.yaml")
			if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := config.Load(path, config.Options{})
			if len(tt.want) == 0 && err != nil {
				t.Fatal(err)
			}
			for _, want := range tt.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %s", err, want)
				}
			}
		})
	}
}

func TestRegionsOfHosts(t *testing.T) {
	w := config.Webhooks{Regions: []config.WebhookRegion{{Region: "eu", Hosts: []string{"*.example.com", "a.b", "hook-*.c.d"}}}}
	for host, want := range map[string]bool{
		"x.example.com": true, "X.y.Example.com": true, "example.com": false, "evilexample.com": false, "a.b": true, "a.b.c": false,
		"hook-1.c.d": true, "hook-1.x.c.d": false, "": false,
	} {
		if got := w.Resides(host, "eu"); got != want {
			t.Errorf("%s: %v", host, got)
		}
		if w.Resides(host, "us") {
			t.Errorf("%s is in us too", host)
		}
	}
}

func TestShorterRetentionCounts(t *testing.T) {
	c := config.Compliance{GDPR: config.GDPR{Enabled: true, DataRetention: config.DataRetention{ExecutionData: time.Hour}}}
	for other, want := range map[time.Duration]time.Duration{0: time.Hour, time.Minute: time.Minute, 2 * time.Hour: time.Hour} {
		if got := c.ExecutionAge(other); got != want {
			t.Errorf("%s: %s", other, got)
		}
	}
	if got := c.AuditAge(5); got != 5 {
		t.Errorf("audit: %s", got)
	}
}
