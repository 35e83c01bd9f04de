package metrics

import "github.com/prometheus/client_golang/prometheus"

// outcomeExported is that of spans which the collector took.
const outcomeExported = "exported"

// Traces counts what becomes of the spans of traces.
type Traces struct{ spans *bound[prometheus.Counter] } // by outcome

// NewTraces makes the series of traces.
func NewTraces(reg prometheus.Registerer) *Traces {
	spans := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "service_trace_spans_total",
		Help: "Spans of sampled traces, by outcome: exported, queue_full (dropped, as the collector is too slow), export_failed (dropped).",
	}, []string{"outcome"})
	reg.MustRegister(spans)
	t := &Traces{spans: newBound(MaxLabelValues, func(outcome string) prometheus.Counter { return spans.WithLabelValues(outcome) })}
	for _, outcome := range []string{outcomeExported, "queue_full", "export_failed"} {
		t.spans.get(outcome)
	}
	return t
}

// SpansExported counts spans that the collector took.
func (t *Traces) SpansExported(n int) { t.spans.get(outcomeExported).Add(float64(n)) }

// SpansDropped counts spans that were dropped, by reason.
func (t *Traces) SpansDropped(n int, reason string) { t.spans.get(reason).Add(float64(n)) }
