package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wardroom/wardroom/core"
)

// Audit counts what is recorded and delivered, and shows how the trail is.
type Audit struct {
	figures[core.AuditStatus]
	records   *prometheus.CounterVec
	lost      prometheus.Counter
	delivered *prometheus.CounterVec
	failures  *prometheus.CounterVec
	codes     *bound[*bound[string]] // of failures, by sink
	took      *prometheus.HistogramVec

	last     *prometheus.Desc
	bytes    *prometheus.Desc
	behind   *prometheus.Desc
	seconds  *prometheus.Desc
	rejected *prometheus.Desc
}

// NewAudit makes the series of the audit trail; those that tell how it is appear once Watch was called.
func NewAudit(reg prometheus.Registerer) *Audit {
	a := &Audit{
		codes: newCodes(),
		records: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "service_audit_records_total", Help: "Audit records written, by category and outcome.",
		}, []string{"category", "outcome"}),
		lost: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "service_audit_lost_total", Help: "Audit records that could not be kept.",
		}),
		delivered: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "service_audit_delivered_total", Help: "Audit records that a sink made durable.",
		}, []string{"sink"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "service_audit_sink_failures_total", Help: "Attempts that a sink failed, by the code of the error; REJECTED counts records.",
		}, []string{"sink", "code"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "service_audit_delivery_duration_seconds", Help: "Time from handing records to a sink until they were durable.", Buckets: attemptBounds,
		}, []string{"sink"}),
		last:     prometheus.NewDesc("service_audit_sequence", "Sequence of the newest audit record.", nil, nil),
		bytes:    prometheus.NewDesc("service_audit_bytes", "What the audit records in the store take.", nil, nil),
		behind:   prometheus.NewDesc("service_audit_sink_behind_records", "Audit records that a sink lacks.", []string{"sink"}, nil),
		seconds:  prometheus.NewDesc("service_audit_sink_behind_seconds", "Age of the oldest audit record that a sink lacks.", []string{"sink"}, nil),
		rejected: prometheus.NewDesc("service_audit_sink_rejected_records", "Audit records that a sink refused for good since the start.", []string{"sink"}, nil),
	}
	reg.MustRegister(a.records, a.lost, a.delivered, a.failures, a.took, a)
	return a
}

// Recorded counts a record.
func (a *Audit) Recorded(category, outcome string) {
	a.records.WithLabelValues(category, outcome).Inc()
}

// Lost counts records that could not be kept.
func (a *Audit) Lost(n int) { a.lost.Add(float64(n)) }

// Delivered counts records that a sink made durable.
func (a *Audit) Delivered(sink string, n int, took time.Duration) {
	a.delivered.WithLabelValues(sink).Add(float64(n))
	observe(a.took.WithLabelValues(sink), took)
}

// SinkFailed counts an attempt that a sink failed.
func (a *Audit) SinkFailed(sink, code string) {
	a.failures.WithLabelValues(sink, a.codes.get(sink).get(code)).Inc()
}

// Describe implements prometheus.Collector.
func (a *Audit) Describe(ch chan<- *prometheus.Desc) {
	describe(ch, a.last, a.bytes, a.behind, a.seconds, a.rejected)
}

// Collect implements prometheus.Collector.
func (a *Audit) Collect(ch chan<- prometheus.Metric) {
	st, ok := a.read()
	if !ok {
		return
	}
	show := gauges(ch)
	show(a.last, float64(st.Last))
	show(a.bytes, float64(st.Bytes))
	for _, k := range st.Sinks {
		show(a.behind, float64(k.Behind), k.Name)
		show(a.seconds, float64(k.BehindSeconds), k.Name)
		show(a.rejected, float64(k.Rejected), k.Name)
	}
}
