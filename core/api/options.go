package api

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// Access is what authorization is asked with.
type Access = core.Access

// Options are what a Server is made of.
type Options struct {
	Patterns   core.PatternService
	Executions core.ExecutionService
	Timelines  core.TimelineService // of Executions
	Batches    core.BatchService
	Agents     core.AgentService
	// ManagedAgents spawns agents on runtimes; nil: there are no operations of managed agents.
	ManagedAgents core.ManagedAgentService
	// Questions lists and answers what executions ask people; nil: there are no operations of questions.
	Questions core.QuestionService
	// PatternSchema is the JSON Schema of definitions.
	PatternSchema json.RawMessage
	// Drawings draws patterns; nil: there are no operations of drawings.
	Drawings core.DrawingService
	// Overview reads the inbox and the numbers; nil: there are no operations of them.
	Overview core.OverviewService
	// Threads and Memory are managed threads, and what they know; nil: there are no operations of them.
	Threads core.ThreadService
	Memory  core.MemoryService
	// Parts are the nouns that stand by themselves. There are no operations of those that are not among them.
	Parts []Part
	// Audit records what is done and refused; nil: nothing is, and there are no operations of it.
	Audit       core.AuditService
	AgentSocket http.Handler // of GET /api/agents/connect; it upgrades the connection
	Idempotency Idempotency
	Journal     Journal
	Feed        Feed           // nil: there is no stream of all events
	Counts      core.CountFeed // nil: that stream has no numbers

	Health   Health              // nil: always healthy and ready
	Metrics  Metrics             // nil: nothing is counted
	Tracer   core.Tracer         // nil: nothing is traced
	Totals   Totals              // nil: zeros
	Gatherer prometheus.Gatherer // nil: no series
	// AccessLog takes a line of JSON for each request while Config.AccessLog is set, one Write a line, from many goroutines at
	// once; nil: there is none.
	AccessLog io.Writer

	// Authenticate returns who sends a request; nil: everyone is core.Anonymous. Authorize decides whether
	// they may; nil: everyone may. Both return UNAUTHORIZED or FORBIDDEN errors.
	Authenticate func(r *http.Request) (core.Principal, error)
	Authorize    func(ctx context.Context, p core.Principal, a Access) error
	// AuthenticateAgent is Authenticate for connections of agents; nil: Authenticate does it.
	AuthenticateAgent func(r *http.Request) (core.Principal, error)
	// Decide answers the same question with the reason; nil: everything is allowed. It is asked for people who want to know.
	Decide func(ctx context.Context, p core.Principal, a Access) core.Ruling
	// ReadsAll reports whether nothing of a kind is hidden from somebody, whatever it belongs to, so that totals of lists may count
	// all of it; nil: something may be. It must not be true where Decide refuses a single row.
	ReadsAll func(ctx context.Context, p core.Principal, a Access) bool
	// Refresh returns a principal as it is now, or UNAUTHORIZED when its credential is over; Revision changes whenever an
	// answer of Refresh or Authorize may be another. Both are asked about what goes on: streams, terminals and sockets end
	// soon after their caller lost the right to them. Nil: they go on.
	Refresh  func(ctx context.Context, p core.Principal) (core.Principal, error)
	Revision func() uint64
	// SignIn is how people sign in; without Sessions there are no operations of it.
	SignIn SignIn

	// Mask replaces fields of answers and streams for callers who may not read them in clear; nil: none.
	Mask core.Masker
	// Limits decides which requests may go on; nil: all may.
	Limits Limits

	// LimitStall sets how long the reader of a stream may take nothing before its connection ends, 0 for what the listener
	// has for all, by the context of its request; false: this connection has no such limit. Nil: none has.
	LimitStall func(ctx context.Context, limit time.Duration) bool

	Clock   core.Clock
	IDs     core.IDs
	Logger  hclog.Logger
	Version string
	BaseURL string // where clients reach the service, for the OpenAPI document; empty: wherever they asked
	// Prefix goes before the paths of ours that answers and pages lead to: the path of BaseURL, "" for none. Requests come
	// without it.
	Prefix string
	Config Config // zero fields take their defaults
}

// resource describes the noun that a group of routes serves. A route whose resource is not in the table, or that of its Part,
// cannot be declared.
type resource struct {
	category string // of audit records
	// content reports whether what is read holds what was put into executions or came of them. Reading that is recorded at
	// every level where phi.accessLogging says so.
	content bool
	ids     string // prefix of the ids that creating operations make, unless auditIDs has another; empty: none is made
}

var resources = map[string]resource{
	"executions":  {wire.AuditExecutions, true, core.PrefixExecution},
	"batches":     {wire.AuditExecutions, true, ""},
	"threads":     {wire.AuditExecutions, true, core.PrefixThread},
	"decisions":   {wire.AuditExecutions, true, core.PrefixDecision},
	"experiences": {wire.AuditExecutions, true, core.PrefixMemory},
	"events":      {wire.AuditExecutions, true, ""},
	"inbox":       {wire.AuditExecutions, true, ""},
	"agents":      {wire.AuditAgents, true, core.PrefixManaged}, // screens, terminals, logs, events and answers of managed ones

	"patterns": {wire.AuditPatterns, false, ""},
	"runtimes": {wire.AuditAgents, false, ""},
	"sessions": {wire.AuditAuthentication, false, ""},
	"session":  {wire.AuditAdmin, false, ""},
	"health":   {wire.AuditAdmin, false, ""},
	"metrics":  {wire.AuditAdmin, false, ""},
	"openapi":  {wire.AuditAdmin, false, ""},
	"audit":    {wire.AuditAdmin, false, ""}, // reading the trail is recorded in any case
}

// routes returns the table of routes.
func (s *Server) routes() []Route {
	var table []Route
	for _, part := range [][]Route{
		s.patternRoutes(), s.drawingRoutes(), s.executionRoutes(), s.streamRoutes(), s.questionRoutes(), s.batchRoutes(), s.agentRoutes(),
		s.managedAgentRoutes(), s.threadRoutes(), s.decisionRoutes(), s.experienceRoutes(),
		s.authRoutes(), s.sessionRoutes(), s.signInRoutes(),
		s.feedRoutes(), s.auditRoutes(), s.overviewRoutes(), s.healthRoutes(), s.metaRoutes(),
	} {
		table = append(table, part...)
	}
	for _, part := range s.opts.Parts {
		for _, r := range part.routes {
			r.Resource = part.name
			table = append(table, r)
		}
	}
	return table
}
