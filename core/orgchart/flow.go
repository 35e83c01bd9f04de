package orgchart

import (
	"encoding/json"
	"time"

	"github.com/wardroom/wardroom/core"
)

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

// Effect is one thing that became of a step, to be journaled in the order of Advance.
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

// Flow walks the workflow of one execution. It is a pure function of its calls, in this order: Restore,
// RestoreStart and Again as the journal has it, then any number of Advance, Finish and Again.
//
// A step costs the same however many there are. Results that it is given are kept, not copied; the caller leaves
// them as they are. Results that it returns are read-only in the same way.
type Flow struct {
	plan     core.ChartPlan
	scope    core.ChartScope
	root     node
	walked   bool                      // Advance was called
	named    map[string]*node          // finished steps with an output, by its name
	feedback map[*node]json.RawMessage // of steps that are run again

	first, last *node // open steps at agents

	todo    []task   // for the next Advance
	effects []Effect // of Finish, for the next Advance
	stack   []*node  // steps to begin, the next one last
	built   []int    // effects whose result is the list of a composite step
	owners  []*node  // the steps of built
}

// task is a finished step at an agent that was not reported to its parent yet, or a step to be begun.
type task struct {
	node  *node
	round int32
}

// NewFlow makes the flow of one execution. It does nothing until Advance.
func NewFlow(plan core.ChartPlan, input json.RawMessage, ctx core.ChartContext) *Flow {
	f := &Flow{plan: plan}
	f.root.step = &core.ChartStep{Kind: core.KindSequential, Steps: plan.Chart().Steps}
	f.root.branch = undecided
	f.scope = core.ChartScope{Input: input, Context: ctx, Result: f.Result, Named: f.byName}
	return f
}

// StartedAt says when the execution began, which is known after the flow was made only: expressions see it from now on.
func (f *Flow) StartedAt(at time.Time) { f.scope.Context.StartedAt = at }

// Finish reports that an open step at an agent has its result; an empty one reads as null. It returns false, and
// changes nothing, when the step is not open: a late or repeated result. The next Advance returns the effect.
func (f *Flow) Finish(path string, result json.RawMessage) bool {
	n := f.find(path, false)
	if n == nil || n.state != started || !n.step.Kind.AtAgent() {
		return false
	}
	f.close(n)
	f.settle(n, result)
	f.effects = append(f.effects, Effect{Step: n.step, Kind: StepFinished, Round: int(n.round), Result: n.result})
	f.todo = append(f.todo, task{n, n.round})
	return true
}

// Again has the sibling before an approve step run once more, whole, and then the approve step itself, both with a
// round more than before; the steps at agents in the sibling get feedback. It returns false, and changes nothing,
// when there is no sibling before it in a sequence, when MaxRetries is used up, or when the approve step is not the
// one that the sequence stands at.
//
// The approve step may be open, or finished by Finish since the last Advance, which journals the refused round like
// any other. After a restart the same calls are made at the same place of the journal: Restore of the refused
// round if it was journaled, then Again.
func (f *Flow) Again(path string, feedback json.RawMessage) bool {
	n := f.find(path, true)
	if n == nil || n.step.Kind != core.KindApprove || int(n.tries) >= n.step.MaxRetries || n.index == 0 {
		return false
	}
	parent := n.parent
	if parent.step.Kind != core.KindSequential || parent.state == finished {
		return false
	}
	before := &parent.kids[n.index-1]
	if next := int(n.index) + 1; next < len(parent.kids) && parent.kids[next].state != idle {
		return false
	}
	if before.state != finished || f.walked && n.state == idle {
		return false
	}
	f.rerun(before)
	if len(feedback) > 0 {
		if f.feedback == nil {
			f.feedback = make(map[*node]json.RawMessage)
		}
		f.feedback[before] = feedback
	}
	if f.walked {
		f.todo = append(f.todo, task{before, before.round})
	}
	return true
}

// Open returns the steps at agents that are started and not finished, in the order in which they were started.
func (f *Flow) Open() []Leaf {
	var open []Leaf
	for n := f.first; n != nil; n = n.next {
		open = append(open, f.leaf(n))
	}
	return open
}

// Leaf returns an open step at an agent.
func (f *Flow) Leaf(path string) (Leaf, bool) {
	n := f.find(path, false)
	if n == nil || n.state != started || !n.step.Kind.AtAgent() {
		return Leaf{}, false
	}
	return f.leaf(n), true
}

func (f *Flow) leaf(n *node) Leaf {
	return Leaf{Step: n.step, Round: int(n.round), Feedback: f.reason(n)}
}

// reason returns why a step is run again: the feedback to it, or to the innermost step around it.
func (f *Flow) reason(n *node) json.RawMessage {
	if len(f.feedback) == 0 {
		return nil
	}
	for ; n != nil; n = n.parent {
		if feedback, ok := f.feedback[n]; ok {
			return feedback
		}
	}
	return nil
}

// Done reports whether every step is finished.
func (f *Flow) Done() bool { return f.root.state == finished }

// Output returns the result of the execution, once it is Done. VALIDATION_ERROR when a variable has no value.
func (f *Flow) Output() (json.RawMessage, error) { return f.plan.Output(f.scope) }

// Result returns the result of a step that is finished in its present round.
func (f *Flow) Result(path string) (json.RawMessage, bool) {
	n := f.find(path, false)
	if n == nil || n.state != finished {
		return nil, false
	}
	return n.bytes(), true
}

func (f *Flow) byName(name string) (json.RawMessage, bool) {
	n := f.named[name]
	if n == nil {
		return nil, false
	}
	return n.bytes(), true
}

// Scope is what expressions may refer to. It stays good, and always tells of the present moment.
func (f *Flow) Scope() core.ChartScope { return f.scope }

// find returns the step with a path, or nil. Without enter it finds only steps whose parent was started.
func (f *Flow) find(path string, enter bool) *node {
	n := &f.root
	for begin := 0; begin <= len(path); {
		index, end := 0, begin
		for ; end < len(path) && path[end] != '.'; end++ {
			digit := path[end] - '0'
			if digit > 9 || end > begin && index == 0 || index > 1<<24 {
				return nil
			}
			index = index*10 + int(digit)
		}
		if end == begin {
			return nil
		}
		if enter {
			n.enter()
		}
		if index >= len(n.kids) || n.kids[index].step == nil {
			return nil
		}
		n = &n.kids[index]
		begin = end + 1
	}
	return n
}

// settle gives a step its result.
func (f *Flow) settle(n *node, result json.RawMessage) {
	n.state = finished
	if n.result = result; len(result) == 0 && !n.step.Kind.Composite() {
		n.result = null
	}
	if n.step.Output != "" {
		if f.named == nil {
			f.named = make(map[string]*node)
		}
		f.named[n.step.Output] = n
	}
}

// open and close keep the list of open steps at agents.
func (f *Flow) open(n *node) {
	if n.prev = f.last; n.prev != nil {
		n.prev.next = n
	} else {
		f.first = n
	}
	f.last = n
}

func (f *Flow) close(n *node) {
	if n.prev != nil {
		n.prev.next = n.next
	} else {
		f.first = n.next
	}
	if n.next != nil {
		n.next.prev = n.prev
	} else {
		f.last = n.prev
	}
	n.prev, n.next = nil, nil
}
