package metrics

import (
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// AgentFigures are what the agents' registry counts by itself; a scrape reads them.
type AgentFigures struct {
	Connected  map[string]int // agents with status connected, by region
	FramesIn   int64
	FramesOut  int64
	Refused    map[string]int64 // sessions and frames refused, by one short word
	Resumes    int64
	SessionsUp int64
}

// Agents shows the registry's figures. They are read when Prometheus asks, so that a frame costs nothing
// here.
type Agents struct {
	figures[AgentFigures]
	connected *prometheus.Desc
	frames    *prometheus.Desc
	refused   *prometheus.Desc
	resumes   *prometheus.Desc
	sessions  *prometheus.Desc
}

// NewAgents makes service_agents_connected and the series of the agent protocol; they appear once Watch
// was called.
func NewAgents(reg prometheus.Registerer) *Agents {
	a := &Agents{
		connected: prometheus.NewDesc("service_agents_connected", "Agents that are connected, by region.", []string{"region"}, nil),
		frames:    prometheus.NewDesc("service_agent_frames_total", "Frames of the agent protocol, by direction.", []string{"direction"}, nil),
		refused:   prometheus.NewDesc("service_agent_refused_total", "Sessions and frames of agents that were refused, by reason.", []string{"reason"}, nil),
		resumes:   prometheus.NewDesc("service_agent_resumes_total", "Sessions that agents took up again.", nil, nil),
		sessions:  prometheus.NewDesc("service_agent_sessions", "Open connections of agents.", nil, nil),
	}
	reg.MustRegister(a)
	return a
}

// Describe implements prometheus.Collector.
func (a *Agents) Describe(ch chan<- *prometheus.Desc) {
	describe(ch, a.connected, a.frames, a.refused, a.resumes, a.sessions)
}

// Collect implements prometheus.Collector. Regions over MaxLabelValues share the label other.
func (a *Agents) Collect(ch chan<- prometheus.Metric) {
	f, ok := a.read()
	if !ok {
		return
	}
	for region, n := range shownRegions(f.Connected) {
		ch <- prometheus.MustNewConstMetric(a.connected, prometheus.GaugeValue, float64(n), region)
	}
	ch <- prometheus.MustNewConstMetric(a.frames, prometheus.CounterValue, float64(f.FramesIn), "in")
	ch <- prometheus.MustNewConstMetric(a.frames, prometheus.CounterValue, float64(f.FramesOut), "out")
	for reason, n := range f.Refused {
		ch <- prometheus.MustNewConstMetric(a.refused, prometheus.CounterValue, float64(n), reason)
	}
	ch <- prometheus.MustNewConstMetric(a.resumes, prometheus.CounterValue, float64(f.Resumes))
	ch <- prometheus.MustNewConstMetric(a.sessions, prometheus.GaugeValue, float64(f.SessionsUp))
}

// shownRegions bounds the label values: the first MaxLabelValues regions by name, and Other for the rest.
// Agents choose their region, so it may also be text that is no label.
func shownRegions(connected map[string]int) map[string]int {
	shown := make(map[string]int, min(len(connected), MaxLabelValues+1))
	for i, region := range slices.Sorted(maps.Keys(connected)) {
		label := strings.ToValidUTF8(region, "\uFFFD")
		if i >= MaxLabelValues {
			label = Other
		}
		shown[label] += connected[region]
	}
	if len(shown) == 0 {
		shown[""] = 0 // a series that is not there looks like a server that is not
	}
	return shown
}
