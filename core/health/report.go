package health

import (
	"context"
	"slices"
	"time"
)

// Verdicts on the whole.
const (
	Healthy   = "healthy"
	Impeded   = "degraded"
	Unhealthy = "unhealthy"
)

// Report is the verdict with the state of each check, by name.
type Report struct {
	Phase  Phase
	Checks []State
}

// Verdict is Unhealthy when a required or vital check failed, Impeded when any check is not ok, else
// Healthy.
func (r Report) Verdict() string {
	verdict := Healthy
	for _, c := range r.Checks {
		switch {
		case c.Status == StatusOK:
		case c.Status == StatusFailed && c.Severity != Degraded:
			return Unhealthy
		default:
			verdict = Impeded
		}
	}
	return verdict
}

// Live reports whether no vital check failed.
func (r Report) Live() bool {
	return !slices.ContainsFunc(r.Checks, func(c State) bool { return c.Severity == Vital && c.Status == StatusFailed })
}

// Ready reports whether the process takes traffic: it is in PhaseReady and no required or vital check failed.
func (r Report) Ready() bool {
	return r.Phase == PhaseReady && r.Verdict() != Unhealthy
}

// Inspect runs the checks and hands each state to visit (which may be nil), in order of their names. It
// returns the verdict, the phase and whether the process is live and ready. It says what Report says in
// plain types, so that core/api can ask for it without knowing this package.
func (r *Registry) Inspect(
	ctx context.Context,
	visit func(name, severity, status, message, hint string, since time.Time),
) (verdict, phase string, live, ready bool) {
	report := r.Report(ctx)
	if visit != nil {
		for _, c := range report.Checks {
			visit(c.Name, string(c.Severity), string(c.Status), c.Message, c.Hint, c.Since)
		}
	}
	return report.Verdict(), string(report.Phase), report.Live(), report.Ready()
}
