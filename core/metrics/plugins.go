package metrics

import (
	"cmp"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wardroom/wardroom/core"
)

// Plugins shows the state of each plugin and counts the calls to it. The operator chooses the names, so they
// are few; methods are words of the contract. Codes should be, but a plugin can make up others: they are bounded.
type Plugins struct {
	state    *prometheus.GaugeVec
	restarts *prometheus.CounterVec
	calls    *prometheus.CounterVec
	codes    *bound[*bound[string]] // of calls, by plugin
	duration *prometheus.HistogramVec

	mu    sync.Mutex // guards kinds
	kinds map[string]string
}

// NewPlugins makes the series of the plugins.
func NewPlugins(reg prometheus.Registerer) *Plugins {
	p := &Plugins{
		kinds: map[string]string{},
		codes: newCodes(),
		state: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "service_plugin_state", Help: "1 for the state that a plugin is in, 0 for the others.",
		}, []string{"plugin", "kind", "state"}),
		restarts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "service_plugin_restarts_total", Help: "Starts of a plugin after it had run before.",
		}, []string{"plugin"}),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "service_plugin_calls_total", Help: "Calls to a plugin, by method and code; ok is success.",
		}, []string{"plugin", "method", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "service_plugin_call_duration_seconds",
			Help:    "Time until a plugin answered, by method. Of streams it is the time until they were open.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .5, 1, 5, 30, 120},
		}, []string{"plugin", "method"}),
	}
	reg.MustRegister(p.state, p.restarts, p.calls, p.duration)
	return p
}

// State reports that a plugin is in a state from now on.
func (p *Plugins) State(plugin, kind, state string) {
	kind = cmp.Or(kind, "unknown")
	p.mu.Lock()
	defer p.mu.Unlock()
	if was, ok := p.kinds[plugin]; ok && was != kind {
		p.state.DeletePartialMatch(prometheus.Labels{"plugin": plugin, "kind": was})
	}
	p.kinds[plugin] = kind
	for _, other := range core.PluginStates {
		p.state.WithLabelValues(plugin, kind, string(other)).Set(gauge(string(other) == state))
	}
}

// Restarted counts a start of a plugin that had run before.
func (p *Plugins) Restarted(plugin string) { p.restarts.WithLabelValues(plugin).Inc() }

// Called counts a call.
func (p *Plugins) Called(plugin, method, code string, took time.Duration) {
	p.calls.WithLabelValues(plugin, method, p.codes.get(plugin).get(code)).Inc()
	observe(p.duration.WithLabelValues(plugin, method), took)
}
