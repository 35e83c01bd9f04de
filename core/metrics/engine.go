package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Engine counts what the engine does with tasks and its queue.
type Engine struct {
	queue    prometheus.Gauge
	parked   prometheus.Gauge
	waited   prometheus.Observer
	refused  prometheus.Counter
	tasks    map[string]prometheus.Counter
	taskTime prometheus.Observer
	resumed  prometheus.Counter
	unread   *prometheus.CounterVec
}

// Outcomes of a task attempt that service_tasks_total counts.
const (
	TaskCompleted = "completed"
	TaskFailed    = "failed"
	TaskTimeout   = "timeout"
	TaskLate      = "late"
	TaskCancelled = "cancelled"
	TaskLost      = "lost" // its agent went away
)

// NewEngine makes the engine's series.
func NewEngine(reg prometheus.Registerer) *Engine {
	queue := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "service_engine_queue_length", Help: "Executions that wait for a slot or for agents.",
	})
	parked := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "service_engine_parked_executions", Help: "Running executions that can only wait, for people, agents or a slot, and hold no slot.",
	})
	waited := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "service_engine_queue_wait_seconds", Help: "Time an execution waited for its first task.",
		Buckets: []float64{.0005, .001, .005, .01, .05, .1, .5, 1, 5, 30, 300},
	})
	refused := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "service_engine_refused_total", Help: "Executions refused because the queue was full.",
	})
	resumed := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "service_engine_resumed_total", Help: "Executions taken up again after a restart.",
	})
	unread := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "service_engine_unreadable_total", Help: "Stored records that could not be read when work was taken up, by kind.",
	}, []string{"kind"})
	for _, kind := range []string{"execution", "batch", "journal", "question"} {
		unread.WithLabelValues(kind)
	}
	tasks := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "service_tasks_total", Help: "Task attempts by outcome.",
	}, []string{"outcome"})
	taskTime := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "service_task_duration_seconds", Help: "Time from hand-out of a task to its answer.",
		Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .5, 1, 5, 30, 120},
	})
	reg.MustRegister(queue, parked, waited, refused, resumed, unread, tasks, taskTime)
	e := &Engine{
		queue: queue, parked: parked, waited: waited, refused: refused, resumed: resumed, unread: unread, taskTime: taskTime,
		tasks: map[string]prometheus.Counter{},
	}
	for _, o := range []string{TaskCompleted, TaskFailed, TaskTimeout, TaskLate, TaskCancelled, TaskLost} {
		e.tasks[o] = tasks.WithLabelValues(o)
	}
	return e
}

// QueueLength reports how many executions wait now.
func (e *Engine) QueueLength(n int) { e.queue.Set(float64(n)) }

// Parked reports how many running executions hold no slot now.
func (e *Engine) Parked(n int) { e.parked.Set(float64(n)) }

// QueueWaited reports how long an execution waited for its first task.
func (e *Engine) QueueWaited(d time.Duration) { observe(e.waited, d) }

// QueueRefused counts an execution that was refused because the queue was full.
func (e *Engine) QueueRefused() { e.refused.Inc() }

// Resumed counts executions taken up after a restart.
func (e *Engine) Resumed(n int) { e.resumed.Add(float64(n)) }

// Unreadable counts a stored record that could not be read.
func (e *Engine) Unreadable(kind string) { e.unread.WithLabelValues(kind).Inc() }

// TaskEnded counts a task attempt; outcome is one of the Task constants, others count as failed.
func (e *Engine) TaskEnded(outcome string, took time.Duration) {
	c, ok := e.tasks[outcome]
	if !ok {
		c = e.tasks[TaskFailed]
	}
	c.Inc()
	observe(e.taskTime, took)
}
