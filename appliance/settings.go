package appliance

import (
	"github.com/wardroom/wardroom/core/agents"
	"github.com/wardroom/wardroom/core/api"
	"github.com/wardroom/wardroom/core/config"
	"github.com/wardroom/wardroom/core/engine"
	"github.com/wardroom/wardroom/core/store"
)

// Each function picks what one part needs of the configuration.

func engineConfig(c *config.Config) engine.Config {
	return engine.Config{
		MaxActive: c.Engine.MaxActive, MaxActivePerPattern: c.Engine.MaxActivePerPattern,
		MaxQueued: c.Engine.MaxQueued, MaxQueuedBytes: c.Engine.MaxQueuedBytes,
		DefaultTimeout: c.Engine.DefaultTimeout, MaxTimeout: c.Engine.MaxTimeout,
		TaskTimeout: c.Engine.TaskTimeout, TaskRetries: c.Engine.TaskRetries,
		MaxBatchInputs: c.Engine.MaxBatchInputs, PriorityAging: c.Engine.PriorityAging,
		RoleBinding: engine.RoleBinding(c.Engine.RoleBinding), QuestionTimeout: c.Engine.QuestionTimeout,
		MaxActivePerOwner: openLimits(c).Executions,
		RequireConsent:    c.Security.Compliance.ConsentRequired(),
		SanitizeHTML:      c.Security.InputValidation.SanitizesHTML(),
		SanitizeScripts:   c.Security.InputValidation.SanitizesScripts(),
	}
}

func agentsConfig(c *config.Config) agents.Config {
	return agents.Config{
		MaxPerPrincipal:   openLimits(c).Agents,
		HeartbeatInterval: c.Agents.HeartbeatInterval,
		UnhealthyAfter:    c.Agents.UnhealthyAfter,
		DisconnectAfter:   c.Agents.DisconnectAfter,
		ResumeGrace:       c.Agents.ResumeGrace,
		RegisterTimeout:   c.Agents.RegisterTimeout,
		KeepDisconnected:  c.Agents.KeepDisconnected,
		MessagesPerSecond: c.Agents.MessagesPerSecond,
		MaxMessage:        c.Agents.MaxMessage,
		MaxSessions:       c.Agents.MaxSessions,
		Region:            c.Security.Compliance.Residency(),
		MaxSendBytes:      int(c.Agents.SendBuffer),
		TaskTimeout:       c.Engine.TaskTimeout,
	}
}

func apiConfig(c *config.Config) api.Config {
	maxBody, types := c.Server.MaxBody, []string(nil)
	if v := &c.Security.InputValidation; v.Enabled {
		maxBody, types = min(maxBody, v.MaxSize), v.AllowedContentTypes
	}
	return api.Config{
		MaxBody: maxBody, AllowedTypes: types, MaxDefinition: c.Server.MaxDefinition, MaxBatchInputs: c.Engine.MaxBatchInputs,
		Hosts: c.Server.ServedHosts(), CORSOrigins: c.Server.CORS.Origins, MaxStreams: c.Streams.MaxOpen,
		BodyTimeout: c.Server.BodyTimeout, StallTimeout: c.Server.StallTimeout,
		Heartbeat: c.Streams.Heartbeat, StreamMaxAge: c.Streams.MaxAge,
		WriteTimeout: c.Streams.WriteTimeout, MetricsPublic: c.Metrics.Public,
		HSTS: c.Security.Encryption.InTransit.Enabled, AccessLog: c.Log.Access,
		SanitizeHTML: c.Security.InputValidation.SanitizesHTML(), SanitizeScripts: c.Security.InputValidation.SanitizesScripts(),
		RecordReads: c.Security.Compliance.HIPAA.Enabled && c.Security.Compliance.HIPAA.PHI.AccessLogging,
	}
}

// openLimits are what one caller may have open at once.
func openLimits(c *config.Config) config.OpenLimits {
	if !c.Security.RateLimit.Enabled {
		return config.OpenLimits{}
	}
	return c.Security.RateLimit.Open
}

// retention is the policy of the configuration in effect.
func (a *App) retention() store.Policy { return Retention(a.config.Load()) }

// Retention is the policy of a configuration.
func Retention(c *config.Config) store.Policy {
	keep, hooks, age := c.Store.Retention, c.Webhooks.Retention, c.Security.Compliance.ExecutionAge
	return store.Policy{
		Executions: age(keep.Executions), Events: age(keep.Events), Batches: age(keep.Batches), Agents: keep.Agents,
		Idempotency: keep.Idempotency,
		Deliveries:  age(hooks.Age), DeliveriesPerWebhook: hooks.MaxPerEndpoint,
		PendingPerWebhook: c.Webhooks.MaxPending, PendingAge: c.Webhooks.MaxPendingAge,
		WorkspaceBytes: c.Threads.Workspaces.MaxReleasedBytes,
		ExecutionBytes: keep.MaxExecutionBytes, EventBytes: keep.MaxEventBytes, DeliveryBytes: hooks.MaxBytes,
	}
}
