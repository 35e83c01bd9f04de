package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// HTTP counts requests and streams of the REST API.
type HTTP struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	streams  prometheus.Gauge
	dropped  *bound[prometheus.Counter]
	panics   prometheus.Counter
}

// NewHTTP makes the series of the API.
func NewHTTP(reg prometheus.Registerer) *HTTP {
	h := &HTTP{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "service_http_requests_total", Help: "Requests by operation and status class.",
		}, []string{"operation", "status"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "service_http_request_duration_seconds",
			Help:    "Time to answer a request, by operation. Streams and sockets are not observed.",
			Buckets: []float64{.0001, .0005, .001, .0025, .005, .01, .025, .05, .1, .5, 1, 5, 30, 300},
		}, []string{"operation"}),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "service_streams_open", Help: "Event streams with a reader.",
		}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "service_http_panics_total", Help: "Requests that ended in a panic.",
		}),
	}
	dropped := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "service_stream_dropped_total", Help: "Event streams that the server ended early, by reason.",
	}, []string{"reason"})
	h.dropped = newBound(32, func(r string) prometheus.Counter { return dropped.WithLabelValues(r) })
	reg.MustRegister(h.requests, h.duration, h.streams, h.panics, dropped)
	return h
}

// Route resolves the series of one operation and returns its observer. Took below zero means that only the
// count matters: a stream lasts as long as its reader likes.
func (h *HTTP) Route(operation string) func(status int, took time.Duration) {
	var classes [6]prometheus.Counter
	for i := 1; i < len(classes); i++ {
		classes[i] = h.requests.WithLabelValues(operation, strconv.Itoa(i)+"xx")
	}
	duration := h.duration.WithLabelValues(operation)
	return func(status int, took time.Duration) {
		if class := status / 100; class > 0 && class < len(classes) {
			classes[class].Inc()
		}
		if took >= 0 {
			observe(duration, took)
		}
	}
}

// StreamOpened counts a reader in.
func (h *HTTP) StreamOpened() { h.streams.Inc() }

// StreamClosed counts a reader out.
func (h *HTTP) StreamClosed() { h.streams.Dec() }

// StreamDropped counts a stream that the server ended before its subject did; reason is a short word.
func (h *HTTP) StreamDropped(reason string) { h.dropped.get(reason).Inc() }

// Panicked counts a request that ended in a panic.
func (h *HTTP) Panicked() { h.panics.Inc() }
