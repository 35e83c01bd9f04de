package engine

import "sync"

// limits counts the executions that hold a slot, in all and per pattern.
type limits struct {
	mu         sync.Mutex // guards all below
	total      int
	perPattern map[string]int
	idle       chan struct{} // not nil while draining; closed once no slot is held
}

func newLimits() *limits {
	return &limits{perPattern: map[string]int{}}
}

// refusal says which limit a slot was refused for.
type refusal uint8

const (
	granted       refusal = iota
	fullInAll             // MaxActive is reached, or no more slots are given out
	fullOfPattern         // the pattern's own limit, or MaxActivePerPattern, is reached
)

// take takes a slot for the pattern; own is the limit of its definition, 0 for none.
func (l *limits) take(pattern string, own int, c *Config) refusal {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.idle != nil || c.MaxActive > 0 && l.total >= c.MaxActive {
		return fullInAll
	}
	bound := c.MaxActivePerPattern
	if own > 0 && (bound == 0 || own < bound) {
		bound = own
	}
	if bound > 0 && l.perPattern[pattern] >= bound {
		return fullOfPattern
	}
	l.add(pattern)
	return granted
}

// force takes a slot whatever the limits say: the execution ran before a restart.
func (l *limits) force(pattern string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(pattern)
}

func (l *limits) add(pattern string) {
	l.total++
	l.perPattern[pattern]++
}

func (l *limits) give(pattern string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total--
	if l.perPattern[pattern]--; l.perPattern[pattern] == 0 {
		delete(l.perPattern, pattern)
	}
	l.settle()
}

// drain gives out no more slots, and returns a channel that is closed once none is held.
func (l *limits) drain() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.idle == nil {
		l.idle = make(chan struct{})
		l.settle()
	}
	return l.idle
}

// settle reports that the last slot was given back. The caller holds mu.
func (l *limits) settle() {
	if l.idle == nil || l.total > 0 {
		return
	}
	select {
	case <-l.idle:
	default:
		close(l.idle)
	}
}

// held returns how many slots executions of a pattern hold.
func (l *limits) held(pattern string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.perPattern[pattern]
}

func (l *limits) active() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total
}
