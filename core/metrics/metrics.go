package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// Metrics is every component's series on one registerer. Values are safe for concurrent use.
type Metrics struct {
	Executions *Executions
	Engine     *Engine
	Agents     *Agents
	HTTP       *HTTP
	Store      *Store
	Config     *Config
	Plugins    *Plugins
	Questions  *Questions
	Threads    *Threads
	Webhooks   *Webhooks
	Schedules  *Schedules
	Triggers   *Triggers

	Connections *Connections
	Access      *Access
	Audit       *Audit
	Secrets     *Secrets
	Traces      *Traces
}

// New makes and registers all series. It panics when reg has one of them already.
func New(reg prometheus.Registerer, build Build) *Metrics {
	registerBuild(reg, build)
	return &Metrics{
		Executions: NewExecutions(reg),
		Engine:     NewEngine(reg),
		Agents:     NewAgents(reg),
		HTTP:       NewHTTP(reg),
		Store:      NewStore(reg),
		Config:     NewConfig(reg),
		Plugins:    NewPlugins(reg),
		Questions:  NewQuestions(reg),
		Threads:    NewThreads(reg),
		Webhooks:   NewWebhooks(reg),
		Schedules:  NewSchedules(reg),
		Triggers:   NewTriggers(reg),

		Connections: NewConnections(reg),
		Access:      NewAccess(reg),
		Audit:       NewAudit(reg),
		Secrets:     NewSecrets(reg),
		Traces:      NewTraces(reg),
	}
}

// observe records how long something took. Times that were stored follow the wall clock: what it was set back within counts
// as none, since the sum of a histogram must not fall.
func observe(o prometheus.Observer, took time.Duration) { o.Observe(max(took, 0).Seconds()) }

// RegisterProcess adds the series of the Go runtime and of the process (CPU, memory, open files).
func RegisterProcess(reg prometheus.Registerer) {
	reg.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
}
