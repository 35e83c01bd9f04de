package metrics

import (
	"bytes"
	"encoding/json"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wardroom/wardroom/core"
)

// Statuses that service_executions_total counts.
var terminal = [...]core.ExecutionStatus{
	core.ExecutionCompleted, core.ExecutionFailed, core.ExecutionCancelled,
}

// Executions counts executions as they end, and keeps the totals that the detailed health shows.
type Executions struct {
	byPattern *bound[*patternSeries]

	total    atomic.Int64 // ever started, those before this process included once Seed was called
	active   atomic.Int64
	finished atomic.Int64 // ended in this process, and before it as far as SeedTimes knows
	spent    atomic.Int64 // nanoseconds, sum over finished
}

// patternSeries are the resolved series of one pattern: no label look-up when an execution ends.
type patternSeries struct {
	ended    [len(terminal)]prometheus.Counter
	duration prometheus.Observer
}

// NewExecutions makes service_executions_total, service_execution_duration_seconds and
// service_executions_active.
func NewExecutions(reg prometheus.Registerer) *Executions {
	total := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "service_executions_total",
		Help: "Executions that ended, by pattern and final status.",
	}, []string{"pattern", "status"})
	duration := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "service_execution_duration_seconds",
		Help:    "Time from an execution's first task to its end, by pattern.",
		Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300},
	}, []string{"pattern"})
	e := &Executions{}
	e.byPattern = newBound(MaxLabelValues, func(pattern string) *patternSeries {
		s := &patternSeries{duration: duration.WithLabelValues(pattern)}
		for i, status := range terminal {
			s.ended[i] = total.WithLabelValues(pattern, string(status))
		}
		return s
	})
	reg.MustRegister(total, duration, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "service_executions_active",
		Help: "Executions that are pending or running.",
	}, func() float64 { return float64(e.active.Load()) }))
	return e
}

// Seed adds what an earlier process left: executions ever stored, and those of them that are not over.
func (e *Executions) Seed(stored, active int64) {
	e.total.Add(stored)
	e.active.Add(active)
}

// SeedTimes lets the mean go on from executions that an earlier process ended, and how long they took together.
func (e *Executions) SeedTimes(ended int64, took time.Duration) {
	e.finished.Add(ended)
	e.spent.Add(int64(took))
}

// Known makes the series of a pattern, at 0 as long as no execution of it ended: an alert cannot tell a series that is not
// there from a server that is not.
func (e *Executions) Known(pattern string) { e.byPattern.get(pattern) }

// ExecutionStarted counts a new execution.
func (e *Executions) ExecutionStarted(pattern string) {
	e.Known(pattern)
	e.total.Add(1)
	e.active.Add(1)
}

// ExecutionFinished counts an execution that became terminal.
func (e *Executions) ExecutionFinished(pattern string, status core.ExecutionStatus, took time.Duration) {
	e.active.Add(-1)
	e.finished.Add(1)
	e.spent.Add(int64(max(took, 0)))
	series := e.byPattern.get(pattern)
	for i, s := range terminal {
		if s == status {
			series.ended[i].Inc()
		}
	}
	observe(series.duration, took)
}

// adHocName finds the events that may be of an ad-hoc execution without decoding all others.
var adHocName = []byte(`"` + core.AdHocPattern.Name + `"`)

// Committed counts ad-hoc executions from what was stored of them, since no engine runs them, and gets to know new patterns.
// Other events are passed over.
func (e *Executions) Committed(events []core.Event) {
	for i := range events {
		var status core.ExecutionStatus
		switch events[i].Type {
		case core.EventPatternCreated:
			var data struct {
				Name string `json:"name"`
			}
			if json.Unmarshal(events[i].Data, &data) == nil && data.Name != "" {
				e.Known(data.Name)
			}
			continue
		case core.EventExecutionStarted:
			status = core.ExecutionRunning
		case core.EventExecutionCompleted:
			status = core.ExecutionCompleted
		case core.EventExecutionFailed:
			status = core.ExecutionFailed
		case core.EventExecutionCancelled:
			status = core.ExecutionCancelled
		default:
			continue
		}
		if !bytes.Contains(events[i].Data, adHocName) {
			continue
		}
		var data struct {
			Pattern  core.PatternRef `json:"pattern"`
			Duration int64           `json:"duration"` // milliseconds
		}
		if json.Unmarshal(events[i].Data, &data) != nil || data.Pattern != core.AdHocPattern {
			continue
		}
		if status == core.ExecutionRunning {
			e.ExecutionStarted(data.Pattern.Name)
		} else {
			e.ExecutionFinished(data.Pattern.Name, status, time.Duration(data.Duration)*time.Millisecond)
		}
	}
}

// Totals returns the number of executions ever stored, of those not over, and the mean duration of those that ended in
// this process, or before it as far as SeedTimes knows.
func (e *Executions) Totals() (total, active int64, mean time.Duration) {
	if n := e.finished.Load(); n > 0 {
		mean = time.Duration(e.spent.Load() / n)
	}
	return e.total.Load(), e.active.Load(), mean
}
