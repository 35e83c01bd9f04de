package core

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/wardroom/wardroom/sdk/wire"
)

// PrefixExecution begins the ids of executions.
const PrefixExecution = "exec_"

// What is public of executions as it is stored.
type (
	ExecutionStatus = wire.ExecutionStatus
	Priority        = wire.Priority
	ExecuteOptions  = wire.ExecuteOptions
	ExecutionError  = wire.ExecutionError
	ExecutionWait   = wire.ExecutionWait
	WaitReason      = wire.WaitReason
	AgentResult     = wire.AgentResult
	StepReport      = wire.WorkflowStep
	Metadata        = wire.Metadata
	SanitizedField  = wire.SanitizedField
)

// Execution states, priorities, and reasons to wait.
const (
	ExecutionPending   = wire.ExecutionPending
	ExecutionRunning   = wire.ExecutionRunning
	ExecutionCompleted = wire.ExecutionCompleted
	ExecutionFailed    = wire.ExecutionFailed
	ExecutionCancelled = wire.ExecutionCancelled

	PriorityLow      = wire.PriorityLow
	PriorityNormal   = wire.PriorityNormal
	PriorityHigh     = wire.PriorityHigh
	PriorityCritical = wire.PriorityCritical

	WaitForPeople = wire.WaitForPeople
	WaitForAgents = wire.WaitForAgents
	WaitForSlot   = wire.WaitForSlot
)

// ExecutionStatuses lists every state, in the order of life.
var ExecutionStatuses = []ExecutionStatus{
	ExecutionPending, ExecutionRunning, ExecutionCompleted, ExecutionFailed, ExecutionCancelled,
}

// Priorities lists every priority, lowest first.
var Priorities = []Priority{PriorityLow, PriorityNormal, PriorityHigh, PriorityCritical}

// Execution is one run of one version of a pattern.
type Execution struct {
	ID        string            `json:"id"`
	Pattern   PatternRef        `json:"pattern"`
	Hash      string            `json:"hash"`           // hash of the definition it runs
	Pins      map[string]string `json:"pins,omitempty"` // composed patterns: "name@range" to definition hash
	Status    ExecutionStatus   `json:"status"`
	Input     json.RawMessage   `json:"input"`
	Options   ExecuteOptions    `json:"options"`
	Result    json.RawMessage   `json:"result,omitempty"`
	Error     *ExecutionError   `json:"error,omitempty"`
	Agents    []AgentResult     `json:"agents,omitempty"`
	CreatedBy string            `json:"createdBy,omitempty"`

	CreatedAt   time.Time  `json:"createdAt"`
	StartedAt   *time.Time `json:"startedAt,omitempty"` // first task handed out
	CompletedAt *time.Time `json:"completedAt,omitempty"`
	CancelledAt *time.Time `json:"cancelledAt,omitempty"`
	Deadline    time.Time  `json:"deadline"`

	CancelReason string          `json:"cancelReason,omitempty"`
	CancelledBy  string          `json:"cancelledBy,omitempty"` // principal; System.ID for ourselves
	BatchID      string          `json:"batchId,omitempty"`
	BatchIndex   int             `json:"batchIndex,omitempty"`
	RetryOf      string          `json:"retryOf,omitempty"`   // the execution this one repeats
	Workflow     *WorkflowReport `json:"workflow,omitempty"`  // of an org chart, once it is over
	RerunFrom    string          `json:"rerunFrom,omitempty"` // step id, for a rerun
	Chart        bool            `json:"chart,omitempty"`     // it runs an org chart; set from its start
	// Waiting is set while it runs and does nothing but wait: it has given back its slot of those that run at once.
	Waiting *ExecutionWait `json:"waiting,omitempty"`
	// Sanitized are the texts of Input that something was taken out of before it was stored.
	Sanitized []SanitizedField `json:"sanitized,omitempty"`
	AdHoc     bool             `json:"adHoc,omitempty"` // it runs no pattern: it lives as long as its threads
	// Trace is its own place in a trace, as a traceparent has it, and TraceParent the span that it is part of, in hex.
	Trace       string `json:"trace,omitempty"`
	TraceParent string `json:"traceParent,omitempty"`

	OpenQuestions int `json:"-"` // of a row of a list: questions that wait for an answer
	// Team is, of a row of a list, which agents worked on it.
	Team Team `json:"-"`

	encoded []byte // by SetEncoded
}

// MaxTeamNames bounds the names of a Team.
const MaxTeamNames = 3

// Team is a bounded account of the agents that work on an execution, or did.
type Team struct {
	Count int      // distinct agents
	Names []string // of the first of them, MaxTeamNames at most; the id of one whose name is not known
}

// Add takes in an agent that is not in it yet.
func (t *Team) Add(id, name string) {
	if t.Count++; len(t.Names) < MaxTeamNames {
		t.Names = append(t.Names, cmp.Or(name, id))
	}
}

// TeamOf returns the agents of results, in their order.
func TeamOf(list []AgentResult) (t Team) {
	seen := make(map[string]struct{}, len(list))
	for _, a := range list {
		if _, ok := seen[a.ID]; !ok {
			seen[a.ID] = struct{}{}
			t.Add(a.ID, a.Name)
		}
	}
	return t
}

