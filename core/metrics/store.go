package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// StoreFigures are what the store counts by itself; a scrape reads them.
type StoreFigures struct {
	Commits    int64         // synced batches
	Updates    int64         // transactions that shared them
	CommitTime time.Duration // sum over Commits
	Failures   int64
	Size       int64 // bytes on disk
	Free       int64 // bytes left on the file system
	ReadOnly   bool
	Broken     int64 // records that cannot be read
	Encrypted  bool
	MasterKey  string           // id, of an encrypted store
	DataKey    string           // number, likewise
	Unsealed   int64            // records that are still to be looked at after a change of keys
	Retention  map[string]int64 // runs of retention that failed, by kind of records; every kind is there
}

// Store shows the store's figures, read when Prometheus asks.
type Store struct {
	figures[StoreFigures]
	series []series[StoreFigures]

	retention  *prometheus.Desc
	encryption *prometheus.Desc
}

// NewStore makes the store's series; they appear once Watch was called.
func NewStore(reg prometheus.Registerer) *Store {
	s := &Store{}
	add := func(name, help string, kind prometheus.ValueType, value func(StoreFigures) float64) {
		s.series = append(s.series, series[StoreFigures]{prometheus.NewDesc(name, help, nil, nil), kind, value})
	}
	add("service_store_commits_total", "Commits to stable storage.", prometheus.CounterValue,
		func(f StoreFigures) float64 { return float64(f.Commits) })
	add("service_store_transactions_total", "Transactions; several share a commit under load.", prometheus.CounterValue,
		func(f StoreFigures) float64 { return float64(f.Updates) })
	add("service_store_commit_seconds_total", "Time spent in commits.", prometheus.CounterValue,
		func(f StoreFigures) float64 { return f.CommitTime.Seconds() })
	add("service_store_failures_total", "Commits that failed.", prometheus.CounterValue,
		func(f StoreFigures) float64 { return float64(f.Failures) })
	add("service_store_size_bytes", "Bytes the store takes on disk.", prometheus.GaugeValue,
		func(f StoreFigures) float64 { return float64(f.Size) })
	add("service_store_free_bytes", "Bytes free on the store's file system.", prometheus.GaugeValue,
		func(f StoreFigures) float64 { return float64(f.Free) })
	add("service_store_read_only", "1 while the store refuses writes, else 0.", prometheus.GaugeValue,
		func(f StoreFigures) float64 { return gauge(f.ReadOnly) })
	add("service_store_broken_records", "Stored records that cannot be read and are passed over.", prometheus.GaugeValue,
		func(f StoreFigures) float64 { return float64(f.Broken) })
	add("service_store_encrypted", "1 while the store is encrypted on disk, else 0.", prometheus.GaugeValue,
		func(f StoreFigures) float64 { return gauge(f.Encrypted) })
	add("service_store_encryption_pending_records", "Records still to be looked at, to seal them by the present data key.", prometheus.GaugeValue,
		func(f StoreFigures) float64 { return float64(f.Unsealed) })
	s.encryption = prometheus.NewDesc("service_store_encryption_info",
		"The keys of an encrypted store: id of the master key, number of the data key.", []string{"master_key", "data_key"}, nil)
	s.retention = prometheus.NewDesc("service_store_retention_failures_total",
		"Runs of retention that could not go through a kind of records.", []string{"kind"}, nil)
	reg.MustRegister(s)
	return s
}

// Describe implements prometheus.Collector.
func (s *Store) Describe(ch chan<- *prometheus.Desc) {
	for _, series := range s.series {
		ch <- series.desc
	}
	ch <- s.retention
	ch <- s.encryption
}

// Collect implements prometheus.Collector.
func (s *Store) Collect(ch chan<- prometheus.Metric) {
	f, ok := s.read()
	if !ok {
		return
	}
	for _, series := range s.series {
		ch <- prometheus.MustNewConstMetric(series.desc, series.kind, series.value(f))
	}
	if f.Encrypted {
		ch <- prometheus.MustNewConstMetric(s.encryption, prometheus.GaugeValue, 1, f.MasterKey, f.DataKey)
	}
	for kind, n := range f.Retention {
		ch <- prometheus.MustNewConstMetric(s.retention, prometheus.CounterValue, float64(n), kind)
	}
}

func gauge(on bool) float64 {
	if on {
		return 1
	}
	return 0
}
