package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Config reports whether the running configuration is the one on disk.
type Config struct {
	successful prometheus.Gauge
	at         prometheus.Gauge
}

// NewConfig makes the series of configuration loads.
func NewConfig(reg prometheus.Registerer) *Config {
	c := &Config{
		successful: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "service_config_last_reload_successful",
			Help: "1 when the last load of the configuration succeeded, else 0.",
		}),
		at: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "service_config_last_reload_success_timestamp_seconds",
			Help: "When the configuration was last loaded with success, in seconds since 1970.",
		}),
	}
	reg.MustRegister(c.successful, c.at)
	return c
}

// Reloaded reports a load of the configuration.
func (c *Config) Reloaded(ok bool, at time.Time) {
	c.successful.Set(gauge(ok))
	if ok {
		c.at.Set(float64(at.UnixMilli()) / 1000)
	}
}
