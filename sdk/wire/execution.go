package wire

import (
	"encoding/json"
	"time"
)

// ExecutionStatus is the state of an execution. It only ever moves forward: pending, running, and one of the three
// terminal states.
type ExecutionStatus string

// Execution states.
const (
	ExecutionPending   ExecutionStatus = "pending"   // waits for a slot or for agents
	ExecutionRunning   ExecutionStatus = "running"   // the first task was handed out
	ExecutionCompleted ExecutionStatus = "completed" // terminal: has a result
	ExecutionFailed    ExecutionStatus = "failed"    // terminal: has an error
	ExecutionCancelled ExecutionStatus = "cancelled" // terminal: has cancelledAt
)

// Terminal reports whether nothing can happen to the execution any more.
func (s ExecutionStatus) Terminal() bool {
	return s == ExecutionCompleted || s == ExecutionFailed || s == ExecutionCancelled
}

// Priority orders waiting executions. Waiting raises it, so that low never starves.
type Priority string

// Priorities. The empty value means PriorityNormal.
const (
	PriorityLow      Priority = "low"
	PriorityNormal   Priority = "normal"
	PriorityHigh     Priority = "high"
	PriorityCritical Priority = "critical"
)

// ExecuteOptions are the options of an execution.
type ExecuteOptions struct {
	TimeoutMs int64    `json:"timeout,omitempty" check:"min=1" doc:"Milliseconds. Default: the pattern's, else the configured one."`
	Priority  Priority `json:"priority,omitempty" enum:"low,normal,high,critical" doc:"Default: normal."`
	Metadata  Metadata `json:"metadata,omitempty" doc:"Free keys, kept with the execution."`
}

// ExecuteRequest runs a pattern.
type ExecuteRequest struct {
	Input   json.RawMessage `json:"input" doc:"Checked against the pattern's input. Default: {}." example:"{\"text\":\"hello\"}"`
	Options ExecuteOptions  `json:"options,omitzero"`
}

// CancelRequest ends an execution, or the session of an agent.
type CancelRequest struct {
	Reason string `json:"reason,omitempty" check:"max=1024"`
}

// RerunRequest runs an execution again from a step.
type RerunRequest struct {
	FromStep string `json:"fromStep,omitempty" check:"max=256" doc:"Id of the first step to run again. Default: the first without a result."`
}

// ExecutionError is why an execution failed.
type ExecutionError struct {
	Code    Code    `json:"code" enum:"TIMEOUT,NO_AGENTS,AGENT_ERROR,VALIDATION_ERROR,APPROVAL_REJECTED,ESCALATION_FAILED,INTERRUPTED,INTERNAL_ERROR"`
	Message string  `json:"message"`
	Details Details `json:"details,omitempty"`
}

// String returns code and message.
func (e *ExecutionError) String() string { return string(e.Code) + ": " + e.Message }

// SanitizedField describes a text of an input that something was taken out of before anything else was done with it.
type SanitizedField struct {
	Field   string   `json:"field" doc:"Where the text stands, such as input.items[0].text."`
	Removed []string `json:"removed" doc:"html: tags and comments. scripts: what could run."`
}

// AgentResult is what one agent gave to an execution. For a pattern of several steps it is one entry per agent and step.
type AgentResult struct {
	ID     string          `json:"id" doc:"Id of the agent."`
	Name   string          `json:"name,omitempty" doc:"Name of the agent; absent of executions of earlier versions, and of agents that were not known any more."`
	Step   string          `json:"step,omitempty" doc:"Step of a pattern with several."`
	Status string          `json:"status,omitempty" doc:"completed, failed, timeout or cancelled."` // or lost: its agent left
	Result json.RawMessage `json:"result,omitempty" check:"nullable" doc:"An object: text is {text}, and what is no object otherwise {value}."`
}

// WaitReason says what an execution waits for.
type WaitReason string

// Reasons to wait.
const (
	WaitForPeople WaitReason = "people" // an answer to a question
	WaitForAgents WaitReason = "agents" // an agent of a role that has none, and a slot
	WaitForSlot   WaitReason = "slot"   // to go on: it has its answer, and as many as may run at once do
)

