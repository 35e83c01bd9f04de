package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wardroom/wardroom/core"
)

// WebhookFigures are how things are with webhooks; a scrape reads them.
type WebhookFigures struct {
	Endpoints int // that are not disabled because of failures
	Disabled  int // because of failures
	Active    int // attempts under way
	Pending   int64
	Behind    time.Duration // age of the oldest event that was not turned into deliveries yet
}

// Webhooks counts what happens to deliveries, and shows how things are with them.
type Webhooks struct {
	figures[WebhookFigures]
	attempts map[string]prometheus.Counter // by class of the answer
	took     prometheus.Observer
	ended    map[core.DeliveryStatus]prometheus.Counter
	events   prometheus.Counter
	made     prometheus.Counter
	lag      prometheus.Observer
	disabled prometheus.Counter

	endpoints *prometheus.Desc
	active    *prometheus.Desc
	pending   *prometheus.Desc
	behind    *prometheus.Desc
}

// attemptBounds are those of attempts, in seconds: from a receiver in the same room to the longest timeout.
var attemptBounds = []float64{.001, .005, .01, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}

// lagBounds are those of the way from the commit of an event to that of its deliveries, in seconds.
var lagBounds = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5, 30, 300}

// NewWebhooks makes the series of webhooks; those that tell how things are appear once Watch was called.
func NewWebhooks(reg prometheus.Registerer) *Webhooks {
	attempts := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "service_webhook_attempts_total", Help: "Attempts to deliver, by the class of the answer: 2xx to 5xx, or none.",
	}, []string{"answer"})
	deliveries := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "service_webhook_deliveries_total", Help: "Deliveries that came to their end, by what came of them.",
	}, []string{"status"})
	took := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "service_webhook_attempt_duration_seconds", Help: "Time that one attempt took, failed ones included.", Buckets: attemptBounds,
	})
	lag := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "service_webhook_lag_seconds", Help: "Time from an event to its deliveries, for the oldest event of each page of the log.",
		Buckets: lagBounds,
	})
	w := &Webhooks{
		attempts: map[string]prometheus.Counter{}, ended: map[core.DeliveryStatus]prometheus.Counter{}, took: took, lag: lag,
		events: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "service_webhook_events_total", Help: "Public events that were turned into deliveries, for no endpoint included.",
		}),
		made: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "service_webhook_deliveries_made_total", Help: "Deliveries that events were turned into.",
		}),
		disabled: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "service_webhook_endpoints_disabled_total", Help: "Endpoints that were disabled because they did nothing but fail.",
		}),

		endpoints: prometheus.NewDesc("service_webhook_endpoints", "Endpoints, by whether they were disabled because of failures.", []string{"disabled"}, nil),
		active:    prometheus.NewDesc("service_webhook_attempts_active", "Attempts under way.", nil, nil),
		pending:   prometheus.NewDesc("service_webhook_deliveries_pending", "Deliveries that wait for their first or next attempt.", nil, nil),
		behind:    prometheus.NewDesc("service_webhook_behind_seconds", "Age of the oldest event that was not turned into deliveries yet.", nil, nil),
	}
	for _, class := range []string{"2xx", "3xx", "4xx", "5xx", "none"} {
		w.attempts[class] = attempts.WithLabelValues(class)
	}
	for _, status := range core.DeliveryStatuses {
		if status != core.DeliveryPending {
			w.ended[status] = deliveries.WithLabelValues(string(status))
		}
	}
	reg.MustRegister(attempts, deliveries, took, lag, w.events, w.made, w.disabled, w)
	return w
}

// AttemptEnded counts one attempt; code is 0 where no answer came.
func (w *Webhooks) AttemptEnded(code int, _ bool, took time.Duration) {
	class := "none"
	if code >= 200 && code < 600 {
		class = string(rune('0'+code/100)) + "xx"
	}
	w.attempts[class].Inc()
	observe(w.took, took)
}

// DeliveryEnded counts a delivery that came to its end.
func (w *Webhooks) DeliveryEnded(status core.DeliveryStatus) {
	if c, ok := w.ended[status]; ok {
		c.Inc()
	}
}

// EventsFanned counts events that were turned into deliveries; behind is how old the oldest of them was.
func (w *Webhooks) EventsFanned(events, deliveries int, behind time.Duration) {
	w.events.Add(float64(events))
	w.made.Add(float64(deliveries))
	observe(w.lag, behind)
}

// EndpointDisabled counts an endpoint that was disabled because of its failures.
func (w *Webhooks) EndpointDisabled() { w.disabled.Inc() }

// Describe implements prometheus.Collector.
func (w *Webhooks) Describe(ch chan<- *prometheus.Desc) {
	describe(ch, w.endpoints, w.active, w.pending, w.behind)
}

// Collect implements prometheus.Collector.
func (w *Webhooks) Collect(ch chan<- prometheus.Metric) {
	f, ok := w.read()
	if !ok {
		return
	}
	show := gauges(ch)
	show(w.endpoints, float64(f.Endpoints), "false")
	show(w.endpoints, float64(f.Disabled), "true")
	show(w.active, float64(f.Active))
	show(w.pending, float64(f.Pending))
	show(w.behind, f.Behind.Seconds())
}
