package metrics_test

import (
	"testing"
	"time"
)

func TestPlugins(t *testing.T) {
	m, reg := newMetrics()
	p := m.Plugins
	p.State("runtime-local", "", "verifying")
	p.State("runtime-local", "runtime", "starting")
	p.State("runtime-local", "runtime", "ready")
	p.Restarted("runtime-local")
	p.Called("runtime-local", "spawn", "ok", 10*time.Millisecond)
	p.Called("runtime-local", "spawn", "CLI_NOT_FOUND", time.Millisecond)
	expect(t, reg, map[string]float64{
		"service_plugin_state{kind=runtime,plugin=runtime-local,state=ready}":              1,
		"service_plugin_state{kind=runtime,plugin=runtime-local,state=starting}":           0,
		"service_plugin_state{kind=runtime,plugin=runtime-local,state=quarantined}":        0,
		"service_plugin_restarts_total{plugin=runtime-local}":                              1,
		"service_plugin_calls_total{code=ok,method=spawn,plugin=runtime-local}":            1,
		"service_plugin_calls_total{code=CLI_NOT_FOUND,method=spawn,plugin=runtime-local}": 1,
		"service_plugin_call_duration_seconds{method=spawn,plugin=runtime-local}":          2,
	})
	if _, ok := series(t, reg)["service_plugin_state{kind=unknown,plugin=runtime-local,state=verifying}"]; ok {
		t.Error("the series of the time when nobody knew its kind are still there")
	}
}
