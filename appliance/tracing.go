package appliance

import (
	"crypto/x509"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/config"
	"github.com/wardroom/wardroom/core/metrics"
	"github.com/wardroom/wardroom/core/tracing"
)

var _ tracing.Observer = (*metrics.Traces)(nil)

// openTracing begins to take spans, if the configuration wants traces.
func (a *App) openTracing(c *config.Config) error {
	a.tracing = tracing.New(tracing.Options{
		Logger: a.log.Named("tracing"), Observer: a.metrics.Traces, Version: a.opts.Version, Instance: a.ids.New("core"),
	})
	return a.applyTracing(c)
}

// applyTracing puts another configuration of traces into effect.
func (a *App) applyTracing(c *config.Config) error {
	t := &c.Observability.Tracing
	out := tracing.Config{
		Enabled: t.Enabled, Endpoint: t.Endpoint, Headers: t.Headers.Reveal(), Ratio: float64(t.SamplePerMillion) / 1e6, Queue: t.Queue, Timeout: t.Timeout,
	}
	if t.Enabled && t.CAFile != "" {
		text, err := readPEM(t.CAFile)
		if err != nil {
			return core.Invalid("observability.tracing.caFile", "cannot be read: %v", err)
		}
		if out.CA = x509.NewCertPool(); !out.CA.AppendCertsFromPEM([]byte(text)) {
			return core.Invalid("observability.tracing.caFile", "%s holds no certificate in PEM", t.CAFile)
		}
	}
	return a.tracing.ApplyConfig(out)
}
