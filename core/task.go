package core

import (
	"encoding/json"
	"time"
)

// Task is one piece of work for one agent, as the engine hands it to the agents package.
type Task struct {
	ID             string
	ExecutionID    string
	PatternName    string
	PatternVersion string
	Step           string // step path; empty for a pattern of a single step
	Capability     string // the first required capability, for the agent to route on
	Role           string
	Input          json.RawMessage
	Config         json.RawMessage // resolved pattern config; may hold secrets: never stored or logged
	Timeout        time.Duration
	Priority       Priority
	Context        json.RawMessage // earlier results and the execution's metadata
	// Attempt is the fencing token: it rises each time the task is handed to another agent. A report that
	// carries a lower one is recorded and ignored.
	Attempt int
}

// TaskNeed says which agents a step needs.
type TaskNeed struct {
	Capabilities []string
	Prefer       AgentPreference
	Exclude      map[string]bool // agent ids not to be taken
}

// AgentPreference ranks agents that are otherwise equal.
type AgentPreference struct {
	Region string   `json:"region,omitempty"`
	Names  []string `json:"names,omitempty"`
	Model  string   `json:"model,omitempty"`
}

// TaskReport is what an agent says about a task.
type TaskReport struct {
	AgentID     string
	AgentName   string
	TaskID      string
	ExecutionID string
	Attempt     int             // 0 when the agent did not echo it: any attempt of this agent
	Result      json.RawMessage // of task_result
	Err         *TaskError      // of task_error, else nil
	Duration    time.Duration   // as the agent measured it; 0 if it did not say
	// Settled is called exactly once, when the report is durable or was found to be late, double or
	// unknown: the agent may forget the task. It is never called for a report that could not be stored, so
	// that the agent sends it again.
	Settled func()
}

// TaskError is an agent's report that it could not do a task.
type TaskError struct {
	Code      string         `json:"code"`
	Message   string         `json:"message"`
	Details   map[string]any `json:"details,omitempty"`
	Retryable bool           `json:"-"`
}

// TaskDispatcher is what the engine needs of the connected agents. Methods never block on the network and
// are safe for concurrent use.
type TaskDispatcher interface {
	// Reserve takes one task slot on each of up to n distinct agents that fit the need, and returns their
	// ids; fewer than n when the others are busy. A reserved slot is used by Dispatch or given back by
	// Release.
	Reserve(need TaskNeed, n int) []string
	// CountCapable counts the agents that fit the need, whether busy or not. An agent whose connection is
	// lost counts until its grace ends.
	CountCapable(need TaskNeed) int
	// Dispatch sends the task to an agent with a reserved slot. When the agent's connection is lost it is
	// sent after a resume. It returns false when the agent is gone for good: the slot is gone with it.
	Dispatch(agentID string, task Task) bool
	// Adopt tells that the stored journal has this task at this agent from before a restart. The agent is
	// given the grace of a lost connection to resume; then TaskSink.AgentLost is called. On a resume the
	// task is sent again unless the agent says that it still has it. It returns false when no such agent
	// is known.
	Adopt(agentID string, task Task) bool
	// Release gives back the slot of a task that was reported or is given up. With a non-empty cancel the
	// agent is told to stop work, with that reason.
	Release(agentID, taskID, cancel string)
}

// TaskSink is what the agents package needs of the engine. Methods do not block.
type TaskSink interface {
	// TaskReported hands over a result or an error.
	TaskReported(report TaskReport)
	// TaskProgressed hands over progress; data is the agent's JSON {text} or {data}.
	TaskProgressed(agentID, taskID string, data json.RawMessage)
	// AgentLost tells that an agent is gone for good (disconnected, or grace over); its tasks are to be
	// reassigned.
	AgentLost(agentID string, taskIDs []string)
	// CapacityChanged tells that an agent joined, or has a free slot it did not have.
	CapacityChanged()
}
