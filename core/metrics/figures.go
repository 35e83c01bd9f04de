package metrics

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// figures are what the series of a collector show. There are none until Watch was called.
type figures[F any] struct{ source atomic.Pointer[func() F] }

// Watch sets where the figures come from.
func (f *figures[F]) Watch(source func() F) { f.source.Store(&source) }

// read returns the figures, and whether there are any.
func (f *figures[F]) read() (values F, ok bool) {
	if source := f.source.Load(); source != nil {
		return (*source)(), true
	}
	return values, false
}

// series has a value, which it reads from figures.
type series[F any] struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(F) float64
}

// describe sends descriptions, as prometheus.Collector wants them.
func describe(ch chan<- *prometheus.Desc, descs ...*prometheus.Desc) {
	for _, d := range descs {
		ch <- d
	}
}

// gauges returns what sends gauges.
func gauges(ch chan<- prometheus.Metric) func(d *prometheus.Desc, value float64, labels ...string) {
	return func(d *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
}
