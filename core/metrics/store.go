package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Store measures the durable state.
type Store struct {
	commit   prometheus.Observer
	group    prometheus.Observer
	failures prometheus.Counter
	size     prometheus.Gauge
	free     prometheus.Gauge
	readOnly prometheus.Gauge
	trimmed  prometheus.Counter
}

// NewStore makes the store's series.
func NewStore(reg prometheus.Registerer) *Store {
	commit := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "service_store_commit_seconds", Help: "Time of one commit to stable storage.",
		Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .5, 1, 5},
	})
	group := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "service_store_commit_transactions", Help: "Transactions that shared one commit.",
		Buckets: []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512},
	})
	s := &Store{
		commit: commit, group: group,
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "service_store_failures_total", Help: "Commits that failed.",
		}),
		size: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "service_store_size_bytes", Help: "Bytes the store takes on disk.",
		}),
		free: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "service_store_free_bytes", Help: "Bytes free on the store's file system.",
		}),
		readOnly: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "service_store_read_only", Help: "1 while the store refuses writes, else 0.",
		}),
		trimmed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "service_store_trimmed_total", Help: "Records that retention removed.",
		}),
	}
	reg.MustRegister(commit, group, s.failures, s.size, s.free, s.readOnly, s.trimmed)
	return s
}

// Committed reports one commit: how long it took and how many transactions shared it.
func (s *Store) Committed(took time.Duration, transactions int) {
	s.commit.Observe(took.Seconds())
	s.group.Observe(float64(transactions))
}

// CommitFailed counts a commit that failed.
func (s *Store) CommitFailed() { s.failures.Inc() }

// Space reports the bytes taken by the store and left on its file system.
func (s *Store) Space(used, free int64) {
	s.size.Set(float64(used))
	s.free.Set(float64(free))
}

// ReadOnly reports whether the store refuses writes.
func (s *Store) ReadOnly(on bool) { s.readOnly.Set(gauge(on)) }

// Trimmed counts records that retention removed.
func (s *Store) Trimmed(records int) { s.trimmed.Add(float64(records)) }

func gauge(on bool) float64 {
	if on {
		return 1
	}
	return 0
}
