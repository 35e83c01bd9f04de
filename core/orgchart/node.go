package orgchart

import (
	"encoding/json"

	"github.com/wardroom/wardroom/core"
)

// state is where a step is in its life within one round.
type state uint8

const (
	idle     state = iota
	known          // the journal has its start, or something in it; not walked yet
	started        // reported as started
	finished       // has a result
)

// Positions of the branches of a condition among its steps; undecided and neither are no positions.
const (
	takeThen  int8 = 0
	takeElse  int8 = 1
	neither   int8 = -1
	undecided int8 = -2
)

// node is a step of one execution. Its steps become nodes when it starts, so branches that are not taken cost
// nothing. A workflow may have 20,000 steps and a process 500 workflows in flight, hence the narrow fields.
type node struct {
	step   *core.ChartStep // nil for an else that is not there
	parent *node           // nil for the root
	kids   []node          // allocated once, so pointers to them stay good

	// result is the result of a finished step. It is nil for a composite step whose list was not built yet, and
	// for a step whose result lies in its parent's (shared): at off, size bytes long. So each byte of a result is
	// kept once, however deep it is nested.
	result    json.RawMessage
	off, size uint32

	prev, next *node // among the open steps at agents, in the order in which they were started

	index  int32 // among its parent's kids
	round  int32
	left   int32 // kids of a parallel step that are not finished
	tries  int32 // times that an approve step had the step before it run again
	state  state
	shared bool
	branch int8 // of a condition
}

// enter makes the nodes of a composite step's steps.
func (n *node) enter() {
	if n.kids != nil || n.step == nil || len(n.step.Steps) == 0 {
		return
	}
	n.kids = make([]node, len(n.step.Steps))
	for i, step := range n.step.Steps {
		n.kids[i] = node{step: step, parent: n, index: int32(i), branch: undecided}
	}
}

// complete reports whether all the results are there that the result of a composite step is made of.
func (n *node) complete() bool {
	switch n.step.Kind {
	case core.KindCondition:
		return n.branch == neither || n.branch >= 0 && int(n.branch) < len(n.kids) && n.kids[n.branch].state == finished
	case core.KindParallel, core.KindSequential:
		for i := range n.kids {
			if n.kids[i].state != finished {
				return false
			}
		}
		return len(n.kids) == len(n.step.Steps)
	}
	return false
}

// bytes returns the result of a finished step.
func (n *node) bytes() json.RawMessage {
	if n.shared {
		whole := n.parent.bytes()
		end := n.off + n.size
		return whole[n.off:end:end]
	}
	if n.result == nil {
		n.result = n.build(make([]byte, 0, n.length()))
	}
	return n.result
}

var null = json.RawMessage("null")

// length is how many bytes build appends.
func (n *node) length() int {
	switch {
	case n.shared:
		return int(n.size)
	case n.result != nil:
		return len(n.result)
	case n.step.Kind == core.KindCondition:
		if n.branch == neither {
			return len(null)
		}
		return n.kids[n.branch].length()
	}
	total := 2 + max(len(n.kids)-1, 0)
	for i := range n.kids {
		total += n.kids[i].length()
	}
	return total
}

// build appends the result to dst and lets the results below share it. dst[0] is the first byte of the outermost
// step that is built; the steps on the way keep offsets from their own parent.
func (n *node) build(dst []byte) []byte {
	switch {
	case n.shared || n.result != nil:
		return append(dst, n.bytes()...)
	case n.step.Kind == core.KindCondition:
		if n.branch == neither {
			return append(dst, null...)
		}
		return n.kids[n.branch].place(dst, len(dst))
	}
	begin := len(dst)
	dst = append(dst, '[')
	for i := range n.kids {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = n.kids[i].place(dst, begin)
	}
	return append(dst, ']')
}

// place appends the result to dst, where the parent's begins at begin, and gives up the step's own copy.
func (n *node) place(dst []byte, begin int) []byte {
	at := len(dst)
	dst = n.build(dst)
	n.off, n.size, n.shared, n.result = uint32(at-begin), uint32(len(dst)-at), true, nil
	return dst
}
