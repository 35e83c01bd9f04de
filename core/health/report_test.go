package health_test

import (
	"testing"

	"github.com/wardroom/wardroom/core/health"
)

func TestVerdict(t *testing.T) {
	type s struct {
		severity health.Severity
		status   health.Status
	}
	for _, c := range []struct {
		name        string
		states      []s
		verdict     string
		live, ready bool
	}{
		{"no checks", nil, health.Healthy, true, true},
		{"all well", []s{{health.Required, health.StatusOK}, {health.Vital, health.StatusOK}}, health.Healthy, true, true},
		{"required impaired", []s{{health.Required, health.StatusDegraded}}, health.Impeded, true, true},
		{"required failed", []s{{health.Degraded, health.StatusFailed}, {health.Required, health.StatusFailed}}, health.Unhealthy, true, false},
		{"optional failed", []s{{health.Required, health.StatusOK}, {health.Degraded, health.StatusFailed}}, health.Impeded, true, true},
		{"optional impaired", []s{{health.Degraded, health.StatusDegraded}}, health.Impeded, true, true},
		{"vital failed", []s{{health.Vital, health.StatusFailed}}, health.Unhealthy, false, false},
		{"vital impaired", []s{{health.Vital, health.StatusDegraded}}, health.Impeded, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := health.Report{Phase: health.PhaseReady}
			for _, st := range c.states {
				r.Checks = append(r.Checks, health.State{Severity: st.severity, Result: health.Result{Status: st.status}})
			}
			if r.Verdict() != c.verdict || r.Live() != c.live || r.Ready() != c.ready {
				t.Errorf("verdict %s, live %v, ready %v; want %s, %v, %v",
					r.Verdict(), r.Live(), r.Ready(), c.verdict, c.live, c.ready)
			}
			for _, phase := range []health.Phase{health.PhaseStarting, health.PhaseStopping} {
				r.Phase = phase
				if r.Ready() {
					t.Errorf("ready while %s", phase)
				}
			}
		})
	}
}
