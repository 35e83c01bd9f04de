package metrics_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core/metrics"
)

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
		"service_rate_limit_hits_total{client=" + metrics.Other + "}":          2 * metrics.MaxLabelValues,
		"service_certificate_expiry_seconds{}":                                 90,
	})
}
