package metrics_test

import (
	"testing"
	"time"

	"github.com/wardroom/wardroom/core/metrics"
)

func TestSecrets(t *testing.T) {
	m, reg := newMetrics()
	m.Secrets.Watch(func() []metrics.SecretFigures {
		return []metrics.SecretFigures{{
			Provider: "vault", Hits: 9, Misses: 2, Fetches: map[string]int64{"OK": 3, "FORBIDDEN": 1}, FetchTime: 1500 * time.Millisecond,
			Cached: 2, Bytes: 40, Stale: 1, Failed: 1, Oldest: time.Minute,
		}}
	})
	expect(t, reg, map[string]float64{
		"service_secret_lookups_total{provider=vault,result=hit}":     9,
		"service_secret_lookups_total{provider=vault,result=miss}":    2,
		"service_secret_fetches_total{code=OK,provider=vault}":        3,
		"service_secret_fetches_total{code=FORBIDDEN,provider=vault}": 1,
		"service_secret_fetch_seconds_total{provider=vault}":          1.5,
		"service_secrets_cached{provider=vault}":                      2,
		"service_secrets_cached_bytes{provider=vault}":                40,
		"service_secrets_stale{provider=vault}":                       1,
		"service_secrets_failed{provider=vault}":                      1,
		"service_secrets_oldest_seconds{provider=vault}":              60,
	})
}
