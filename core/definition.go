package core

import (
	"encoding/json"
	"time"
)

// Definition is a pattern as it was parsed and checked. Values are immutable and shared.
type Definition struct {
	Name        string
	Version     string
	Description string
	Steps       []Step          // of a flat pattern: at least one, in the order they run; an org chart has none
	Timeout     time.Duration   // of an execution; 0: the configured default
	MaxActive   int             // executions of this pattern that run at once; 0: the configured default
	Config      json.RawMessage // object handed to each task, or nil
	Secrets     []SecretRef     `json:",omitempty"` // that Config refers to
	Guard       *Guard          `json:",omitempty"` // who may run it; nil: everybody who may run patterns
}

// StepStrategy is how a step uses its agents.
type StepStrategy string

// Step strategies.
const (
	StepParallel   StepStrategy = "parallel"   // all at once (the default)
	StepSequential StepStrategy = "sequential" // one after the other; each sees the answers before it
	StepRace       StepStrategy = "race"       // all at once; the first acceptable answer ends the step
)

// OnInvalid is what happens to a step whose outcome breaks its validation rules.
type OnInvalid string

// Reactions to a broken validation rule.
const (
	OnInvalidFail     OnInvalid = "fail"     // the execution fails with VALIDATION_ERROR
	OnInvalidRetry    OnInvalid = "retry"    // the step is run again, up to MaxRetries times, then fails
	OnInvalidFallback OnInvalid = "fallback" // the step's result is Fallback
)

// Step is one step of a flat pattern. Either Compose is set, or the agent fields are.
type Step struct {
	ID      string // "" in a pattern without `steps`
	Compose *Composition

	Need        TaskNeed
	Min, Max    int           // answers needed, agents asked
	TaskTimeout time.Duration // of each attempt of a task
	Strategy    StepStrategy
	WaitForAll  bool // wait for every agent asked, though MinResults answered
	MinResults  int  // answers that end the step when WaitForAll is false; at least Min

	MinConfidence float64 // 0: no rule
	OnInvalid     OnInvalid
	MaxRetries    int
	Fallback      json.RawMessage
}

// Composition runs another pattern as a step.
type Composition struct {
	Name  string
	Range string // "" means latest
}

// Answer is one agent's durable result for a step.
type Answer struct {
	AgentID string
	Name    string // of the agent, as it registered; weights go by it
	Result  json.RawMessage
}

// Outcome is the result of a step. It is a pure function of the step's answers in their order, so a
// restart computes it anew from the journal.
type Outcome struct {
	Result     json.RawMessage // the step's result, also when no output expression names it
	Confidence float64         // 0 to 1; 1 when the aggregation has no notion of it
	// Variables are what output expressions see of the aggregation, by name without the dollar sign:
	// vote, consensus, merged, first, best, results.
	Variables map[string]any
}

// Scope is what expressions of a definition may refer to.
type Scope struct {
	Input      json.RawMessage
	Steps      map[string]Outcome // finished steps by id
	Last       *Outcome           // outcome of the step that finished last, or nil
	AgentCount int                // distinct agents that answered
	Duration   time.Duration      // of the execution so far
}

// Plan is a definition that can be run. Methods are pure, and safe for concurrent use.
type Plan interface {
	Definition() *Definition
	// OrgChart returns the org chart, or nil for a flat pattern. StepInput, Aggregate and Output are for flat
	// patterns only.
	OrgChart() ChartPlan
	// CheckInput validates an execution's input and returns it with defaults filled in. VALIDATION_ERROR
	// with every problem.
	CheckInput(input json.RawMessage) (json.RawMessage, error)
	// StepInput is the input of a step's tasks: the execution's input, or the step's own input expressions.
	// VALIDATION_ERROR when a variable cannot be resolved.
	StepInput(step int, scope Scope) (json.RawMessage, error)
	// Aggregate folds the answers of a step, in order of answering, into its outcome.
	Aggregate(step int, answers []Answer) (Outcome, error)
	// Output is the execution's result once all steps are finished. VALIDATION_ERROR when a variable
	// cannot be resolved.
	Output(scope Scope) (json.RawMessage, error)
}
