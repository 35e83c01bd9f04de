package engine

import (
	"runtime"
	"sync"
	"time"
)

// Bounds of how many executions a caller begins beside others.
const (
	// youngFor is how long an execution counts as young, unless it ends before: agents that think for longer need little
	// of this machine.
	youngFor = 250 * time.Millisecond
	// atWorkFor is how long a caller who began an execution counts as at work.
	atWorkFor = 100 * time.Millisecond
	// youngPerCPU is how many young executions there are while several callers are at work, in equal shares of them.
	youngPerCPU = 6
	leastYoung  = 2 // of each
)

// pace keeps the flood of one caller from slowing the executions of another. What quick executions wait for is this machine,
// which serves all that run alike: who has a hundred at once would leave another's few with a hundredth of it each. While
// several callers begin executions, each has at most an equal share of those that are young; the others stay in line,
// and slots may stay empty for a moment. One caller alone has no bound.
type pace struct {
	most int // young executions of all

	mu     sync.Mutex // guards all below
	owners map[string]*beginner
}

// beginner is a caller who began executions a short while ago.
type beginner struct {
	young []*youth // oldest first; those at the front may have grown up
	live  int      // of young, those that are not over
	last  time.Time
}

// youth is a young execution.
type youth struct {
	of     *beginner // nil once it counts no more
	from   time.Time
	before time.Time // when its caller began one before
}

func newPace() *pace {
	return &pace{most: youngPerCPU * runtime.GOMAXPROCS(0), owners: map[string]*beginner{}}
}

// begin counts an execution of a caller that is about to begin, until end is called or it is young no more. nil: it has to
// wait, for the time that is returned at most.
func (p *pace) begin(owner string, now time.Time) (*youth, time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forget(now)
	b := p.owners[owner]
	if b == nil {
		b = &beginner{}
		p.owners[owner] = b
	}
	b.grow(now)
	if len(p.owners) > 1 && b.live >= max(p.most/len(p.owners), leastYoung) {
		return nil, youngFor - now.Sub(b.young[0].from)
	}
	y := &youth{of: b, from: now, before: b.last}
	b.young, b.live, b.last = append(b.young, y), b.live+1, now
	return y, 0
}

// end takes away an execution that is over. A nil one, and one that was taken away, is none.
func (p *pace) end(y *youth) {
	p.mu.Lock()
	defer p.mu.Unlock()
	y.end()
}

// undo takes away an execution that did not begin after all.
func (p *pace) undo(y *youth) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if y != nil && y.of != nil && y.of.last.Equal(y.from) {
		y.of.last = y.before
	}
	y.end()
}

func (y *youth) end() {
	if y != nil && y.of != nil {
		y.of.live--
		y.of = nil
	}
}

// grow drops what is young no more, or over, from the front. The caller holds the mu of its pace.
func (b *beginner) grow(now time.Time) {
	for len(b.young) > 0 {
		y := b.young[0]
		if age := now.Sub(y.from); y.of != nil && age >= 0 && age < youngFor {
			return
		}
		y.end()
		b.young[0] = nil
		b.young = b.young[1:]
	}
}

// forget drops callers who are at work no more. It looks at a few only: what is left is looked at later. The caller holds
// mu.
func (p *pace) forget(now time.Time) {
	const few = 4
	looked := 0
	for owner, b := range p.owners {
		if b.grow(now); b.live == 0 && now.Sub(b.last) >= atWorkFor {
			delete(p.owners, owner)
		}
		if looked++; looked >= few {
			return
		}
	}
}
