package core

import (
	"encoding/json"
	"time"

	"github.com/wardroom/wardroom/sdk/wire"
)

// PrefixTask begins the ids of tasks.
const PrefixTask = "task_"

// TaskDetail is a task as people read it.
type TaskDetail = wire.Task

// StepDetail is a step of a workflow as people read it.
type StepDetail = wire.ExecutionStep

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
	Config         json.RawMessage // of the pattern, with references in place of secrets
	Secrets        bool            // Config refers to secrets, which the agents package puts in as it sends the task
	Timeout        time.Duration
	Priority       Priority
	Context        json.RawMessage // earlier results and the execution's metadata
	// Trace is the place of the attempt, for the agent to go on with.
	Trace TraceContext
	// Attempt is the fencing token: it rises each time the task is handed to another agent. A report that
	// carries a lower one is recorded and ignored.
	Attempt int
}

// Assignment is one task at one agent, as events tell of it.
type Assignment struct {
	TaskID  string `json:"taskId"`
	AgentID string `json:"agentId"`
	Attempt int    `json:"attempt"`
}

// TaskNeed says which agents a step needs.
type TaskNeed struct {
	Capabilities []string
	Prefer       AgentPreference
	Exclude      map[string]bool // agent ids not to be taken
}

// AgentPreference ranks agents that are otherwise equal.
type AgentPreference struct {
	Region string   `json:"region,omitempty" doc:"Region of the agents."`
	Names  []string `json:"names,omitempty" check:"max=1000" doc:"Names of agents."`
	Model  string   `json:"model,omitempty" doc:"Model of the agents."`
}

// TaskReport is the report of an agent about a task.
type TaskReport struct {
	AgentID     string
	AgentName   string
	TaskID      string
	ExecutionID string
	Attempt     int             // 0 when the agent did not echo it: any attempt of this agent
	Result      json.RawMessage // of task_result
	Err         *TaskError      // of task_error, else nil
	Duration    time.Duration   // as the agent measured it; 0 if it did not say
	Usage       *wire.Usage     // of the turn of a managed agent, where it tells; also of one that failed
	// Settled is called exactly once, when the report is durable or was found to be late, double or
	// unknown: the agent may forget the task. It is never called for a report that could not be stored, so
	// that the agent sends it again.
	Settled func()
}

// TaskError is an agent's report that it could not do a task.
type TaskError struct {
	Code      string
	Message   string
	Details   map[string]any
	Retryable bool
}

// TaskDispatcher is the interface of the connected agents to the engine. Methods never block on the network and
// are safe for concurrent use.
type TaskDispatcher interface {
	// Reserve takes one task slot on each of up to n distinct agents that fit the need, and returns their
	// ids; fewer than n when the others are busy. A reserved slot is used by Dispatch or given back by
	// Release.
	Reserve(need TaskNeed, n int) []string
	// CountCapable counts the agents that fit the need, whether busy or not. An agent whose connection is
	// lost counts until its grace ends.
	CountCapable(need TaskNeed) int
	// Slots returns how many tasks each agent that CountCapable counts takes at once, whether busy or not.
	Slots(need TaskNeed) map[string]int
	// Hold takes one slot of this very agent, which served a role before a restart, for tasks to come. It is
	// given the grace of a lost connection to resume; then TaskSink.AgentLost is called. It returns false when
	// no such agent is known. The slot may be beyond what the agent offers now.
	Hold(agentID string) bool
	// AgentName returns the name under which the agent registered, or "" for one that is not known.
	AgentName(agentID string) string
	TaskCarrier
}

// TaskCarrier brings tasks and messages to agents that the engine holds a slot of. The connected agents and
// those spawned for roles have one each. Methods never block on the network and are safe for concurrent use.
type TaskCarrier interface {
	// Dispatch sends the task to an agent with a reserved slot. When the agent's connection is lost it is
	// sent after a resume. It returns false when the agent is gone for good: the slot is gone with it.
	Dispatch(agentID string, task Task) bool
	// Adopt reports that the stored journal has this task at this agent from before a restart. The agent is
	// given the grace of a lost connection to resume; then TaskSink.AgentLost is called. On a resume the
	// task is sent again unless the agent lists it as one that it has; a further attempt is sent in any case, as the
	// agent may have the one before. It returns false when no such agent is known.
	Adopt(agentID string, task Task) bool
	// Release gives back the slot of a task that was reported or is given up. With a non-empty cancel the
	// agent is told to stop work, with that reason. An unknown or empty taskID gives back a reserved slot that
	// holds no task.
	Release(agentID, taskID, cancel string)
	// Keep ends a task like Release, but its slot stays reserved for the next.
	Keep(agentID, taskID, cancel string)
	// Ask sends a message that another role or a person wrote. An agent drops a MessageID that it knows. When
	// the connection is lost it is sent after a resume. False when the agent is gone for good.
	Ask(agentID string, m AgentMessage) bool
	// Reply sends the answer to a message of the agent, like Ask. An agent drops a MessageID that it knows.
	Reply(agentID string, r AgentReply) bool
}

// AgentMessage is a message to an agent.
type AgentMessage struct {
	MessageID   string // msg_ id
	ExecutionID string
	TaskID      string // of the asker
	From        string // role of the asker, or user
	MessageType string
	Topic       string
	Content     json.RawMessage
	WantsReply  bool
}

// AgentReply is the answer to a message of an agent.
type AgentReply struct {
	MessageID string // msg_ id
	AskID     string // the agent's own id of its message: the envelope's id of a frame, the id of a prompt
	TaskID    string
	From      string // role that answered, or user
	Content   json.RawMessage
}

// TaskMessage is a message that an agent sends to another role while it works on a task.
type TaskMessage struct {
	AgentID     string
	TaskID      string
	AskID       string // the agent's own id of the message; a repeat with the same one is the same message
	Kind        QuestionKind
	MessageType string // question, escalation, task, feedback, or another word
	Topic       string
	To          string // role; "" as the chart routes it
	Content     json.RawMessage
	Options     []QuestionOption // of a spawned agent's prompt
	URL         string           // of a login
	// Refuse is called at most once, when the message goes nowhere, with the reason, which the agent gets.
	Refuse func(err *Error)
}

// MessageReply is an agent's answer to an AgentMessage.
type MessageReply struct {
	AgentID   string
	MessageID string
	Content   json.RawMessage
	Refuse    func(err *Error) // as in TaskMessage
}

// TaskSink is the interface of the engine to the connected agents. Methods do not block.
//
// It has many methods because each thing that an agent may say has one, and they come in one order.
type TaskSink interface {
	// TaskReported hands over a result or an error.
	TaskReported(report TaskReport)
	// TaskProgressed hands over progress; data is the agent's JSON {text} or {data}.
	TaskProgressed(agentID, taskID string, data json.RawMessage)
	// AgentLost reports that an agent is gone for good (disconnected, or grace over); its tasks are to be
	// reassigned. It is called for every such agent, with or without tasks.
	AgentLost(agentID string, taskIDs []string)
	// MessageReceived hands over a message of an agent. From a spawned agent it may be a prompt.
	MessageReceived(m TaskMessage)
	// MessageReplied hands over an agent's answer to a message.
	MessageReplied(r MessageReply)
	// MessageWithdrawn reports that an agent needs no answer to its message any more, as when its prompt was
	// answered in the terminal.
	MessageWithdrawn(agentID, taskID, askID string)
	// CapacityChanged reports that an agent joined, or has a free slot it did not have.
	CapacityChanged()
}
