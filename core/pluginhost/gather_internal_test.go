package pluginhost

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

func TestMergeMetrics(t *testing.T) {
	into := map[string]*dto.MetricFamily{}
	for plugin, text := range map[string]string{
		"a": "# TYPE ink gauge\nink{plugin=\"forged\"} 1\nservice_plugin_state{plugin=\"b\"} 1\n",
		"b": "no metrics at all {",
		"c": "",
	} {
		err := mergeMetrics(into, plugin, []byte(text))
		if (err != nil) != (plugin == "b") {
			t.Errorf("%s: %v", plugin, err)
		}
	}
	ink := into["service_plugin_ink"]
	if len(into) != 1 || len(ink.GetMetric()) != 1 || len(ink.Metric[0].Label) != 1 || ink.Metric[0].Label[0].GetValue() != "a" {
		t.Errorf("merged %v", into)
	}
	if err := mergeMetrics(into, "d", []byte("# TYPE ink counter\nink 5\n")); err != nil || len(ink.GetMetric()) != 1 {
		t.Errorf("another type joined: %v, %v", ink, err)
	}
	var many strings.Builder
	for i := range 2 * gatherSeries {
		fmt.Fprintf(&many, "drops{n=\"%d\"} 1\n", i)
	}
	if err := mergeMetrics(into, "e", []byte(many.String())); err != nil || len(into["service_plugin_drops"].GetMetric()) > gatherSeries {
		t.Errorf("%d series, %v", len(into["service_plugin_drops"].GetMetric()), err)
	}
}

func FuzzMergeMetrics(f *testing.F) {
	f.Add([]byte("# HELP a b\n# TYPE a counter\na{x=\"y\"} 1\n"))
	f.Add([]byte("a 1 2 3"))
	f.Add([]byte("a{x=\"1\",x=\"1\"} 1\na 2\na 2\na_bucket{le=\"1\"} 1\n"))
	f.Add([]byte("# TYPE h histogram\nh_bucket{le=\"1\"} 1\nh_sum 1\nh_count 1\n# TYPE s summary\ns{quantile=\"0.5\"} 1\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		into := map[string]*dto.MetricFamily{}
		_ = mergeMetrics(into, "pen", text) // an error is as good as an answer
		whole := prometheus.Gatherers{prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
			var list []*dto.MetricFamily
			for _, family := range into {
				list = append(list, family)
			}
			return list, nil
		})}
		if _, err := whole.Gather(); err != nil {
			t.Fatalf("it spoils the metrics of the whole: %v", err)
		}
		for name, family := range into {
			if !strings.HasPrefix(name, gatherPrefix) || family.GetName() != name {
				t.Fatalf("family %q is called %q", name, family.GetName())
			}
		}
	})
}
