package metrics

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wardroom/wardroom/core"
)

// Outcomes of attempts and decisions.
const (
	outcomeAllowed = "allowed"
	outcomeDenied  = "denied"
)

// Access counts who was let in, and shows when the certificate of the listener ends.
type Access struct {
	attempts  *bound[[2]prometheus.Counter] // by method; allowed, denied
	decisions *bound[[2]prometheus.Counter] // by action
	hits      *bound[prometheus.Counter]    // by client
	expiry    atomic.Pointer[func() (time.Duration, bool)]
}

// authMethods are the methods of service_auth_attempts_total, which are there from the start.
var authMethods = []string{
	string(core.PrincipalAPIKey), string(core.PrincipalUser), string(core.PrincipalClient), string(core.PrincipalAgent), "sso",
}

// NewAccess makes the series of authentication, authorization and limits.
func NewAccess(reg prometheus.Registerer) *Access {
	attempts := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "service_auth_attempts_total", Help: "Credentials that were looked at, by method and outcome.",
	}, []string{"method", "outcome"})
	decisions := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "service_authz_decisions_total", Help: "Decisions about what callers may do, by action and outcome.",
	}, []string{"action", "outcome"})
	hits := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "service_rate_limit_hits_total", Help: "Requests refused because there were too many, by client.",
	}, []string{"client"})
	a := &Access{
		attempts: newBound(MaxLabelValues, func(method string) [2]prometheus.Counter {
			return [2]prometheus.Counter{attempts.WithLabelValues(method, outcomeAllowed), attempts.WithLabelValues(method, outcomeDenied)}
		}),
		decisions: newBound(MaxLabelValues, func(action string) [2]prometheus.Counter {
			return [2]prometheus.Counter{decisions.WithLabelValues(action, outcomeAllowed), decisions.WithLabelValues(action, outcomeDenied)}
		}),
		hits: newBound(MaxLabelValues, func(client string) prometheus.Counter { return hits.WithLabelValues(client) }),
	}
	reg.MustRegister(attempts, decisions, hits, expiryCollector{a, prometheus.NewDesc("service_certificate_expiry_seconds",
		"Seconds until the certificate of the listener ends, below 0 once it has.", nil, nil)})
	for _, method := range authMethods {
		a.attempts.get(method)
	}
	a.hits.get("")
	return a
}

// Action makes the series of an action, at 0 as long as nothing was decided about it.
func (a *Access) Action(name string) { a.decisions.get(name) }

// Attempt counts a credential that was looked at.
func (a *Access) Attempt(method string, allowed bool) { count(a.attempts.get(method), allowed) }

// Decision counts a decision about an action.
func (a *Access) Decision(action string, allowed bool) { count(a.decisions.get(action), allowed) }

// LimitHit counts a request of a client that was one too many.
func (a *Access) LimitHit(client string) { a.hits.get(client).Inc() }

// WatchCertificate sets where the time until the end of the certificate comes from; false: there is none.
func (a *Access) WatchCertificate(left func() (time.Duration, bool)) { a.expiry.Store(&left) }

func count(outcomes [2]prometheus.Counter, allowed bool) {
	if allowed {
		outcomes[0].Inc()
	} else {
		outcomes[1].Inc()
	}
}

// expiryCollector shows the end of the certificate, where there is one.
type expiryCollector struct {
	access *Access
	desc   *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (c expiryCollector) Describe(ch chan<- *prometheus.Desc) { ch <- c.desc }

// Collect implements prometheus.Collector.
func (c expiryCollector) Collect(ch chan<- prometheus.Metric) {
	if source := c.access.expiry.Load(); source != nil {
		if left, ok := (*source)(); ok {
			ch <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, left.Seconds())
		}
	}
}
