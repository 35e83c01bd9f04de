package engine

import (
	"container/heap"
	"time"

	"github.com/wardroom/wardroom/core"
)

// shareKey names whose share of the queue an execution takes: its pattern's.
func shareKey(exec *core.Execution) string { return exec.Pattern.Name }

// flow is what stands in line of one principal at one level of priority, or within that of one of their patterns. Flows of
// a level take turns (start-time fair queueing), and so do the patterns within a flow: each turn moves a flow behind those
// that had fewer, and one that comes new, or comes again, has the present turn. So who has thousands in line delays
// another's single execution by one turn, whatever their ages, and one pattern's thousands another one's. Within a pattern,
// and between levels, the order is that of priority and age.
type flow struct {
	key   string
	level int
	turn  uint64 // its next
	live  int    // waiters

	patterns turns // within the flow of a principal

	// Of a pass.
	heads candidates // of the queues of its buckets
	at    uint64     // turn by which it is sorted
	in    bool       // it is in line
}

// turns has the flows of one level, or of the patterns within a flow.
type turns struct {
	now   uint64 // highest turn that was served
	flows map[string]*flow
}

// join returns the flow of a waiter that comes.
func (t *turns) join(key string, level int) *flow {
	f := t.flows[key]
	if f == nil {
		if t.flows == nil {
			t.flows = map[string]*flow{}
		}
		f = &flow{key: key, level: level}
		t.flows[key] = f
	}
	if f.live++; f.live == 1 {
		f.turn = max(f.turn, t.now)
		t.forget()
	}
	return f
}

// forget drops flows without waiters that would have the present turn if they came again. It looks at a few only: what is
// left is looked at later.
func (t *turns) forget() {
	const few = 4
	looked := 0
	for key, f := range t.flows {
		if f.live == 0 && f.turn <= t.now {
			delete(t.flows, key)
		}
		if looked++; looked >= few {
			return
		}
	}
}

// served moves a flow behind those that had fewer turns. turn is the one that it was served in.
func (t *turns) served(f *flow, turn uint64) {
	t.now = max(t.now, turn)
	f.turn = max(f.turn, turn) + 1
}

// line is a heap of the flows of one level in a pass: by turn, then by their heads.
type line []*flow

func (l line) Len() int { return len(l) }
func (l line) Less(i, j int) bool {
	if l[i].at != l[j].at {
		return l[i].at < l[j].at
	}
	return l[i].heads[0].before(&l[j].heads[0])
}
func (l line) Swap(i, j int) { l[i], l[j] = l[j], l[i] }
func (l *line) Push(x any)   { *l = append(*l, x.(*flow)) }
func (l *line) Pop() any {
	old := *l
	last := old[len(old)-1]
	old[len(old)-1] = nil
	*l = old[:len(old)-1]
	return last
}

// round holds the heads of all queues, by level and flow, for one pass.
type round struct {
	lines [4]line
}

// collect fills the round. The caller holds the scheduler's mu.
func (s *scheduler) collect(now time.Time, aging time.Duration) *round {
	r := &s.round
	for level := range r.lines {
		clear(r.lines[level])
		r.lines[level] = r.lines[level][:0]
	}
	for _, b := range s.buckets {
		for level := range b.queues {
			w := b.queues[level].head()
			if w == nil {
				continue
			}
			f := w.flow
			if !f.in {
				f.in, f.at, f.heads = true, f.turn, f.heads[:0]
				r.lines[level] = append(r.lines[level], f)
			}
			c := newCandidate(b, w, now, aging)
			// The holder keeps the turn that it had when it began to hold, whatever else of its pattern is served meanwhile.
			c.at, c.kept = s.turnOf(w), w == s.holder
			f.heads = append(f.heads, c)
		}
	}
	for level := range r.lines {
		for _, f := range r.lines[level] {
			f.in = false
			heap.Init(&f.heads)
		}
		heap.Init(&r.lines[level])
	}
	return r
}

// settle brings the candidate of a flow to its head that has its turn.
func (f *flow) settle() {
	for c := &f.heads[0]; !c.kept && c.at != c.waiter.pattern.turn; c = &f.heads[0] { // its pattern was served meanwhile
		c.at = c.waiter.pattern.turn
		heap.Fix(&f.heads, 0)
	}
}

// next returns the flow whose head is to be looked at, or nil: of the flows that have their turn in their levels, the
// one whose head comes first by priority and age.
func (r *round) next() *flow {
	var first *flow
	for level := range r.lines {
		l := &r.lines[level]
		for len(*l) > 0 && (*l)[0].at != (*l)[0].turn { // it was served out of its place
			(*l)[0].at = (*l)[0].turn
			heap.Fix(l, 0)
		}
		if len(*l) > 0 && (first == nil || (*l)[0].heads[0].before(&first.heads[0])) {
			first = (*l)[0]
		}
	}
	return first
}

// passed puts another head in the place of the flow's first, or none if it is nil, and the flow in its place.
func (r *round) passed(f *flow, next *candidate) {
	if next != nil {
		f.heads[0] = *next
		heap.Fix(&f.heads, 0)
	} else {
		last := len(f.heads) - 1
		f.heads[0], f.heads[last] = f.heads[last], candidate{}
		if f.heads = f.heads[:last]; last > 0 {
			heap.Fix(&f.heads, 0)
		}
	}
	l := &r.lines[f.level]
	f.at = f.turn
	if len(f.heads) == 0 {
		heap.Pop(l)
		return
	}
	f.settle()
	heap.Fix(l, 0)
}
