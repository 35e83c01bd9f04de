package api

import (
	"cmp"
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/wardroom/wardroom/core"
)

// Idempotency keeps the claimed keys. core.Store is one.
type Idempotency interface {
	core.IdempotencyReader
	Update(ctx context.Context, fn func(tx core.Tx) error) error
}

// Journal reads the stored events of a subject or a group. core.Store is one.
type Journal interface {
	Events(ctx context.Context, subject string, after uint64, limit int) (page []core.Event, more bool, err error)
	// EventsBefore goes the other way: the newest first.
	EventsBefore(ctx context.Context, subject string, before uint64, limit int) (page []core.Event, more bool, err error)
	// LastSeq returns the sequence of the newest committed event of all.
	LastSeq() uint64
}

// Health says how the process is. *health.Registry is one.
type Health interface {
	// Inspect hands each check's state to visit, which may be nil, and returns the verdict (healthy,
	// degraded, unhealthy), the phase (starting, ready, stopping), and whether the process is live and
	// ready for traffic.
	Inspect(
		ctx context.Context,
		visit func(name, severity, status, message, hint string, since time.Time),
	) (verdict, phase string, live, ready bool)
}

// Metrics counts requests and streams. *metrics.HTTP is one.
type Metrics interface {
	// Route returns the observer of one operation; a negative time means that only the count matters.
	Route(operation string) func(status int, took time.Duration)
	StreamOpened()
	StreamClosed()
	StreamDropped(reason string)
	Panicked()
}

// Totals sums up the executions for the detailed health. *metrics.Executions is one.
type Totals interface {
	// Totals returns the executions ever stored, those not over, and the mean duration of those over.
	Totals() (total, active int64, mean time.Duration)
}

// Server serves the API. It starts nothing by itself; it is safe for concurrent use.
type Server struct {
	opts    Options
	log     hclog.Logger
	config  atomic.Pointer[Config]
	started time.Time
	engine  *gin.Engine
	table   []*boundRoute
	// resources are those of all routes, by name.
	resources map[string]resource

	versionHeader []string
	document      []byte // the OpenAPI document
	metricsText   http.Handler
	flights       flights
	hooks         hookGate
	bodies        bodyGate
	narrow        narrowCounts
	refusals      refusals
	editing       editing
	streams       *streamSet
	watches       watches
	tickets       tickets    // of terminals
	frames        frameCache // of executions
	agentFrames   frameCache // of managed agents
	threadFrames  frameCache
	actions       map[string]action // by name
	unmatched     *boundRoute
	refused       *boundRoute
}

// boundRoute is a route on its way through this server.
type boundRoute struct {
	Route
	paramNames []string
	observe    func(status int, took time.Duration)
}

// New makes a server. It panics when a service is missing or the route table is unsound: both are
// mistakes in the program, not in its input.
func New(o Options) *Server {
	if o.Patterns == nil || o.Executions == nil || o.Batches == nil || o.Agents == nil ||
		o.Idempotency == nil || o.Journal == nil || o.Clock == nil || o.IDs == nil {
		panic("api: New needs all services, the idempotency keys, the journal, the clock and the ids")
	}
	o.Logger = cmp.Or(o.Logger, hclog.NewNullLogger())
	o.Health = cmp.Or[Health](o.Health, alwaysHealthy{})
	o.Metrics = cmp.Or[Metrics](o.Metrics, noMetrics{})
	o.Tracer = cmp.Or[core.Tracer](o.Tracer, core.NoTracer{})
	if o.Gatherer == nil {
		o.Gatherer = prometheus.NewRegistry()
	}
	s := &Server{
		opts: o, log: o.Logger.Named("api"), started: o.Clock.Now(),
		versionHeader: []string{o.Version},
		metricsText:   metricsHandler(o.Gatherer),
	}
	s.ApplyConfig(o.Config)
	s.streams = newStreamSet(s)
	routes := s.routes()
	var err error
	if s.resources, err = resourcesOf(o.Parts); err == nil {
		err = checkRoutes(routes, s.resources)
	}
	if err != nil {
		panic("api: " + err.Error())
	}
	s.actions = actionsOf(routes)
	s.document = renderDocument(routes, document{version: o.Version, baseURL: o.BaseURL, open: o.Authenticate == nil, sessions: o.SignIn.Sessions != nil, secure: o.SignIn.Secure})
	s.buildRouter(routes)
	return s
}

// ApplyConfig replaces the configuration; requests under way keep the one they began with, but for
// streams, which take up a new heartbeat and age at their next heartbeat.
func (s *Server) ApplyConfig(c Config) {
	c = c.withDefaults()
	s.config.Store(&c)
}

// Handler returns the handler to be mounted at the root of a listener.
func (s *Server) Handler() http.Handler { return s }

// Drain refuses new streams and ends those that are open: each reader gets a last comment and a clean end,
// and comes back elsewhere or later. It does not wait; Close does.
func (s *Server) Drain() { s.streams.drain() }

// Close drains and waits until the last stream has ended. A reader that takes nothing holds it up for Config.WriteTimeout
// at most, unless the listener ends its connection before.
func (s *Server) Close() {
	s.Drain()
	s.streams.wait()
	s.logRepeated(s.refusals.rest())
}

// noMetrics counts nothing.
type noMetrics struct{}

func (noMetrics) Route(string) func(int, time.Duration) { return func(int, time.Duration) {} }
func (noMetrics) StreamOpened()                         {}
func (noMetrics) StreamClosed()                         {}
func (noMetrics) StreamDropped(string)                  {}
func (noMetrics) Panicked()                             {}

// alwaysHealthy is the health of a process without checks.
type alwaysHealthy struct{}

func (alwaysHealthy) Inspect(
	context.Context, func(name, severity, status, message, hint string, since time.Time),
) (verdict, phase string, live, ready bool) {
	return "healthy", "ready", true, true
}
