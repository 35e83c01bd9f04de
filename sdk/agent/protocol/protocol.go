// Package protocol is the agent wire protocol, wardroom.agent.v1: the frames that connected agents and the
// control plane exchange over a WebSocket, and their encoding.
//
// It owns the shapes and names on the wire, and nothing of behaviour. core/agents speaks it on the server
// side, sdk/agent on the agent's side; docs/agent-protocol.md explains it to people who write an agent
// without this library.
//
// encoding/json reads and writes all of it. For the frames that pass most, and must cost next to nothing,
// Scanner and the Append functions are what both ends put their own fast paths together from.
package protocol

import (
	"encoding/json"
	"time"

	"github.com/wardroom/wardroom/sdk/wire"
)

// Subprotocol is the WebSocket subprotocol both sides must agree on, and Path is where agents connect.
const (
	Subprotocol = "wardroom.agent.v1"
	Path        = "/api/agents/connect"
)

// Type names a frame.
type Type string

// Frames from an agent.
const (
	TypeRegister     Type = "register"
	TypeTaskProgress Type = "task_progress"
	TypeTaskResult   Type = "task_result"
	TypeTaskError    Type = "task_error"
	TypeMessage      Type = "message"       // both ways
	TypeMessageReply Type = "message_reply" // both ways
	TypeHeartbeat    Type = "heartbeat"
	TypeStatusUpdate Type = "status_update"
	TypeDisconnect   Type = "disconnect"
)

// Frames from the control plane.
const (
	TypeRegistered    Type = "registered"
	TypeTask          Type = "task"
	TypeTaskCancelled Type = "task_cancelled"
	TypeTaskAck       Type = "task_ack"
	TypeHeartbeatAck  Type = "heartbeat_ack"
	TypeConfigUpdate  Type = "config_update"
	TypeError         Type = "error"
)

// Envelope is the outer object of every frame. An answer repeats the ID of the frame it answers.
type Envelope struct {
	Type      Type            `json:"type"`
	ID        string          `json:"id,omitempty"`
	Timestamp time.Time       `json:"timestamp"`
	Payload   json.RawMessage `json:"payload,omitempty"`
}

// Register opens a session. The first frame of an agent, within 10 seconds of connecting.
type Register struct {
	Name         string         `json:"name"`
	Capabilities []string       `json:"capabilities"`
	Region       string         `json:"region,omitempty"`
	Metadata     map[string]any `json:"metadata,omitempty"` // model, version, free keys
	Config       RegisterConfig `json:"config"`
	Resume       *Resume        `json:"resume,omitempty"`
}

// RegisterConfig holds the settings that the agent asks for.
type RegisterConfig struct {
	MaxConcurrentTasks int   `json:"maxConcurrentTasks,omitempty"` // default 1
	TaskTimeout        int64 `json:"taskTimeout,omitempty"`        // milliseconds; 0: the server's default
	// Threads offers to host managed threads. Absent: the agent hosts none.
	Threads *ThreadOffer `json:"threads,omitempty"`
}

// Resume takes up an earlier session after a lost connection or a restart of the control plane.
type Resume struct {
	AgentID string `json:"agentId"`
	Token   string `json:"token"`
	// Tasks lists the ids the agent still works on or holds an unacknowledged answer for. A task that the
	// server believes to be here and that is not listed is sent again. Absent (nil): all are sent again,
	// and the agent drops those it knows by taskId.
	Tasks []string `json:"tasks"`
	// Threads lists the ids of the threads that the agent hosts, and of those with events that were not
	// acknowledged. Absent: none.
	Threads []string `json:"threads,omitempty"`
}

// Registered answers register.
type Registered struct {
	AgentID      string           `json:"agentId"`
	ResumeToken  string           `json:"resumeToken"`
	Resumed      bool             `json:"resumed"` // false: a new agent id, whatever was asked
	Capabilities []string         `json:"capabilities"`
	Config       RegisteredConfig `json:"config"`
}

// RegisteredConfig holds the settings that the server decided on; also the payload of config_update.
type RegisteredConfig struct {
	HeartbeatInterval int64 `json:"heartbeatInterval"`         // milliseconds between heartbeats of the agent
	TaskTimeout       int64 `json:"taskTimeout"`               // milliseconds, default of a task
	MaxMessageBytes   int64 `json:"maxMessageBytes,omitempty"` // largest frame the server takes
	// MessagesPerSecond is how many frames the server takes of the agent, sustained; first reports on tasks are
	// free.
	MessagesPerSecond int `json:"messagesPerSecond,omitempty"`
}

// ConfigUpdate changes the session's config.
type ConfigUpdate struct {
	Config RegisteredConfig `json:"config"`
	Reason string           `json:"reason,omitempty"`
}

