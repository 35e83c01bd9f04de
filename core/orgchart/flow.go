package orgchart

import (
	"encoding/json"

	"github.com/wardroom/wardroom/core"
)

// Flow walks the workflow of one execution.
type Flow struct {
	plan  core.ChartPlan
	scope core.ChartScope
}

// Branches of a condition that was decided.
const (
	BranchThen = "then"
	BranchElse = "else"
)

// EffectKind says what became of a step.
type EffectKind uint8

// Kinds of effects.
const (
	StepStarted EffectKind = iota + 1
	StepFinished
)

// Effect is one thing that Advance did, to be journaled in its order.
type Effect struct {
	Step       *core.ChartStep
	Kind       EffectKind
	Round      int             // 0 the first time, one more each time that the step is run again
	Result     json.RawMessage // of StepFinished, never empty
	Confidence float64         // of StepFinished of an aggregate step, 0 to 1
	Branch     string          // of a condition: the branch taken, "" when it is false and there is no else
	Feedback   json.RawMessage // of StepStarted of a step at an agent: why it is run again, or nil
}

// Leaf is a step at an agent that is started and not finished.
type Leaf struct {
	Step     *core.ChartStep
	Round    int
	Feedback json.RawMessage // why it is run again, or nil
}

// NewFlow makes the flow of one execution. It does nothing until Advance.
func NewFlow(plan core.ChartPlan, input json.RawMessage, ctx core.ChartContext) *Flow {
	f := &Flow{plan: plan}
	f.scope = core.ChartScope{Input: input, Context: ctx, Result: f.Result}
	return f
}

// Restore takes over a step that the journal has as finished, any kind of step.
func (f *Flow) Restore(path string, round int, result json.RawMessage, branch string) bool { return false }

// RestoreStart takes over a step that the journal has as started: Advance does not tell of its start again.
func (f *Flow) RestoreStart(path string, round int) bool { return false }

// Advance starts every step that may start and finishes all that follows. The effects begin with the steps that
// Finish was told of. The error, of an expression, fails the execution; the effects before it stand.
func (f *Flow) Advance() ([]Effect, error) { return nil, nil }

// Open returns the steps at agents that are started and not finished, in the order in which they were started.
func (f *Flow) Open() []Leaf { return nil }

// Leaf returns the open step at an agent with this path.
func (f *Flow) Leaf(path string) (Leaf, bool) { return Leaf{}, false }

// Finish tells that an open step at an agent has its result; false when it is not open. Call Advance then.
func (f *Flow) Finish(path string, result json.RawMessage) bool { return false }

// Again runs the sibling before an approve step, and the approve step itself, once more.
func (f *Flow) Again(path string, feedback json.RawMessage) bool { return false }

// Done tells whether every step is finished.
func (f *Flow) Done() bool { return false }

// Output returns the result of the execution. Call it when Done.
func (f *Flow) Output() (json.RawMessage, error) { return f.plan.Output(f.scope) }

// Result returns the result of a finished step.
func (f *Flow) Result(path string) (json.RawMessage, bool) { return nil, false }

// Scope is what expressions may refer to at this moment.
func (f *Flow) Scope() core.ChartScope { return f.scope }
