package metrics_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/metrics"
)

// TestSeriesAtZero has every series of the interface from the start, so that its absence says something.
func TestSeriesAtZero(t *testing.T) {
	m, reg := newMetrics()
	m.Access.Action("patterns.read")
	m.Executions.Known("old")
	m.Executions.Committed([]core.Event{{Type: core.EventPatternCreated, Data: []byte(`{"name":"new","version":"1.0.0"}`)}})
	m.Agents.Watch(func() metrics.AgentFigures { return metrics.AgentFigures{} })
	expect(t, reg, map[string]float64{
		"service_executions_total{pattern=old,status=failed}":                 0,
		"service_executions_total{pattern=new,status=completed}":              0,
		"service_execution_duration_seconds{pattern=new}":                     0,
		"service_agents_connected{region=}":                                   0,
		"service_auth_attempts_total{method=apiKey,outcome=denied}":           0,
		"service_authz_decisions_total{action=patterns.read,outcome=allowed}": 0,
		"service_rate_limit_hits_total{client=}":                              0,
	})
}

func TestAccess(t *testing.T) {
	m, reg := newMetrics()
	m.Access.Attempt("apiKey", true)
	m.Access.Attempt("apiKey", false)
	m.Access.Attempt("apiKey", false)
	m.Access.Decision("patterns.read", true)
	m.Access.Decision("patterns.delete", false)
	for n := range 3 * metrics.MaxLabelValues {
		m.Access.LimitHit(fmt.Sprint("address ", n))
	}
	m.Access.WatchCertificate(func() (time.Duration, bool) { return 90 * time.Second, true })
	expect(t, reg, map[string]float64{
		"service_auth_attempts_total{method=apiKey,outcome=allowed}":           1,
		"service_auth_attempts_total{method=apiKey,outcome=denied}":            2,
		"service_authz_decisions_total{action=patterns.read,outcome=allowed}":  1,
		"service_authz_decisions_total{action=patterns.read,outcome=denied}":   0,
		"service_authz_decisions_total{action=patterns.delete,outcome=denied}": 1,
		"service_rate_limit_hits_total{client=address 0}":                      1,
		"service_rate_limit_hits_total{client=" + metrics.Other + "}":          2*metrics.MaxLabelValues + 1, // one is that of no client
		"service_certificate_expiry_seconds{}":                                 90,
	})
}
