package core

import (
	"encoding/json"
	"time"

	"github.com/wardroom/wardroom/sdk/wire"
)

// Chart is an org-chart pattern as it was parsed and checked. Values are immutable and shared.
type Chart struct {
	Name       string // of the structure; may be empty
	Roles      []Role // in the order of the definition
	Routing    []RoutingRule
	Escalation Escalation
	Steps      []*ChartStep // at the top level, at least one
}

// Role returns the role with this key, or nil.
func (c *Chart) Role(key string) *Role {
	for i := range c.Roles {
		if c.Roles[i].Key == key {
			return &c.Roles[i]
		}
	}
	return nil
}

// Role is one role of an org chart.
type Role struct {
	Key          string   // in structure.roles; what steps and rules name
	ID           string   // unique in the chart; the key when the definition gives none
	Name         string   // for people; the key when the definition gives none
	AgentTypes   []string // of agents that may be spawned for it, the preferred one first
	Capabilities []string // that connected agents must have, all of them
	Singleton    bool
	Min          int    // instances bound before the first step; 1 unless given, 0 for a role that nothing refers to
	Max          int    // instances at most; 0: as many connected agents as there are, but no spawned one beyond Min
	ReportsTo    string // key of the manager; "" at the top
	Managed      bool   // its agents are spawned through a runtime
	Approval     string // preset for spawned agents; "" the default of their type
	Runtime      string // of spawned agents; "" the first healthy one
}

// RoutingRule sends messages of a role to another.
type RoutingRule = wire.RoutingRule

// Anyone stands for any role in RoutingRule.From.
const Anyone = "*"

// Behavior says what happens to a message that no rule routes, or that no role answers.
type Behavior string

// Behaviors of escalation.
const (
	BehaviorReportsTo  Behavior = "route_to_reports_to" // to the manager (the default of defaultBehavior)
	BehaviorSurface    Behavior = "surface_to_user"     // a question to people (the default of onMaxDepth)
	BehaviorFail       Behavior = "fail"                // the execution fails with ESCALATION_FAILED
	BehaviorBestEffort Behavior = "return_best_effort"  // the execution completes with what it has, marked partial
)

// Behaviors lists every behavior.
var Behaviors = []Behavior{BehaviorReportsTo, BehaviorSurface, BehaviorFail, BehaviorBestEffort}

// Escalation describes what happens to messages that no rule routes, or that no role answers.
type Escalation struct {
	Default     Behavior
	TopicRoutes map[string]string // topic to key of a role
	Timeout     time.Duration     // wait for a reply before it climbs to the next manager; 30 s unless given
	MaxDepth    int               // climbs at most; 5 unless given
	OnMaxDepth  Behavior          // not BehaviorReportsTo
}

// StepKind is the type of a step of a workflow.
type StepKind string

// Kinds of steps.
const (
	KindAssign     StepKind = "assign"
	KindParallel   StepKind = "parallel"
	KindSequential StepKind = "sequential"
	KindReview     StepKind = "review"
	KindApprove    StepKind = "approve"
	KindAggregate  StepKind = "aggregate"
	KindCondition  StepKind = "condition"
)

// StepKinds lists every kind.
var StepKinds = []StepKind{
	KindAssign, KindParallel, KindSequential, KindReview, KindApprove, KindAggregate, KindCondition,
}

// Composite reports whether steps of this kind are made of steps.
func (k StepKind) Composite() bool {
	return k == KindParallel || k == KindSequential || k == KindCondition
}

// AtAgent reports whether steps of this kind are a task of one agent.
func (k StepKind) AtAgent() bool { return k == KindAssign || k == KindReview || k == KindApprove }

// OnReject is what becomes of an approve step that was not approved.
type OnReject string

// Reactions to a rejection.
const (
	OnRejectContinue OnReject = "continue" // the step completes with approved: false (the default)
	OnRejectFail     OnReject = "fail"     // the execution fails with APPROVAL_REJECTED
	OnRejectRetry    OnReject = "retry"    // the sibling before it is run again with the feedback, up to MaxRetries times, then fail
)

// Method is how an aggregate step folds a list.
type Method string

// Methods of aggregation.
const (
	MethodConsensus Method = "consensus" // the canonical answer with the highest agreement
	MethodMajority  Method = "majority"  // the answer of more than half, else null
	MethodMerge     Method = "merge"     // deep, lists joined
	MethodBest      Method = "best"      // the highest confidence
)

// Methods lists every method.
var Methods = []Method{MethodConsensus, MethodMajority, MethodMerge, MethodBest}

// ChartStep is a step of a workflow. What it says in expressions is evaluated by ChartPlan.
type ChartStep struct {
	// Path numbers the step: "2" is the third of the top level, "2.0" the first step in it. The branches of a
	// condition are its steps 0 (then) and 1 (else). Variables write it with underscores: step_2_0_result.
	Path   string
	Line   int // in the definition
	Kind   StepKind
	Name   string // for people; may be empty
	Role   string // of steps at an agent: role, reviewer or approver
	Output string // name of a further variable that holds the result; may be empty
	Method Method // of aggregate

	Steps      []*ChartStep  // of parallel and sequential; then and else of condition, Steps[1] nil without else
	Timeout    time.Duration // of each attempt at an agent; 0: the default
	OnReject   OnReject      // of approve
	MaxRetries int           // of OnRejectRetry
}

// ChartContext is what ${context...} holds.
type ChartContext struct {
	ExecutionID    string    `json:"executionId"`
	PatternName    string    `json:"patternName"`
	PatternVersion string    `json:"patternVersion"`
	StartedAt      time.Time `json:"startedAt"`
}

// ChartScope holds the values that the expressions of a step may refer to.
type ChartScope struct {
	Input   json.RawMessage
	Context ChartContext
	// Result returns the result of a finished step by path; false for one that is not finished, or was on the
	// branch of a condition that was not taken.
	Result func(path string) (json.RawMessage, bool)
	// Named returns the result that a step's output names.
	Named func(name string) (json.RawMessage, bool)
}

// ChartPlan evaluates what an org chart says in expressions. Methods are pure and safe for concurrent use.
// VALIDATION_ERROR when a variable has no value.
//
// It has many methods because each kind of expression of an org chart has one, which the engine alone asks.
type ChartPlan interface {
	Chart() *Chart
	// Task renders the text of an assign step.
	Task(step *ChartStep, scope ChartScope) (string, error)
	// Subject evaluates what a review or approve step judges.
	Subject(step *ChartStep, scope ChartScope) (json.RawMessage, error)
	// Workspace evaluates where the spawned agents of a role work; nil for a role that says nothing of it. Of scope it
	// takes the input, and the context without StartedAt: agents are there before the first step.
	Workspace(role string, scope ChartScope) (*WorkspaceSpec, error)
	// Check evaluates the condition of a condition step.
	Check(step *ChartStep, scope ChartScope) (bool, error)
	// Aggregate folds the list that an aggregate step works on: what `from` evaluates to, or else the result of
	// the sibling before it. confidence is 0 to 1. Like results have equal bytes for every order of equal lists.
	Aggregate(step *ChartStep, scope ChartScope) (result json.RawMessage, confidence float64, err error)
	// Output is the execution's result once all steps are finished: workflow.output, else the last step's result.
	Output(scope ChartScope) (json.RawMessage, error)
}