// ExecutionWait is why a running execution does nothing now.
type ExecutionWait struct {
	For   WaitReason `json:"for" enum:"people,agents,slot" doc:"An answer of people to a question, agents of a role that has none, or its turn to go on."`
	Since time.Time  `json:"since,omitzero" doc:"Not in lists."`
}

// Execution is one run of one version of a pattern.
type Execution struct {
	ID           string          `json:"id" doc:"The same as executionId."`
	ExecutionID  string          `json:"executionId"`
	Pattern      PatternRef      `json:"pattern"`
	Status       ExecutionStatus `json:"status" enum:"pending,running,completed,failed,cancelled"`
	Input        json.RawMessage `json:"input"`
	Options      ExecuteOptions  `json:"options,omitzero"`
	Result       json.RawMessage `json:"result,omitempty" check:"nullable" doc:"Its shape follows the pattern's output. An object: text is {text}, and what is no object otherwise {value}. null: a vote without a winner. Absent until it is completed."`
	Error        *ExecutionError `json:"error,omitempty"`
	CreatedAt    time.Time       `json:"createdAt"`
	StartedAt    *time.Time      `json:"startedAt,omitempty" doc:"When the first task was handed out."`
	CompletedAt  *time.Time      `json:"completedAt,omitempty"`
	CancelledAt  *time.Time      `json:"cancelledAt,omitempty"`
	CancelReason string          `json:"cancelReason,omitempty"`
	CancelledBy  string          `json:"cancelledBy,omitempty" doc:"Who cancelled it; system where the server did by itself, as of items of a batch."`
	Deadline     time.Time       `json:"deadline,omitzero"`
	Waiting      *ExecutionWait  `json:"waiting,omitempty" doc:"Of a running execution that can only wait: it holds no slot of those that run at once."`
	Duration     Millis          `json:"duration" doc:"Milliseconds since the first task, up to the end."`
	Agents       []AgentResult   `json:"agents"`
	CreatedBy    string          `json:"createdBy,omitempty"`
	BatchID      string          `json:"batchId,omitempty"`
	BatchIndex   *int            `json:"batchIndex,omitempty"`
	RetryOf      string          `json:"retryOf,omitempty" doc:"The execution this one repeats."`
	RerunFrom    string          `json:"rerunFrom,omitempty" doc:"The step a rerun began with."`

	Sanitized []SanitizedField `json:"sanitized,omitempty" doc:"Texts of the input that something was taken out of (security.inputValidation.sanitize), 100 at most."`
	WorkflowOutcome
}

// WorkflowOutcome holds the fields that only an execution of an org chart has. Metrics are those of an ad-hoc one too.
type WorkflowOutcome struct {
	PatternName string           `json:"patternName,omitempty" doc:"Of an org chart, like output, metrics, steps and partial."`
	Output      json.RawMessage  `json:"output,omitempty" check:"nullable" doc:"The same as result."`
	Metrics     *WorkflowMetrics `json:"metrics,omitempty" doc:"Of an ad-hoc execution too."`
	Steps       []WorkflowStep   `json:"steps,omitzero" doc:"At the top level, those that were begun."`
	Partial     bool             `json:"partial,omitempty" doc:"It was ended with what it had, because nobody answered a message."`
}

// WorkflowMetrics measures an execution of an org chart.
type WorkflowMetrics struct {
	Duration      Millis `json:"durationMs"`
	StepsExecuted int    `json:"stepsExecuted" doc:"At the top level, finished."`
	AgentsUsed    int    `json:"agentsUsed" doc:"Distinct agents."`
	Usage         *Usage `json:"usage,omitempty" doc:"Sum over the turns of managed agents, for tasks and for messages of other roles, where they tell; of an ad-hoc execution over its threads. Never estimated."`
}

// WorkflowStep is a step at the top level of an org chart.
type WorkflowStep struct {
	Step     int    `json:"step" doc:"From 0."`
	Type     string `json:"type" enum:"assign,parallel,sequential,review,approve,aggregate,condition"`
	Duration Millis `json:"durationMs"`
}

