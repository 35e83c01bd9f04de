package metrics

import (
	"encoding/json"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wardroom/wardroom/core"
)

// ThreadFigures are how things are with threads; a scrape reads them.
type ThreadFigures struct {
	Active         map[core.ThreadStatus]int // threads that are not over
	QueuedInputs   int                       // messages that wait for an agent
	Workspaces     map[core.WorkspaceStatus]int
	WorkspaceBytes int64 // at the last look
	Fetches        int64 // of mirrors
	FetchFailures  int64
	Experiences    int
}

// Threads counts what happens to threads, and shows how things are with them.
type Threads struct {
	source atomic.Pointer[func() ThreadFigures]
	ended  *prometheus.CounterVec
	turns  prometheus.Counter

	active      *prometheus.Desc
	queued      *prometheus.Desc
	workspaces  *prometheus.Desc
	bytes       *prometheus.Desc
	fetches     *prometheus.Desc
	experiences *prometheus.Desc
}

// NewThreads makes the series of threads, workspaces and memory; those that tell how things are appear once Watch
// was called.
func NewThreads(reg prometheus.Registerer) *Threads {
	t := &Threads{
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "service_threads_ended_total", Help: "Threads that are over, by how they ended and what came of them.",
		}, []string{"status", "outcome"}),
		turns: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "service_thread_turns_total", Help: "Turns that agents of threads completed.",
		}),
		active:      prometheus.NewDesc("service_threads_active", "Threads that are not over, by status.", []string{"status"}, nil),
		queued:      prometheus.NewDesc("service_thread_inputs_queued", "Messages that wait for the agent of their thread.", nil, nil),
		workspaces:  prometheus.NewDesc("service_workspaces", "Workspaces, by status.", []string{"status"}, nil),
		bytes:       prometheus.NewDesc("service_workspace_bytes", "Bytes of all workspaces at the last look.", nil, nil),
		fetches:     prometheus.NewDesc("service_mirror_fetches_total", "Fetches of mirrors of repositories, by result.", []string{"result"}, nil),
		experiences: prometheus.NewDesc("service_memory_experiences", "Experiences that are kept.", nil, nil),
	}
	reg.MustRegister(t.ended, t.turns, t)
	for _, status := range core.ThreadStatuses {
		if status.Terminal() {
			for _, state := range core.CompletionStates {
				t.ended.WithLabelValues(string(status), string(state))
			}
		}
	}
	return t
}

// Watch sets where the figures come from.
func (t *Threads) Watch(source func() ThreadFigures) { t.source.Store(&source) }

// Committed counts what was stored; other events are passed over.
func (t *Threads) Committed(events []core.Event) {
	for i := range events {
		switch events[i].Type {
		case core.EventThreadTurnComplete:
			t.turns.Inc()
		case core.EventThreadCompleted:
			t.end(core.ThreadCompleted, events[i].Data)
		case core.EventThreadFailed:
			t.end(core.ThreadFailed, events[i].Data)
		case core.EventThreadStopped:
			t.end(core.ThreadStopped, events[i].Data)
		}
	}
}

func (t *Threads) end(status core.ThreadStatus, data json.RawMessage) {
	var said struct {
		Completion *core.Completion `json:"completion"`
	}
	outcome := ""
	// An event that cannot be read counts as one without an outcome.
	if json.Unmarshal(data, &said) == nil && said.Completion != nil {
		outcome = string(said.Completion.State)
	}
	t.ended.WithLabelValues(string(status), outcome).Inc()
}

// Describe implements prometheus.Collector.
func (t *Threads) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{t.active, t.queued, t.workspaces, t.bytes, t.fetches, t.experiences} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (t *Threads) Collect(ch chan<- prometheus.Metric) {
	source := t.source.Load()
	if source == nil {
		return
	}
	f := (*source)()
	show := func(d *prometheus.Desc, n int64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n), labels...)
	}
	for _, status := range core.ThreadStatuses {
		if !status.Terminal() {
			show(t.active, int64(f.Active[status]), string(status))
		}
	}
	show(t.queued, int64(f.QueuedInputs))
	for _, status := range core.WorkspaceStatuses {
		if status != core.WorkspaceRemoved {
			show(t.workspaces, int64(f.Workspaces[status]), string(status))
		}
	}
	show(t.bytes, f.WorkspaceBytes)
	ch <- prometheus.MustNewConstMetric(t.fetches, prometheus.CounterValue, float64(f.Fetches-f.FetchFailures), "ok")
	ch <- prometheus.MustNewConstMetric(t.fetches, prometheus.CounterValue, float64(f.FetchFailures), "failed")
	show(t.experiences, int64(f.Experiences))
}
