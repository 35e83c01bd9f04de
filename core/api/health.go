package api

import (
	"net/http"
	"time"

	"github.com/wardroom/wardroom/core"
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
			Responses: []Response{{Status: 200, Body: healthBody{}, Doc: "The state of the service."}},
			Public:    metricsPublic, Handle: s.getHealth,
		}),
		get(Route{
			Path: "/api/health/ready", OperationID: "getReady",
			Summary: "Tell whether the service takes traffic.",
			Responses: []Response{
				{Status: 200, Body: probeBody{}, Doc: "Ready."},
				{Status: 503, Body: probeBody{}, Doc: "Not ready."},
			},
			Public: always, Probe: true, Handle: s.getReady,
		}),
		get(Route{
			Path: "/api/health/live", OperationID: "getLive",
			Summary: "Tell whether the process runs.",
			Responses: []Response{
				{Status: 200, Body: probeBody{}, Doc: "Alive."},
				{Status: 503, Body: probeBody{}, Doc: "To be restarted."},
			},
			Public: always, Probe: true, Handle: s.getLive,
		}),
	}
}

type healthBody struct {
	Status     string            `json:"status" enum:"healthy,degraded,unhealthy"`
	Version    string            `json:"version"`
	Uptime     int64             `json:"uptime" doc:"Seconds."`
	Components *healthComponents `json:"components,omitempty"`
	Metrics    *healthMetrics    `json:"metrics,omitempty"`
	Checks     []healthCheck     `json:"checks,omitempty"`
}

type healthComponents struct {
	Database string       `json:"database" enum:"healthy,degraded,unhealthy" doc:"The store."`
	Redis    string       `json:"redis" enum:"disabled" doc:"No shared bus is configured."`
	Agents   healthAgents `json:"agents"`
}

type healthAgents struct {
	Connected int `json:"connected"`
	Healthy   int `json:"healthy"`
}

type healthMetrics struct {
	ExecutionsTotal  int64   `json:"executionsTotal"`
	ExecutionsActive int64   `json:"executionsActive"`
	AvgExecutionTime float64 `json:"avgExecutionTime" doc:"Milliseconds."`
}

type healthCheck struct {
	Name     string    `json:"name"`
	Severity string    `json:"severity" enum:"required,degraded,vital" doc:"What its failure means for the whole."`
	Status   string    `json:"status" enum:"ok,degraded,failed"`
	Message  string    `json:"message,omitempty"`
	Hint     string    `json:"hint,omitempty" doc:"What the operator can do."`
	Since    timestamp `json:"since"`
}

type probeBody struct {
	Status  string   `json:"status" enum:"ok,unavailable"`
	Reasons []string `json:"reasons,omitempty"`
}

// storeCheck is the name of the check that components.database shows.
const storeCheck = "store"

func (s *Server) getHealth(c *call) (answer, error) {
	body := healthBody{
		Version: s.opts.Version,
		Uptime:  int64(s.opts.Clock.Now().Sub(s.started) / time.Second),
	}
	if !c.query.boolean("detailed") {
		body.Status, _, _, _ = s.opts.Health.Inspect(c.ctx, nil)
		return ok(body), nil
	}
	database := "healthy"
	body.Checks = []healthCheck{}
	body.Status, _, _, _ = s.opts.Health.Inspect(c.ctx,
		func(name, severity, status, message, hint string, since time.Time) {
			body.Checks = append(body.Checks, healthCheck{name, severity, status, message, hint, timestamp(since)})
			if name == storeCheck {
				database = map[string]string{"degraded": "degraded", "failed": "unhealthy"}[status]
				if database == "" {
					database = "healthy"
				}
			}
		})
	_, _, counts, err := s.opts.Agents.FindAgents(c.ctx, core.AgentFilter{Page: core.Page{Limit: 1}})
	if err != nil {
		return answer{}, err
	}
	body.Components = &healthComponents{
		Database: database, Redis: "disabled",
		Agents: healthAgents{Connected: counts.Connected, Healthy: counts.Healthy},
	}
	body.Metrics = &healthMetrics{}
	if s.opts.Totals != nil {
		total, active, mean := s.opts.Totals.Totals()
		body.Metrics = &healthMetrics{total, active, float64(mean) / float64(time.Millisecond)}
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

// failures collects the names of failed checks. Probes are open to everyone, so they name checks and say
// nothing more.
func failures(reasons *[]string) func(name, severity, status, message, hint string, since time.Time) {
	return func(name, _, status, _, _ string, _ time.Time) {
		if status == "failed" {
			*reasons = append(*reasons, "check "+name+" failed")
		}
	}
}

func probe(good bool, reasons []string) answer {
	if good {
		return ok(probeBody{Status: "ok"})
	}
	return answer{status: http.StatusServiceUnavailable, retryAfter: retryAfter5,
		body: probeBody{Status: "unavailable", Reasons: reasons}}
}
