package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/wardroom/wardroom/sdk/wire"
)

// TriggerFigures is how triggers are at the moment.
type TriggerFigures struct{ Open, Blocked int }

// Triggers is what became of requests to triggers.
type Triggers struct {
	figures[TriggerFigures]
	requests map[string]prometheus.Counter

	triggers *prometheus.Desc
}

// NewTriggers makes and registers the series of triggers.
func NewTriggers(reg prometheus.Registerer) *Triggers {
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "service_trigger_requests_total", Help: "Requests to triggers by what became of them.",
	}, []string{"outcome"})
	t := &Triggers{
		requests: map[string]prometheus.Counter{},
		triggers: prometheus.NewDesc("service_triggers", "Triggers, by whether whoever they belong to lacked a right at the last request.", []string{"blocked"}, nil),
	}
	for _, o := range []wire.TriggerOutcome{
		wire.TriggerStarted, wire.TriggerDuplicate, wire.TriggerIgnored, wire.TriggerFailed, wire.TriggerBlocked, "unauthorized", "disabled", "limited",
	} {
		t.requests[string(o)] = requests.WithLabelValues(string(o))
	}
	reg.MustRegister(requests, t)
	return t
}

// Received counts a request.
func (t *Triggers) Received(outcome string) {
	if c, ok := t.requests[outcome]; ok {
		c.Inc()
	}
}

// Describe implements prometheus.Collector.
func (t *Triggers) Describe(ch chan<- *prometheus.Desc) { ch <- t.triggers }

// Collect implements prometheus.Collector.
func (t *Triggers) Collect(ch chan<- prometheus.Metric) {
	f, ok := t.read()
	if !ok {
		return
	}
	ch <- prometheus.MustNewConstMetric(t.triggers, prometheus.GaugeValue, float64(f.Open), "false")
	ch <- prometheus.MustNewConstMetric(t.triggers, prometheus.GaugeValue, float64(f.Blocked), "true")
}
