package orgchart

import (
	"encoding/json"

	"github.com/wardroom/wardroom/core"
)

// Restore takes over a step of any kind that the journal has as finished, before the first Advance and in the order
// of the journal. branch is that of the effect. The result of a composite step may be left out when its steps are
// restored; when they are not, their results are read out of it. A round later than the step's makes the earlier
// rounds undone, of the step and of what ran again with it; an earlier one is passed over. It returns false, and
// changes nothing, for a path that the workflow does not have, and after the first Advance.
func (f *Flow) Restore(path string, round int, result json.RawMessage, branch string) bool {
	n := f.recall(path, round)
	if n == nil {
		return false
	}
	if int(n.round) != round || n.state == finished {
		return true
	}
	if n.step.Kind == core.KindCondition {
		switch branch {
		case BranchThen:
			n.branch = takeThen
		case BranchElse:
			n.branch = takeElse
		default:
			n.branch = neither
		}
	}
	f.adopt(n, result)
	return true
}

// RestoreStart takes over a step that the journal has as started: Advance does not tell of its start again. What
// Restore says of order, rounds and the answer holds here too.
func (f *Flow) RestoreStart(path string, round int) bool {
	n := f.recall(path, round)
	if n == nil {
		return false
	}
	if int(n.round) == round && n.state == idle {
		n.state = known
	}
	return true
}

// recall finds a step of the journal and brings it to the round.
func (f *Flow) recall(path string, round int) *node {
	if f.walked || round < 0 || round > 1<<30 {
		return nil
	}
	n := f.find(path, true)
	if n == nil {
		return nil
	}
	if int(n.round) < round {
		f.raise(n, int32(round))
	}
	if int(n.round) == round {
		for up := n.parent; up != nil && up.state == idle; up = up.parent {
			up.state = known
		}
	}
	return n
}

// raise brings a step to a later round. Its earlier round may have been run again for itself, or because a step
// around it was: that one was finished, or there would have been nothing to approve.
func (f *Flow) raise(n *node, round int32) {
	top := n
	for up := n.parent; up != nil; up = up.parent {
		if up.state == finished {
			top = up
		}
	}
	if top.state != idle {
		f.rerun(top)
	}
	n.round = max(n.round, round)
}

// rerun undoes a step and the approve step after it, so that both begin anew in their next round.
func (f *Flow) rerun(n *node) {
	f.undo(n)
	if n.parent == nil || n.parent.step.Kind != core.KindSequential {
		return
	}
	kids := n.parent.kids
	for i := int(n.index) + 1; i < len(kids); i++ {
		after := &kids[i]
		judge := i == int(n.index)+1 && after.step.Kind == core.KindApprove
		if after.state == idle && !judge {
			break
		}
		tries, round := after.tries, after.round
		f.undo(after)
		if judge {
			// The journal need not have the refused round.
			after.tries, after.round = tries+1, round+1
		}
	}
}

// undo forgets the present round of a step and of the steps in it.
func (f *Flow) undo(n *node) {
	if n.state == idle {
		return
	}
	for i := range n.kids {
		f.undo(&n.kids[i])
	}
	if n.state == started && n.step.Kind.AtAgent() {
		f.close(n)
	}
	if n.step.Output != "" && f.named[n.step.Output] == n {
		delete(f.named, n.step.Output)
	}
	delete(f.feedback, n)
	n.state, n.branch, n.left, n.tries = idle, undecided, 0, 0
	n.result, n.off, n.size, n.shared = nil, 0, 0, false
	n.round++
}

// adopt gives a restored step its result, and its steps theirs if the journal did not have them.
func (f *Flow) adopt(n *node, result json.RawMessage) {
	if !n.step.Kind.Composite() {
		f.settle(n, result)
		return
	}
	if n.enter(); n.complete() {
		f.settle(n, nil) // built from its steps when it is asked for, so that nothing is kept twice
		return
	}
	if len(result) == 0 {
		result = null
	}
	f.settle(n, result)
	if n.step.Kind == core.KindCondition {
		if n.branch >= 0 && int(n.branch) < len(n.kids) && n.kids[n.branch].step != nil {
			f.adopt(&n.kids[n.branch], result)
		}
		return
	}
	var list []json.RawMessage
	if json.Unmarshal(result, &list) != nil || len(list) != len(n.kids) {
		return
	}
	for i := range n.kids {
		if n.kids[i].state != finished {
			f.adopt(&n.kids[i], list[i])
		}
	}
}
