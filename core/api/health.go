package api

import (
	"cmp"
	"net/http"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

func (s *Server) healthRoutes() []Route {
	const tag, resource = "health", "health"
	get := func(r Route) Route {
		r.Method, r.Tag, r.Resource = http.MethodGet, tag, resource
		r.Action, r.Scope = "health.read", "admin"
		return r
	}
	return []Route{
		get(Route{
			Path: "/api/health", OperationID: "getHealth",
			Summary:     "Tell how the service is; detailed=true adds components, checks and totals.",
			Description: "Answers 200 whatever the status is; probes use ready and live.",
			Query: []Param{{Name: "detailed", Type: ParamBoolean, Default: "false",
				Doc: "Add components, metrics and checks."}},
			Responses: []Response{{Status: 200, Body: wire.Health{}, Doc: "The state of the service."}},
			Public:    metricsPublic, Handle: s.getHealth,
		}),
		get(Route{
			Path: "/api/health/ready", OperationID: "getReady",
			Summary: "Tell whether the service takes traffic.",
			Responses: []Response{
				{Status: 200, Body: wire.Probe{}, Doc: "Ready."},
				{Status: 503, Body: wire.Probe{}, Doc: "Not ready."},
			},
			Public: always, Probe: true, Handle: s.getReady,
		}),
		get(Route{
			Path: "/api/health/live", OperationID: "getLive",
			Summary: "Tell whether the process runs.",
			Responses: []Response{
				{Status: 200, Body: wire.Probe{}, Doc: "Alive."},
				{Status: 503, Body: wire.Probe{}, Doc: "To be restarted."},
			},
			Public: always, Probe: true, Handle: s.getLive,
		}),
	}
}

// storeCheck is the name of the check that components.database shows.
const storeCheck = "store"

func (s *Server) getHealth(c *call) (answer, error) {
	body := wire.Health{
		Version: s.opts.Version,
		Uptime:  int64(s.opts.Clock.Now().Sub(s.started) / time.Second),
	}
	if !c.query.boolean("detailed") {
		body.Status, _, _, _ = s.opts.Health.Inspect(c.ctx, nil)
		return ok(body), nil
	}
	database := "healthy"
	body.Checks = []wire.HealthCheck{}
	body.Status, _, _, _ = s.opts.Health.Inspect(c.ctx,
		func(name, severity, status, message, hint string, since time.Time) {
			body.Checks = append(body.Checks, wire.HealthCheck{
				Name: name, Severity: severity, Status: status, Message: message, Hint: hint, Since: since,
			})
			if name == storeCheck {
				database = cmp.Or(map[string]string{"degraded": "degraded", "failed": "unhealthy"}[status], "healthy")
			}
		})
	_, _, counts, err := s.opts.Agents.FindAgents(c.ctx, core.AgentFilter{Page: core.Page{Limit: 1}})
	if err != nil {
		return answer{}, err
	}
	body.Components = &wire.HealthComponents{
		Database: database, Redis: "disabled",
		Agents: wire.HealthAgents{Connected: counts.Connected, Healthy: counts.Healthy},
	}
	body.Metrics = &wire.HealthMetrics{}
	if s.opts.Totals != nil {
		total, active, mean := s.opts.Totals.Totals()
		body.Metrics = &wire.HealthMetrics{ExecutionsTotal: total, ExecutionsActive: active, AvgExecutionTime: wire.MeanOf(mean)}
	}
	return ok(body), nil
}

func (s *Server) getReady(c *call) (answer, error) {
	var reasons []string
	_, phase, _, ready := s.opts.Health.Inspect(c.ctx, failures(&reasons))
	if phase != "ready" {
		reasons = append(reasons, "the service is "+phase)
	}
	if s.streams.draining() {
		ready = false
		reasons = append(reasons, "the service is stopping")
	}
	return probe(ready, reasons), nil
}

func (s *Server) getLive(c *call) (answer, error) {
	var reasons []string
	_, _, live, _ := s.opts.Health.Inspect(c.ctx, failures(&reasons))
	return probe(live, reasons), nil
}

// failures collects the names of failed checks.
func failures(reasons *[]string) func(name, severity, status, message, hint string, since time.Time) {
	return func(name, _, status, _, _ string, _ time.Time) {
		if status == "failed" {
			*reasons = append(*reasons, "check "+name+" failed")
		}
	}
}

func probe(good bool, reasons []string) answer {
	if good {
		return ok(wire.Probe{Status: "ok"})
	}
	return answer{status: http.StatusServiceUnavailable, retryAfter: retryAfter5,
		body: wire.Probe{Status: "unavailable", Reasons: reasons}}
}