// ExecutionOutcome is the answer to a synchronous execute.
type ExecutionOutcome struct {
	ID          string          `json:"id" doc:"The same as executionId."`
	ExecutionID string          `json:"executionId"`
	Pattern     PatternRef      `json:"pattern"`
	Status      ExecutionStatus `json:"status" enum:"completed,failed,cancelled"`
	Result      json.RawMessage `json:"result,omitempty" check:"nullable" doc:"Its shape follows the pattern's output. An object: text is {text}, and what is no object otherwise {value}. null: a vote without a winner. Absent of one that failed."`
	Error       *ExecutionError `json:"error,omitempty" doc:"Why it failed."`
	Duration    Millis          `json:"duration" doc:"Milliseconds."`
	WorkflowOutcome
	Agents    []AgentResult    `json:"agents"`
	Sanitized []SanitizedField `json:"sanitized,omitempty" doc:"Texts of the input that something was taken out of, 100 at most."`
}

// ExecutionRow is an execution in a list.
type ExecutionRow struct {
	ID          string          `json:"id" doc:"The same as executionId."`
	ExecutionID string          `json:"executionId"`
	Pattern     string          `json:"pattern" doc:"Name of the pattern."`
	Version     string          `json:"version" doc:"Version of the pattern."`
	Status      ExecutionStatus `json:"status" enum:"pending,running,completed,failed,cancelled"`
	CreatedAt   time.Time       `json:"createdAt"`
	StartedAt   *time.Time      `json:"startedAt,omitempty"`
	CompletedAt *time.Time      `json:"completedAt,omitempty"`
	Waiting     *ExecutionWait  `json:"waiting,omitempty" doc:"Of a running execution that can only wait."`
	Duration    Millis          `json:"duration" doc:"Milliseconds."`

	Priority      Priority          `json:"priority,omitempty" enum:"low,normal,high,critical" doc:"Absent: normal."`
	BatchID       string            `json:"batchId,omitempty"`
	ErrorCode     Code              `json:"errorCode,omitempty" doc:"Why it failed."`
	CreatedBy     string            `json:"createdBy,omitempty"`
	Metadata      map[string]string `json:"metadata,omitempty" doc:"What lists select by: texts, numbers and booleans of up to 256 bytes, 32 at most."`
	OpenQuestions int               `json:"openQuestions,omitempty" doc:"Questions that wait for an answer of people."`
	AgentNames    []string          `json:"agentNames,omitempty" doc:"Of the agents that worked on it, or do: the first three. Absent of executions that ended before this version."`
	AgentCount    int               `json:"agentCount,omitempty" doc:"How many distinct agents those are."`
}

// ExecutionAccepted is the answer to an execute that is not waited for.
type ExecutionAccepted struct {
	ID          string          `json:"id" doc:"The same as executionId."`
	ExecutionID string          `json:"executionId"`
	Status      ExecutionStatus `json:"status" enum:"pending"`
	StatusURL   string          `json:"statusUrl"`

	Sanitized []SanitizedField `json:"sanitized,omitempty" doc:"Texts of the input that something was taken out of, 100 at most."`
}

// ExecutionCancellation is the answer to a cancel.
type ExecutionCancellation struct {
	ExecutionID string          `json:"executionId"`
	Status      ExecutionStatus `json:"status" enum:"cancelled"`
	CancelledAt *time.Time      `json:"cancelledAt"`
}

// ExecutionRetried is the answer to a retry or a rerun.
type ExecutionRetried struct {
	OriginalExecutionID string          `json:"originalExecutionId"`
	NewExecutionID      string          `json:"newExecutionId"`
	Status              ExecutionStatus `json:"status" enum:"pending"`
	StatusURL           string          `json:"statusUrl"`
}

// ExecutionHistogram counts executions by when they were made.
type ExecutionHistogram struct {
	Since   time.Time       `json:"since"`
	Until   time.Time       `json:"until"`
	StepMs  int64           `json:"stepMs" doc:"Length of a step in milliseconds; the last one may be shorter."`
	Total   int             `json:"total" doc:"Sum of the steps."`
	AtLeast bool            `json:"totalAtLeast,omitempty" doc:"Counts are lower bounds: there are many, and counting ended there."`
	Steps   []HistogramStep `json:"steps" doc:"Oldest first, without those in which nothing was made."`
}

// HistogramStep counts what was made in a step of time.
type HistogramStep struct {
	At     time.Time `json:"at" doc:"When it began."`
	Count  int       `json:"count"`
	Failed int       `json:"failed" doc:"Of them, those that failed."`
}