// Task hands out work. An agent that knows taskId already must not work twice.
type Task struct {
	TaskID         string          `json:"taskId"`
	ExecutionID    string          `json:"executionId"`
	PatternName    string          `json:"patternName"`
	PatternVersion string          `json:"patternVersion"`
	Capability     string          `json:"capability,omitempty"`
	Role           string          `json:"role,omitempty"`
	Step           string          `json:"step,omitempty"`
	Input          json.RawMessage `json:"input"`
	Config         json.RawMessage `json:"config,omitempty"`
	Timeout        int64           `json:"timeout"` // milliseconds
	Priority       string          `json:"priority"`
	Context        json.RawMessage `json:"context,omitempty"`
	// Attempt is the fencing token: echo it in every report on this task.
	Attempt int `json:"attempt"`
	// Traceparent is the place of the attempt in a trace, as W3C Trace Context has it; "": it is in none.
	Traceparent string `json:"traceparent,omitempty"`
}

// TaskProgress reports progress; exactly one of Text and Data is set. It may be dropped under load.
type TaskProgress struct {
	TaskID string          `json:"taskId"`
	Text   string          `json:"text,omitempty"`
	Data   json.RawMessage `json:"data,omitempty"`
}

// TaskCompleted is the one status of a task_result.
const TaskCompleted = "completed"

// TaskResult delivers an answer. The agent keeps it until task_ack.
type TaskResult struct {
	TaskID      string          `json:"taskId"`
	ExecutionID string          `json:"executionId,omitempty"`
	Status      string          `json:"status,omitempty"` // completed
	Result      json.RawMessage `json:"result"`           // may carry confidence (0 to 1) in an object
	Duration    int64           `json:"duration,omitempty"`
	Metadata    json.RawMessage `json:"metadata,omitempty"`
	Attempt     int             `json:"attempt,omitempty"`
}

// TaskError reports that the agent could not do the task. The agent keeps it until task_ack.
type TaskError struct {
	TaskID      string      `json:"taskId"`
	ExecutionID string      `json:"executionId,omitempty"`
	Error       ErrorDetail `json:"error"`
	Retryable   bool        `json:"retryable"`
	Attempt     int         `json:"attempt,omitempty"`
}

// ErrorDetail is an error as agents tell it.
type ErrorDetail = wire.ErrorDetail

// TaskAck says that the report on a task is durable, or was not needed: the agent may forget the task.
type TaskAck struct {
	TaskID string `json:"taskId"`
}

// TaskCancelled tells the agent to stop working on a task; no report is needed.
type TaskCancelled struct {
	TaskID      string `json:"taskId"`
	ExecutionID string `json:"executionId"`
	Reason      string `json:"reason"`
}

// Message is a message that an agent sends to another role while it works on a task. The envelope's id is required and
// names the message for ever: the same id again is the same message.
type Message struct {
	TaskID      string          `json:"taskId"`
	MessageType string          `json:"messageType"` // question, escalation, task, feedback, or another word
	Topic       string          `json:"topic,omitempty"`
	To          string          `json:"to,omitempty"` // a role; absent: as the org chart routes it
	Content     json.RawMessage `json:"content"`
}

// MessageDelivery is a message frame of the server: what another role, or a person, says to the agent. An agent
// that knows MessageID already must not work twice, but answers again.
type MessageDelivery struct {
	MessageID   string          `json:"messageId"`
	ExecutionID string          `json:"executionId"`
	TaskID      string          `json:"taskId"` // the asker's
	From        string          `json:"from"`   // the asker's role, or user
	MessageType string          `json:"messageType"`
	Topic       string          `json:"topic,omitempty"`
	Content     json.RawMessage `json:"content"`
	WantsReply  bool            `json:"wantsReply"`
}

// MessageReply answers a message. To an agent that asked it comes with the envelope id of its message, and with
// TaskID and From. An agent that was asked sends MessageID and Content; without Content it only tells that a
// message that wants no reply has arrived.
type MessageReply struct {
	MessageID string          `json:"messageId"`
	TaskID    string          `json:"taskId,omitempty"` // the asker's
	From      string          `json:"from,omitempty"`   // the role that answered, or user
	Content   json.RawMessage `json:"content,omitempty"`
}

// Heartbeat statuses.
const (
	StatusHealthy  = "healthy"
	StatusBusy     = "busy"
	StatusDraining = "draining" // finishes what it has, takes no more
)

// Heartbeat keeps the session healthy.
type Heartbeat struct {
	Status      string             `json:"status"`
	ActiveTasks int                `json:"activeTasks"`
	Metrics     map[string]float64 `json:"metrics,omitempty"`
}

// HeartbeatAck answers heartbeat.
type HeartbeatAck struct {
	ServerTime    time.Time `json:"serverTime"`
	NextHeartbeat int64     `json:"nextHeartbeat"` // milliseconds from now
}

// StatusUpdate changes what the agent offers. Absent fields stay as they are.
type StatusUpdate struct {
	Status       string   `json:"status,omitempty"`
	Capabilities []string `json:"capabilities,omitempty"`
	MaxTasks     *int     `json:"maxTasks,omitempty"`
	Reason       string   `json:"reason,omitempty"`
}

// Disconnect ends the session gracefully: tasks are handed to others at once.
type Disconnect struct {
	Reason string `json:"reason,omitempty"`
}

// Error says that a frame was refused. Fatal: the server closes the connection.
type Error struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Fatal   bool   `json:"fatal"`
}
