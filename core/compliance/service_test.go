package compliance_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/compliance"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/wire"
)

// ids are those of every control.
var ids = []string{
	"profile.enabled", "access.authentication", "access.roles", "access.sessions", "audit.enabled", "audit.level", "audit.retention", "audit.integrity",
	"encryption.atRest", "encryption.inTransit", "data.residency", "data.retention", "data.auditRetention", "data.consent", "data.erasure",
	"phi.accessLogging", "phi.minimumNecessary",
}

func service(probe func(id string) compliance.Probe) *compliance.Service {
	probes := map[string]compliance.Probe{}
	for _, id := range ids {
		probes[id] = probe(id)
	}
	return compliance.New(compliance.Options{
		Probes: probes, Enabled: func(string) bool { return true }, Clock: coretest.NewClock(), Version: "1",
	})
}

func passing(string) compliance.Probe {
	return func(context.Context, string) (bool, string, error) { return true, "seen", nil }
}

func TestCheck(t *testing.T) {
	for _, profile := range wire.ComplianceProfiles {
		r, err := service(passing).Check(t.Context(), profile)
		if err != nil || !r.Passed || r.Failed != 0 || len(r.Controls) < 8 {
			t.Errorf("%s: %+v, %v", profile, r, err)
		}
		for _, k := range r.Controls {
			for _, key := range k.Keys {
				if strings.Contains(key, "PROFILE") || strings.HasPrefix(key, "security.compliance.") && !strings.Contains(key, "."+profile+".") {
					t.Errorf("%s: %s names %s", profile, k.ID, key)
				}
			}
		}
	}
}

// A control that cannot be looked at has not passed.
func TestCheckFails(t *testing.T) {
	s := service(func(id string) compliance.Probe {
		switch id {
		case "audit.integrity":
			return func(context.Context, string) (bool, string, error) { return true, "", errors.New("the disk is gone") }
		case "encryption.atRest":
			return func(context.Context, string) (bool, string, error) { return false, "the store is in clear", nil }
		}
		return passing(id)
	})
	r, err := s.Check(t.Context(), "soc2")
	if err != nil || r.Passed || r.Failed != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	i := slices.IndexFunc(r.Controls, func(k core.ComplianceControl) bool { return k.ID == "audit.integrity" })
	if k := r.Controls[i]; k.Passed || !strings.Contains(k.Evidence, "could not be looked at") {
		t.Errorf("%+v", k)
	}
	if _, err := s.Check(t.Context(), "pci"); core.ErrorCode(err) != core.CodeValidation {
		t.Errorf("an unknown profile: %v", err)
	}
}

func TestControlWithoutProbe(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a control that cannot be proved was taken")
		}
	}()
	compliance.New(compliance.Options{})
}
