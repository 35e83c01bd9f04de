package pluginhost

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Bounds of what a plugin may add to the metrics of the whole.
const (
	gatherTime   = 2 * time.Second
	gatherBytes  = 1 << 20
	gatherSeries = 2000
	// gatherPrefix begins the names of the plugins' series, so that none can be taken for one of ours.
	gatherPrefix = "service_plugin_"
	gatherLabel  = "plugin"
)

var _ prometheus.Gatherer = (*Host)(nil)

// Gather implements prometheus.Gatherer: the measurements that ready plugins make themselves, with the prefix
// service_plugin_ and the label plugin. A plugin that does not answer in time, or whose text is none, is left
// out: its trouble must not hide the rest.
func (h *Host) Gather() ([]*dto.MetricFamily, error) {
	ctx, cancel := context.WithTimeout(h.ctx, gatherTime)
	defer cancel()
	h.mu.Lock()
	children := slices.Collect(maps.Values(h.children))
	h.mu.Unlock()
	sort.Slice(children, func(i, j int) bool { return children[i].spec.Name < children[j].spec.Name })
	texts := make([][]byte, len(children))
	var wg sync.WaitGroup
	for n, c := range children {
		i := c.instance()
		if i == nil {
			continue
		}
		wg.Go(func() {
			if text, err := i.conn.Metrics(ctx); err == nil && len(text) <= gatherBytes {
				texts[n] = text
			}
		})
	}
	wg.Wait()
	merged := map[string]*dto.MetricFamily{}
	for n, c := range children {
		if err := mergeMetrics(merged, c.spec.Name, texts[n]); err != nil {
			c.log.Logger.Debug("plugin has metrics that cannot be read", "error", c.redact(err.Error()))
		}
	}
	return slices.SortedFunc(maps.Values(merged), func(a, b *dto.MetricFamily) int {
		return cmp.Compare(a.GetName(), b.GetName())
	}), nil
}

// mergeMetrics adds the series of one plugin. All or none of them are taken.
func mergeMetrics(into map[string]*dto.MetricFamily, plugin string, text []byte) error {
	if len(text) == 0 {
		return nil
	}
	families, err := parseMetrics(text)
	if err != nil {
		return err
	}
	series, seen := 0, map[string]bool{}
	for _, family := range families {
		name := gatherPrefix + strings.TrimPrefix(family.GetName(), gatherPrefix)
		if own := ownSeries[name]; own {
			continue
		}
		known := into[name]
		if known != nil && known.GetType() != family.GetType() {
			continue // two plugins mean different things by it; the first by name is shown
		}
		if known == nil {
			known = &dto.MetricFamily{Name: &name, Help: family.Help, Type: family.Type, Unit: family.Unit}
		}
		for _, metric := range family.GetMetric() {
			if series++; series > gatherSeries {
				return nil
			}
			labels, key, ok := labelled(plugin, metric.GetLabel())
			if !ok || seen[name+key] {
				continue // it would spoil the whole answer
			}
			seen[name+key] = true
			metric.Label = labels
			known.Metric = append(known.Metric, metric)
		}
		if len(known.Metric) > 0 {
			into[name] = known
		}
	}
	return nil
}

// parseMetrics reads the Prometheus text format. The parser panics on some texts that are none.
func parseMetrics(text []byte) (families map[string]*dto.MetricFamily, err error) {
	defer func() {
		if recover() != nil {
			families, err = nil, errors.New("the parser gave up on the text")
		}
	}()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	return parser.TextToMetricFamilies(bytes.NewReader(text))
}

// labelled returns the labels of a series with that of the plugin, sorted, and as one text; not ok when one of
// them is no text.
func labelled(plugin string, of []*dto.LabelPair) (labels []*dto.LabelPair, key string, ok bool) {
	label := gatherLabel
	labels = []*dto.LabelPair{{Name: &label, Value: &plugin}}
	for _, pair := range of {
		if !utf8.ValidString(pair.GetValue()) {
			return nil, "", false
		}
		if pair.GetName() != gatherLabel {
			labels = append(labels, pair)
		}
	}
	sort.Slice(labels, func(i, j int) bool { return labels[i].GetName() < labels[j].GetName() })
	for i, pair := range labels {
		if i > 0 && labels[i-1].GetName() == pair.GetName() {
			return nil, "", false
		}
		key += "\xff" + pair.GetName() + "\xff" + pair.GetValue()
	}
	return labels, key, true
}

// ownSeries are names with the prefix that the host's own metrics have.
var ownSeries = map[string]bool{
	"service_plugin_state": true, "service_plugin_restarts_total": true,
	"service_plugin_calls_total": true, "service_plugin_call_duration_seconds": true,
}