// SetEncoded gives the record its JSON as it is stored, so that the one goroutine that writes for everybody need not make
// it. Neither the record nor the JSON may change afterwards.
func (e *Execution) SetEncoded(encoded []byte) { e.encoded = encoded }

// Encoded returns the JSON that SetEncoded gave; nil for none.
func (e *Execution) Encoded() []byte { return e.encoded }

// WorkflowReport describes the steps of an execution of an org chart.
type WorkflowReport struct {
	Steps         []StepReport `json:"steps"`             // at the top level, those that were begun
	StepsExecuted int          `json:"stepsExecuted"`     // at the top level, finished
	AgentsUsed    int          `json:"agentsUsed"`        // distinct
	Partial       bool         `json:"partial,omitempty"` // it was ended with what it had: return_best_effort
	Usage         *wire.Usage  `json:"usage,omitempty"`   // sum over the turns of managed agents that told; never estimated
}

// Duration returns how long the execution ran, from its first task to its end, or to now while it runs.
// It is zero before the first task.
func (e *Execution) Duration(now time.Time) time.Duration {
	from := e.CreatedAt
	if e.StartedAt != nil {
		from = *e.StartedAt
	} else if !e.Status.Terminal() {
		return 0
	}
	if e.CompletedAt != nil {
		now = *e.CompletedAt
	}
	return max(now.Sub(from), 0) // the clock may have been set back over a restart
}

// ExecuteRequest asks for one execution.
type ExecuteRequest struct {
	Pattern string
	Version string // "", exact, or a range
	Input   json.RawMessage
	Options ExecuteOptions
	// RequireAgents makes the start fail with NO_AGENTS at once when fewer capable agents are connected
	// than the first step needs, instead of waiting for them until the deadline.
	RequireAgents bool
}

// What is public of the throughput of executions, see package wire.
type (
	ThroughputSpan  = wire.OverviewSpan
	ThroughputRange = wire.OverviewRange
)

// Throughput is what happened to executions in each minute of the last 24 hours and each hour of the last 30 days, oldest
// first, without those in which nothing did, and the sums of 1 hour, 24 hours, 7 days and 30 days.
type Throughput struct {
	Minutes, Hours []ThroughputSpan
	Ranges         []ThroughputRange
}

// AdHocPattern is the pattern that stands in ad-hoc executions. It is not stored, and cannot be run.
var AdHocPattern = PatternRef{Name: "managed-thread", Version: "0.0.0"}

// ExecutionFilter selects executions of a list. Zero values select all.
type ExecutionFilter struct {
	Pattern   string
	Statuses  []ExecutionStatus // any of them
	BatchID   string
	ErrorCode Code // why it failed
	CreatedBy string
	Metadata  map[string]string // all of them, as IndexedMetadata has them
	Since     time.Time         // inclusive bound on the time of creation
	Until     time.Time         // exclusive bound on the time of creation
	// EndedSince and EndedUntil select those that are over, by when they ended: an inclusive and an exclusive bound.
	EndedSince, EndedUntil time.Time
	Page
}

// ExecutionService runs patterns. Methods are safe for concurrent use. What a method acknowledged
// survives the death of the process.
//
// It has many methods because they are the operations of the interface on one noun, which one engine runs in one order.
type ExecutionService interface {
	// Start validates the request, stores the execution durably and returns it; it goes on by itself.
	// NOT_FOUND (pattern), VALIDATION_ERROR (input, options), NO_AGENTS (see RequireAgents), RATE_LIMITED
	// (queue full), INTERNAL_ERROR with Unavailable (store read-only, shutting down).
	Start(ctx context.Context, req ExecuteRequest) (*Execution, error)
	// Wait returns the execution once it is terminal, or ctx's error. NOT_FOUND for an unknown id.
	// INTERNAL_ERROR with Unavailable when the process shuts down first; the execution then goes on at
	// the next start.
	Wait(ctx context.Context, id string) (*Execution, error)
	// FindExecution returns one execution. NOT_FOUND for an unknown id.
	FindExecution(ctx context.Context, id string) (*Execution, error)
	// FindExecutions lists executions, newest first, as rows; see ExecutionReader.
	FindExecutions(ctx context.Context, filter ExecutionFilter) ([]*Execution, PageInfo, error)
	// Cancel ends a pending or running execution and returns it with CancelledAt. Cancelling twice
	// returns the first outcome; CONFLICT if it completed or failed.
	Cancel(ctx context.Context, id, reason string) (*Execution, error)
	// Retry starts a new execution with the version, input and options of a terminal one. CONFLICT while
	// the original is active.
	Retry(ctx context.Context, id string) (*Execution, error)
	// Rerun starts a new execution that keeps the finished step results of a terminal one up to fromStep
	// (a step id, or "" for the first step without a result). VALIDATION_ERROR for an unknown step.
	Rerun(ctx context.Context, id, fromStep string) (*Execution, error)
	// Delete removes a terminal execution with all that belongs to it alone: journal, questions, threads that are over,
	// decisions. CONFLICT while it, its batch or one of its threads is active; NOT_FOUND for an unknown id.
	Delete(ctx context.Context, id string) error
	// Stream returns the events of an execution from the first one after `after` (a sequence; 0: all),
	// and goes on live until the execution is terminal. NOT_FOUND for an unknown id.
	Stream(ctx context.Context, id string, after uint64) (EventStream, error)
}
