package core

import (
	"context"
	"time"

	"github.com/wardroom/wardroom/sdk/wire"
)

// PrefixAgent begins the ids of connected agents.
const PrefixAgent = "agent_"

// AgentTask is a task of a connected agent.
type AgentTask = wire.AgentTask

// AgentStatus is whether an agent has, or may resume, a session.
type AgentStatus = wire.AgentStatus

// Agent states.
const (
	AgentConnected    = wire.AgentConnected
	AgentDisconnected = wire.AgentDisconnected
)

// Agent is one connected agent as callers see it; values are snapshots.
type Agent struct {
	ID             string          `json:"id"`
	Name           string          `json:"name"`
	Status         AgentStatus     `json:"status"`
	Healthy        bool            `json:"-"` // false after two missed heartbeats, or while its connection is lost
	Capabilities   []string        `json:"capabilities"`
	Region         string          `json:"region,omitempty"`
	ConnectedAt    time.Time       `json:"connectedAt"`
	LastHeartbeat  time.Time       `json:"lastHeartbeat"`
	DisconnectedAt *time.Time      `json:"disconnectedAt,omitempty"`
	Metadata       Metadata        `json:"metadata,omitempty"` // {model, version} and free keys
	MaxTasks       int             `json:"maxTasks"`           // tasks it takes at once
	ActiveTasks    int             `json:"-"`
	HeldUntil      *time.Time      `json:"-"` // while its connection is lost: when its tasks go to others
	Statistics     AgentStatistics `json:"statistics"`
	CreatedBy      string          `json:"createdBy,omitempty"` // who registered it
}

// AgentStatistics counts over the life of the agent's id.
type AgentStatistics struct {
	TasksCompleted int64         `json:"tasksCompleted"` // succeeded and failed
	TasksSucceeded int64         `json:"tasksSucceeded"`
	TasksFailed    int64         `json:"tasksFailed"`
	TotalLatency   time.Duration `json:"totalLatency"` // sum over TasksCompleted, from hand-out to answer
}

// AverageLatency is the mean time from hand-out to answer.
func (s AgentStatistics) AverageLatency() time.Duration {
	if s.TasksCompleted == 0 {
		return 0
	}
	return s.TotalLatency / time.Duration(s.TasksCompleted)
}

// AgentFilter selects agents of a list. Zero values select all.
type AgentFilter struct {
	Status       AgentStatus
	Capabilities []string // all of them
	Region       string
	CreatedBy    string // who registered it
	Page
}

// AgentCounts comes with a list of agents.
type AgentCounts struct {
	Connected    int // of all agents that match the filter
	Disconnected int
	Healthy      int
}

// AgentService knows the connected agents. Methods are safe for concurrent use.
type AgentService interface {
	// FindAgents lists agents, newest connection first. A disconnected agent stays listed for 24 hours.
	FindAgents(ctx context.Context, filter AgentFilter) ([]*Agent, PageInfo, AgentCounts, error)
	// FindAgent returns one agent. NOT_FOUND for an unknown id.
	FindAgent(ctx context.Context, id string) (*Agent, error)
	// AgentTasks returns the tasks that the agent has and the last ones that it was done with since the server started, newest
	// hand-out first. NOT_FOUND for an unknown id.
	AgentTasks(ctx context.Context, id string) ([]AgentTask, error)
	// DisconnectAgent ends the agent's session gracefully and returns the agent with DisconnectedAt.
	// NOT_FOUND for an unknown id; an agent that is disconnected already is returned as it is.
	DisconnectAgent(ctx context.Context, id, reason string) (*Agent, error)
}
