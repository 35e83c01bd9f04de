package metrics

import "github.com/prometheus/client_golang/prometheus"

// Agents counts connected agents and their traffic.
type Agents struct {
	byRegion *bound[prometheus.Gauge]
	frames   *prometheus.CounterVec
	refused  *bound[prometheus.Counter]
	in, out  prometheus.Counter
}

// NewAgents makes service_agents_connected and the series of the agent protocol.
func NewAgents(reg prometheus.Registerer) *Agents {
	connected := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "service_agents_connected", Help: "Agents with a session, by region.",
	}, []string{"region"})
	frames := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "service_agent_frames_total", Help: "Frames of the agent protocol, by direction.",
	}, []string{"direction"})
	refused := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "service_agent_refused_total", Help: "Sessions and frames of agents that were refused, by reason.",
	}, []string{"reason"})
	reg.MustRegister(connected, frames, refused)
	return &Agents{
		byRegion: newBound(MaxLabelValues, func(r string) prometheus.Gauge { return connected.WithLabelValues(r) }),
		refused:  newBound(32, func(r string) prometheus.Counter { return refused.WithLabelValues(r) }),
		frames:   frames,
		in:       frames.WithLabelValues("in"),
		out:      frames.WithLabelValues("out"),
	}
}

// AgentConnected counts an agent in.
func (a *Agents) AgentConnected(region string) { a.byRegion.get(region).Inc() }

// AgentDisconnected counts an agent out; region is the one it connected with.
func (a *Agents) AgentDisconnected(region string) { a.byRegion.get(region).Dec() }

// FrameReceived counts a frame from an agent.
func (a *Agents) FrameReceived() { a.in.Inc() }

// FrameSent counts a frame to an agent.
func (a *Agents) FrameSent() { a.out.Inc() }

// AgentRefused counts a refused session or frame; reason is one short word from a small set.
func (a *Agents) AgentRefused(reason string) { a.refused.get(reason).Inc() }
