package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wardroom/wardroom/core"
)

// ThreadFigures are how things are with threads; a scrape reads them.
type ThreadFigures struct {
	Active         map[core.ThreadStatus]int // threads that are not over
	QueuedInputs   int                       // messages that wait for an agent
	Workspaces     map[core.WorkspaceStatus]int
	WorkspaceBytes int64 // at the last look
	Fetches        int64 // of repositories, since the start
	FetchesFailed  int64 // of Fetches
	Experiences    int
}

// Threads counts what happens to threads, and shows how things are with them.
type Threads struct {
	figures[ThreadFigures]
	spawned  *bound[prometheus.Counter] // by agent type
	ended    *prometheus.CounterVec
	life     *prometheus.HistogramVec
	turn     prometheus.Observer
	restarts prometheus.Counter
	prompts  map[bool]prometheus.Counter // by whether a rule answers

	active      *prometheus.Desc
	queued      *prometheus.Desc
	workspaces  *prometheus.Desc
	bytes       *prometheus.Desc
	fetches     *prometheus.Desc
	experiences *prometheus.Desc
}

// lives are the bounds of the life of a thread, in seconds: from half a minute to a week.
var lives = []float64{30, 60, 300, 900, 1800, 3600, 3 * 3600, 8 * 3600, 24 * 3600, 7 * 24 * 3600}

// NewThreads makes the series of threads, workspaces and memory; those that tell how things are appear once Watch
// was called.
func NewThreads(reg prometheus.Registerer) *Threads {
	spawned := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "service_threads_spawned_total", Help: "Threads that were started, by agent type.",
	}, []string{"type"})
	turn := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "service_thread_turn_duration_seconds", Help: "Time that agents of threads took for a turn.",
		Buckets: []float64{.1, .5, 1, 5, 15, 30, 60, 120, 300, 900, 3600},
	})
	restarts := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "service_thread_restarts_total", Help: "Lost agents of threads that were started again.",
	})
	prompts := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "service_thread_prompts_total", Help: "What agents of threads asked, by who answers: rule or people.",
	}, []string{"answer"})
	t := &Threads{
		spawned: newBound(MaxLabelValues, func(kind string) prometheus.Counter { return spawned.WithLabelValues(kind) }),
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "service_threads_ended_total", Help: "Threads that are over, by how they ended and what came of them.",
		}, []string{"status", "outcome"}),
		life: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "service_thread_duration_seconds", Help: "Time from the start of a thread to its end, by how it ended.", Buckets: lives,
		}, []string{"status"}),
		turn: turn, restarts: restarts,
		prompts: map[bool]prometheus.Counter{true: prompts.WithLabelValues("rule"), false: prompts.WithLabelValues("people")},

		active:     prometheus.NewDesc("service_threads_active", "Threads that are not over, by status.", []string{"status"}, nil),
		queued:     prometheus.NewDesc("service_thread_inputs_queued", "Messages that wait for the agent of their thread.", nil, nil),
		workspaces: prometheus.NewDesc("service_workspaces", "Workspaces, by status.", []string{"status"}, nil),
		bytes:      prometheus.NewDesc("service_workspace_bytes", "Bytes of all workspaces at the last look.", nil, nil),
		fetches: prometheus.NewDesc("service_workspace_fetches_total",
			"Fetches of repositories, by outcome: ok or failed.", []string{"outcome"}, nil),
		experiences: prometheus.NewDesc("service_memory_experiences", "Experiences that are kept.", nil, nil),
	}
	reg.MustRegister(spawned, t.ended, t.life, turn, restarts, prompts, t)
	for _, status := range core.ThreadStatuses {
		if status.Terminal() {
			for _, state := range core.CompletionStates {
				t.ended.WithLabelValues(string(status), string(state))
			}
		}
	}
	return t
}

// ThreadSpawned counts a thread that was stored.
func (t *Threads) ThreadSpawned(agentType string) { t.spawned.get(agentType).Inc() }

// ThreadEnded counts the end of a thread. The state of its completion is empty when it has none.
func (t *Threads) ThreadEnded(status core.ThreadStatus, state core.CompletionState, life time.Duration) {
	t.ended.WithLabelValues(string(status), string(state)).Inc()
	observe(t.life.WithLabelValues(string(status)), life)
}

// ThreadRestarted counts a lost agent that came back.
func (t *Threads) ThreadRestarted() { t.restarts.Inc() }

// TurnEnded counts a turn.
func (t *Threads) TurnEnded(took time.Duration) { observe(t.turn, took) }

// PromptBlocked counts what an agent asked; auto when a rule answers it.
func (t *Threads) PromptBlocked(auto bool) { t.prompts[auto].Inc() }

// Describe implements prometheus.Collector.
func (t *Threads) Describe(ch chan<- *prometheus.Desc) {
	describe(ch, t.active, t.queued, t.workspaces, t.bytes, t.fetches, t.experiences)
}

// Collect implements prometheus.Collector.
func (t *Threads) Collect(ch chan<- prometheus.Metric) {
	f, ok := t.read()
	if !ok {
		return
	}
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
	for outcome, n := range map[string]int64{"ok": f.Fetches - f.FetchesFailed, "failed": f.FetchesFailed} {
		ch <- prometheus.MustNewConstMetric(t.fetches, prometheus.CounterValue, float64(n), outcome)
	}
	show(t.experiences, int64(f.Experiences))
}
