package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// ScheduleFigures is how schedules are at the moment.
type ScheduleFigures struct {
	ByStatus map[core.ScheduleStatus]int
	Queued   int // ticks that wait for the run before
}

// Schedules is what became of ticks.
type Schedules struct {
	figures[ScheduleFigures]
	ticks map[core.ScheduleOutcome]prometheus.Counter
	lag   prometheus.Histogram

	schedules, queued *prometheus.Desc
}

// NewSchedules makes and registers the series of schedules.
func NewSchedules(reg prometheus.Registerer) *Schedules {
	ticks := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "service_schedule_ticks_total", Help: "Ticks of schedules by what became of them.",
	}, []string{"outcome"})
	s := &Schedules{
		ticks: map[core.ScheduleOutcome]prometheus.Counter{},
		lag: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "service_schedule_lag_seconds", Help: "How late ticks were started, without those that were made up for or waited.",
			Buckets: []float64{.005, .01, .05, .1, .5, 1, 5, 10, 30, 60, 300},
		}),
		schedules: prometheus.NewDesc("service_schedules", "Schedules by status.", []string{"status"}, nil),
		queued:    prometheus.NewDesc("service_schedule_ticks_queued", "Ticks that wait until the run before is over.", nil, nil),
	}
	for _, o := range []core.ScheduleOutcome{wire.TickStarted, wire.TickQueued, wire.TickSkipped, wire.TickMissed, wire.TickFailed, wire.TickBlocked} {
		s.ticks[o] = ticks.WithLabelValues(string(o))
	}
	reg.MustRegister(ticks, s.lag, s)
	return s
}

// Ticked counts ticks that came to an outcome.
func (s *Schedules) Ticked(outcome core.ScheduleOutcome, count int) {
	if c, ok := s.ticks[outcome]; ok {
		c.Add(float64(count))
	}
}

// Lag counts how late a tick was started.
func (s *Schedules) Lag(late time.Duration) { observe(s.lag, late) }

// Describe implements prometheus.Collector.
func (s *Schedules) Describe(ch chan<- *prometheus.Desc) {
	ch <- s.schedules
	ch <- s.queued
}

// Collect implements prometheus.Collector.
func (s *Schedules) Collect(ch chan<- prometheus.Metric) {
	f, ok := s.read()
	if !ok {
		return
	}
	for _, status := range core.ScheduleStatuses {
		ch <- prometheus.MustNewConstMetric(s.schedules, prometheus.GaugeValue, float64(f.ByStatus[status]), string(status))
	}
	ch <- prometheus.MustNewConstMetric(s.queued, prometheus.GaugeValue, float64(f.Queued))
}
