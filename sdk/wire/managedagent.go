package wire

import (
	"encoding/json"
	"time"
)

// ManagedAgentStatus is where a managed agent is in its life.
type ManagedAgentStatus string

// Managed agent states.
const (
	ManagedStarting ManagedAgentStatus = "starting"
	ManagedReady    ManagedAgentStatus = "ready"
	ManagedBusy     ManagedAgentStatus = "busy"
	// ManagedUnreachable: it runs as far as is known, and neither the service nor its runtime can reach it now. It gets
	// back to another state by itself.
	ManagedUnreachable ManagedAgentStatus = "unreachable"
	ManagedError       ManagedAgentStatus = "error"
	ManagedStopped     ManagedAgentStatus = "stopped"
)

// ManagedAgent is a command-line agent that a runtime spawned.
type ManagedAgent struct {
	ID             string             `json:"id"`
	Name           string             `json:"name"`
	Type           string             `json:"type" example:"claude"`
	Status         ManagedAgentStatus `json:"status" enum:"starting,ready,busy,unreachable,error,stopped" doc:"unreachable: it runs as far as is known, and cannot be reached now."`
	StatusReason   string             `json:"statusReason,omitempty" doc:"blocked: it waits for an answer; login_required: see loginUrl; runtime_away, agent_away: why it is unreachable; else why it is in error or stopped."`
	Runtime        string             `json:"runtime" example:"local"`
	Capabilities   []string           `json:"capabilities"`
	Workdir        string             `json:"workdir,omitempty"`
	PID            int                `json:"pid,omitempty" doc:"Of the command-line tool itself, on a local runtime."`
	ContainerID    string             `json:"containerId,omitempty"`
	PodName        string             `json:"podName,omitempty"`
	ExitCode       *int               `json:"exitCode,omitempty" doc:"128+n after signal n."`
	SessionID      string             `json:"sessionId,omitempty" doc:"Of the tool; resume of a later agent takes it."`
	Prompt         json.RawMessage    `json:"prompt,omitempty" doc:"While it is blocked: {id, kind, text, tool?, input?, options, url?}."`
	LoginURL       string             `json:"loginUrl,omitempty"`
	Turn           int                `json:"turn,omitempty" doc:"Number of the turn that runs, else of the last one."`
	CreatedAt      time.Time          `json:"createdAt"`
	LastActivityAt time.Time          `json:"lastActivityAt"`
	StoppedAt      *time.Time         `json:"stoppedAt,omitempty" doc:"When its process ended."` // or it was never started
	Labels         map[string]string  `json:"labels,omitempty" doc:"Those of its spawn."`
	Usage          *Usage             `json:"usage,omitempty" doc:"What its turns used, as far as it told. Never estimated."`
	LastTurn       *TurnOutcome       `json:"lastTurn,omitempty" doc:"How its last turn ended."`
	ReadyTimeoutMs int64              `json:"readyTimeoutMs,omitempty" doc:"How long it may take from its start until it is ready."` // not stored
}

// Gone reports whether the agent's process has ended for good, unless it is restarted.
func (a *ManagedAgent) Gone() bool { return a.StoppedAt != nil }

// LogLine is one line of an agent's log.
type LogLine struct {
	Timestamp time.Time `json:"timestamp"`
	Stream    string    `json:"stream" enum:"terminal,input,output,event" doc:"terminal: lines that left the screen; input and output: messages and answers; event: what happened."`
	Line      string    `json:"line"`
}

// ManagedAgentMetrics measure a running agent.
type ManagedAgentMetrics struct {
	CPUPercent       float64 `json:"cpuPercent"` // of one core
	MemoryBytes      int64   `json:"memoryBytes"`
	MemoryLimitBytes int64   `json:"memoryLimitBytes"`
	UptimeSeconds    float64 `json:"uptimeSeconds"`
	MessagesSent     int64   `json:"messagesSent"`
	LastResponseMs   int64   `json:"lastResponseMs"`
}

// RuntimeInfo is one configured runtime.
type RuntimeInfo struct {
	Name      string   `json:"name"`
	Priority  int      `json:"priority"` // lower is tried first
	Ready     bool     `json:"ready"`
	Reason    string   `json:"reason,omitempty"` // why it is not ready
	Types     []string `json:"types"`
	Agents    int      `json:"agents"`    // running
	MaxAgents int      `json:"maxAgents"` // 0: no limit
}
