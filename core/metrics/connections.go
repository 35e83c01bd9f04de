package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
)

// ConnectionFigures are what the listener counts by itself; a scrape reads them.
type ConnectionFigures struct {
	Open    int
	Refused int64
	Stalled int64
}

// Connections shows the connections of clients, read when Prometheus asks.
type Connections struct{ figures[ConnectionFigures] }

// NewConnections makes the series of the listener; they are 0 until Watch was called.
func NewConnections(reg prometheus.Registerer) *Connections {
	c := &Connections{}
	now := func() ConnectionFigures { f, _ := c.read(); return f }
	reg.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "service_connections_open", Help: "Connections of clients, streams, terminals and agents included.",
		}, func() float64 { return float64(now().Open) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "service_connections_refused_total", Help: "Connections closed at once because there were too many.",
		}, func() float64 { return float64(now().Refused) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "service_connections_stalled_total", Help: "Connections ended because the client took nothing of what was sent.",
		}, func() float64 { return float64(now().Stalled) }),
	)
	return c
}
