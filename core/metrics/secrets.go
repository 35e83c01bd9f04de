package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// SecretFigures are what core/secrets counts of one provider; a scrape reads them.
type SecretFigures struct {
	Provider  string
	Hits      int64            // uses of a value in memory
	Misses    int64            // uses that waited for the provider, or got its last failure
	Fetches   map[string]int64 // answers about single secrets, by code; OK for values
	FetchTime time.Duration    // sum of the calls
	Cached    int              // secrets in memory
	Bytes     int              // of them
	Stale     int              // of them, kept although the provider does not answer
	Failed    int              // secrets that were asked for and are not there
	Oldest    time.Duration    // since the provider gave the oldest of those in memory
}

// Secrets shows the figures of the providers of secrets. No series names a secret.
type Secrets struct {
	figures[[]SecretFigures]
	lookups *prometheus.Desc
	fetches *prometheus.Desc
	series  []series[SecretFigures]
}

// NewSecrets makes the series of secrets; they appear once Watch was called.
func NewSecrets(reg prometheus.Registerer) *Secrets {
	s := &Secrets{
		lookups: prometheus.NewDesc("service_secret_lookups_total",
			"Uses of secrets by provider; result is hit for a value in memory, else miss.", []string{"provider", "result"}, nil),
		fetches: prometheus.NewDesc("service_secret_fetches_total",
			"Answers of providers about single secrets; code is OK for a value, else that of the error.", []string{"provider", "code"}, nil),
	}
	add := func(name, help string, kind prometheus.ValueType, value func(SecretFigures) float64) {
		s.series = append(s.series, series[SecretFigures]{prometheus.NewDesc(name, help, []string{"provider"}, nil), kind, value})
	}
	add("service_secret_fetch_seconds_total", "Time spent in calls of providers.", prometheus.CounterValue,
		func(f SecretFigures) float64 { return f.FetchTime.Seconds() })
	add("service_secrets_cached", "Secrets in memory.", prometheus.GaugeValue,
		func(f SecretFigures) float64 { return float64(f.Cached) })
	add("service_secrets_cached_bytes", "What the secrets in memory take.", prometheus.GaugeValue,
		func(f SecretFigures) float64 { return float64(f.Bytes) })
	add("service_secrets_stale", "Secrets that are kept in use although their provider does not answer.", prometheus.GaugeValue,
		func(f SecretFigures) float64 { return float64(f.Stale) })
	add("service_secrets_failed", "Secrets that were asked for and cannot be had.", prometheus.GaugeValue,
		func(f SecretFigures) float64 { return float64(f.Failed) })
	add("service_secrets_oldest_seconds", "Time since the provider gave the oldest secret in memory.", prometheus.GaugeValue,
		func(f SecretFigures) float64 { return f.Oldest.Seconds() })
	reg.MustRegister(s)
	return s
}

// Describe implements prometheus.Collector.
func (s *Secrets) Describe(ch chan<- *prometheus.Desc) {
	for _, series := range s.series {
		ch <- series.desc
	}
	ch <- s.lookups
	ch <- s.fetches
}

// Collect implements prometheus.Collector.
func (s *Secrets) Collect(ch chan<- prometheus.Metric) {
	found, _ := s.read()
	for _, f := range found {
		for _, series := range s.series {
			ch <- prometheus.MustNewConstMetric(series.desc, series.kind, series.value(f), f.Provider)
		}
		ch <- prometheus.MustNewConstMetric(s.lookups, prometheus.CounterValue, float64(f.Hits), f.Provider, "hit")
		ch <- prometheus.MustNewConstMetric(s.lookups, prometheus.CounterValue, float64(f.Misses), f.Provider, "miss")
		for code, n := range f.Fetches {
			ch <- prometheus.MustNewConstMetric(s.fetches, prometheus.CounterValue, float64(n), f.Provider, code)
		}
	}
}
