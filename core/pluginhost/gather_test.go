package pluginhost_test

import (
	"bytes"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"

	"github.com/wardroom/wardroom/core"
)

// What plugins measure appears beside the metrics of the whole, under names and a label that nobody else has.
func TestGather(t *testing.T) {
	r := newRig(t, pen(""), named("runtime-quill", ""), named("runtime-off", "exit")).open()
	r.until("runtime-quill", core.PluginReady)
	families, err := prometheus.Gatherers{prometheus.NewRegistry(), r.Host}.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for _, family := range families {
		if _, err := expfmt.MetricFamilyToText(&out, family); err != nil {
			t.Fatal(err)
		}
	}
	want := "# HELP service_plugin_pen_strokes_total Strokes.\n# TYPE service_plugin_pen_strokes_total counter\n" +
		"service_plugin_pen_strokes_total{colour=\"blue\",plugin=\"runtime-pen\"} 7\n" +
		"service_plugin_pen_strokes_total{colour=\"blue\",plugin=\"runtime-quill\"} 7\n"
	if out.String() != want {
		t.Errorf("metrics\n%s\nwant\n%s", out.String(), want)
	}
}
