package orgchart

import (
	"encoding/json"

	"github.com/wardroom/wardroom/core"
)

// keptStack is how long a stack is kept for the next Advance; a longer one is left to the collector.
const keptStack = 64

// Advance starts every step that may start and finishes all that follows: aggregate and condition steps, and
// composite steps whose steps are finished. It returns what became of steps, each start and each end once, in the
// order in which it is to be journaled; first the steps that were given to Finish. An error is an expression's and
// fails the execution; the effects before it stand.
func (f *Flow) Advance() ([]Effect, error) {
	if !f.walked {
		f.walked = true
		f.stack = append(f.stack, &f.root)
	}
	err := f.run()
	for _, t := range f.todo {
		if err != nil {
			break
		}
		if t.node.round != t.round {
			continue // it is run again before it was reported
		}
		switch t.node.state {
		case finished:
			f.report(t.node)
		case idle:
			f.stack = append(f.stack, t.node)
		}
		err = f.run()
	}
	f.todo = f.todo[:0]
	f.stack = f.stack[:0]
	// From the outermost inwards, so that the lists within share the bytes of the list around them.
	for i := len(f.built) - 1; i >= 0; i-- {
		f.effects[f.built[i]].Result = f.owners[i].bytes()
	}
	f.built, f.owners = f.built[:0], f.owners[:0]
	effects := f.effects
	f.effects = nil
	if cap(f.stack) > keptStack || cap(f.todo) > keptStack || cap(f.built) > keptStack {
		f.stack, f.todo, f.built, f.owners = nil, nil, nil, nil
	}
	return effects, err
}

// run begins the steps on the stack and those that follow from them.
func (f *Flow) run() error {
	for len(f.stack) > 0 {
		n := f.stack[len(f.stack)-1]
		f.stack = f.stack[:len(f.stack)-1]
		if err := f.begin(n); err != nil {
			return err
		}
	}
	return nil
}

// begin starts a step. One that the journal has as started is not reported again.
func (f *Flow) begin(n *node) error {
	var failure error
	if n.step.Kind == core.KindCondition && n.branch == undecided {
		n.branch, failure = f.decide(n)
	}
	if n.state == idle && n.parent != nil {
		e := Effect{Step: n.step, Kind: StepStarted, Round: int(n.round), Branch: n.taken()}
		if n.step.Kind.AtAgent() {
			e.Feedback = f.reason(n)
		}
		f.effects = append(f.effects, e)
	}
	n.state = started
	if failure != nil {
		return failure
	}

	switch n.step.Kind {
	case core.KindParallel:
		n.enter()
		n.left = 0
		for i := len(n.kids) - 1; i >= 0; i-- {
			if n.kids[i].state != finished {
				n.left++
				f.stack = append(f.stack, &n.kids[i])
			}
		}
		if n.left == 0 {
			f.finish(n, nil, 0)
		}
	case core.KindSequential:
		n.enter()
		f.follow(n, 0)
	case core.KindCondition:
		n.enter()
		if n.branch == neither || n.kids[n.branch].state == finished {
			f.finish(n, nil, 0)
		} else {
			f.stack = append(f.stack, &n.kids[n.branch])
		}
	case core.KindAggregate:
		result, confidence, err := f.plan.Aggregate(n.step, f.scope)
		if err != nil {
			return err
		}
		f.finish(n, result, confidence)
	default:
		f.open(n)
	}
	return nil
}

// decide evaluates a condition, unless the journal has something of one of its branches.
func (f *Flow) decide(n *node) (int8, error) {
	for i := range n.kids {
		if n.kids[i].state != idle {
			return int8(i), nil
		}
	}
	yes, err := f.plan.Check(n.step, f.scope)
	switch {
	case err != nil:
		return undecided, err
	case yes:
		return takeThen, nil
	case len(n.step.Steps) > 1 && n.step.Steps[1] != nil:
		return takeElse, nil
	}
	return neither, nil
}

// taken names the branch of a condition.
func (n *node) taken() string {
	switch n.branch {
	case takeThen:
		return BranchThen
	case takeElse:
		return BranchElse
	}
	return ""
}

// follow begins the first step of a sequence from an index on that is not finished, or finishes the sequence.
func (f *Flow) follow(n *node, from int) {
	for i := from; i < len(n.kids); i++ {
		if n.kids[i].state != finished {
			f.stack = append(f.stack, &n.kids[i])
			return
		}
	}
	f.finish(n, nil, 0)
}

// finish ends a step that is not at an agent, and tells its parent.
func (f *Flow) finish(n *node, result json.RawMessage, confidence float64) {
	f.settle(n, result)
	if n.parent == nil {
		return
	}
	if n.step.Kind.Composite() {
		f.built = append(f.built, len(f.effects))
		f.owners = append(f.owners, n)
	}
	f.effects = append(f.effects, Effect{
		Step: n.step, Kind: StepFinished, Round: int(n.round), Result: n.result, Confidence: confidence, Branch: n.taken(),
	})
	f.report(n)
}

// report tells the parent of a finished step.
func (f *Flow) report(n *node) {
	parent := n.parent
	switch parent.step.Kind {
	case core.KindParallel:
		if parent.left--; parent.left == 0 {
			f.finish(parent, nil, 0)
		}
	case core.KindCondition:
		f.finish(parent, nil, 0)
	default:
		f.follow(parent, int(n.index)+1)
	}
}
