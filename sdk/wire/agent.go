package wire

import "time"

// AgentStatus is whether an agent has, or may resume, a session.
type AgentStatus string

// Agent states.
const (
	AgentConnected    AgentStatus = "connected"
	AgentDisconnected AgentStatus = "disconnected"
)

// Agent is a connected agent, or one that was connected within the last 24 hours.
type Agent struct {
	ID             string      `json:"id"`
	Name           string      `json:"name"`
	Status         AgentStatus `json:"status" enum:"connected,disconnected"`
	Healthy        bool        `json:"healthy" doc:"false after two missed heartbeats, and while the connection is lost."`
	Capabilities   []string    `json:"capabilities"`
	Region         string      `json:"region"`
	ConnectedAt    time.Time   `json:"connectedAt"`
	LastHeartbeat  time.Time   `json:"lastHeartbeat"`
	DisconnectedAt *time.Time  `json:"disconnectedAt,omitempty"`
	TasksCompleted int64       `json:"tasksCompleted" doc:"Succeeded and failed."`
	ActiveTasks    int         `json:"activeTasks"`
	MaxTasks       int         `json:"maxTasks" doc:"Tasks it takes at once."`
	Metadata       Metadata    `json:"metadata" doc:"model, version and free keys."`
	CreatedBy      string      `json:"createdBy,omitempty" doc:"Who registered it; the id of its token where it has one."`
}

// AgentStatistics counts over the life of an agent's id.
type AgentStatistics struct {
	TasksCompleted int64      `json:"tasksCompleted" doc:"Succeeded and failed."`
	TasksSucceeded int64      `json:"tasksSucceeded"`
	TasksFailed    int64      `json:"tasksFailed"`
	AverageLatency MeanMillis `json:"averageLatency" doc:"Milliseconds from hand-out to answer."`
	Uptime         int64      `json:"uptime" doc:"Seconds since it connected, or that it was connected."`
}

// AgentTask is a task that a connected agent works on, or was done with.
type AgentTask struct {
	TaskID      string     `json:"taskId"`
	ExecutionID string     `json:"executionId"`
	Pattern     PatternRef `json:"pattern"`
	Step        string     `json:"step,omitempty" doc:"Path of the step; absent for a pattern of a single one."`
	Role        string     `json:"role,omitempty"`
	Attempt     int        `json:"attempt"`
	Status      string     `json:"status" enum:"running,completed,failed,cancelled,lost" doc:"Of this agent's attempt; cancelled: it was taken back, lost: the agent left with it."`
	StartedAt   time.Time  `json:"startedAt" doc:"When it was handed to the agent."`
	EndedAt     *time.Time `json:"endedAt,omitempty" doc:"When the agent answered, or it was taken back or lost."`
}

// AgentDisconnection is the answer to a disconnect.
type AgentDisconnection struct {
	ID             string     `json:"id"`
	Disconnected   bool       `json:"disconnected"`
	DisconnectedAt *time.Time `json:"disconnectedAt"`
}
