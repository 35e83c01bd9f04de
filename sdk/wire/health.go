package wire

import "time"

// Health is the state of the service.
type Health struct {
	Status     string            `json:"status" enum:"healthy,degraded,unhealthy"`
	Version    string            `json:"version"`
	Uptime     int64             `json:"uptime" doc:"Seconds."`
	Components *HealthComponents `json:"components,omitempty"`
	Metrics    *HealthMetrics    `json:"metrics,omitempty"`
	Checks     []HealthCheck     `json:"checks,omitempty"`
}

// HealthComponents are the parts of a detailed answer.
type HealthComponents struct {
	Database string       `json:"database" enum:"healthy,degraded,unhealthy" doc:"The store."`
	Redis    string       `json:"redis" enum:"disabled" doc:"No shared bus is configured."`
	Agents   HealthAgents `json:"agents"`
}

// HealthAgents counts agents.
type HealthAgents struct {
	Connected int `json:"connected"`
	Healthy   int `json:"healthy"`
}

// HealthMetrics are the figures of a detailed answer.
type HealthMetrics struct {
	ExecutionsTotal  int64      `json:"executionsTotal"`
	ExecutionsActive int64      `json:"executionsActive"`
	AvgExecutionTime MeanMillis `json:"avgExecutionTime" doc:"Milliseconds."`
}

// HealthCheck is one named check of a detailed answer.
type HealthCheck struct {
	Name     string    `json:"name"`
	Severity string    `json:"severity" enum:"required,degraded,vital" doc:"What its failure means for the whole."`
	Status   string    `json:"status" enum:"ok,degraded,failed"`
	Message  string    `json:"message,omitempty"`
	Hint     string    `json:"hint,omitempty" doc:"What the operator can do."`
	Since    time.Time `json:"since"`
}

// Probe is the answer to a probe. Probes are open to everyone, so they name checks and say nothing more.
type Probe struct {
	Status  string   `json:"status" enum:"ok,unavailable"`
	Reasons []string `json:"reasons,omitempty"`
}
