package engine

import (
	"strings"
	"sync"
	"time"

	"github.com/wardroom/wardroom/core"
)

// scheduler holds the runs that wait for a slot or for agents, and serves them by priority and age.
//
// Waiters of one pattern with one need stand in one bucket, in a queue per priority: when the head of a
// bucket cannot be served, none behind it can, so a pass costs steps per bucket and not per waiter.
type scheduler struct {
	eng  *Engine
	wake chan struct{}

	mu      sync.Mutex // guards all below
	buckets map[string]*bucket
	byRun   map[*run]*waiter
}

// waiter is one run's request for agents.
type waiter struct {
	run       *run
	ticket    uint64 // of the run's request
	need      core.TaskNeed
	count     int
	needsSlot bool
	own       int // the pattern's own limit
	since     time.Time
	level     int
	key       string
	told      bool // its run knows that nobody fits, busy or not
	gone      bool // removed; skipped when it comes to the head
}

type bucket struct {
	queues [4][]*waiter // by priority level
	live   int
}

func newScheduler(e *Engine) *scheduler {
	return &scheduler{
		eng: e, wake: make(chan struct{}, 1),
		buckets: map[string]*bucket{}, byRun: map[*run]*waiter{},
	}
}

// kick asks for a pass. It never blocks.
func (s *scheduler) kick() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *scheduler) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.byRun)
}

// add puts a run in line, in place of what it waited for before, and asks for a pass: capacity may have
// come between the run's own look and now.
func (s *scheduler) add(w *waiter) {
	w.key = w.run.exec.Pattern.Name + "\x00" + strings.Join(w.need.Capabilities, "\x00")
	if !w.needsSlot || len(w.need.Exclude) > 0 {
		w.key += "\x00\x00" + w.run.exec.ID
	}
	s.mu.Lock()
	s.drop(w.run)
	b := s.buckets[w.key]
	if b == nil {
		b = &bucket{}
		s.buckets[w.key] = b
	}
	b.queues[w.level] = append(b.queues[w.level], w)
	b.live++
	s.byRun[w.run] = w
	s.mu.Unlock()
	s.kick()
}

// remove takes a run out of line; what it was granted already is in its inbox, and will be given back.
func (s *scheduler) remove(r *run) {
	s.mu.Lock()
	s.drop(r)
	s.mu.Unlock()
}

// drop removes a run's waiter. The caller holds mu.
func (s *scheduler) drop(r *run) {
	w := s.byRun[r]
	if w == nil {
		return
	}
	w.gone = true
	w.run = nil
	delete(s.byRun, r)
	b := s.buckets[w.key]
	if b.live--; b.live == 0 {
		delete(s.buckets, w.key)
	}
}

// blocking tells whether a run that wants its first slot would overtake one that waits for the same.
func (s *scheduler) blocking(pattern string, need core.TaskNeed) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.buckets) == 0 {
		return false
	}
	_, waits := s.buckets[pattern+"\x00"+strings.Join(need.Capabilities, "\x00")]
	return waits
}

func (s *scheduler) loop() {
	defer s.eng.wg.Done()
	for {
		select {
		case <-s.wake:
			s.pass()
		case <-s.eng.quit:
			return
		}
	}
}

// pass serves waiters until nobody can be served.
func (s *scheduler) pass() {
	config := s.eng.config.Load()
	now := s.eng.clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	blocked := map[*bucket]bool{}
	full := false
	for {
		w, b := s.best(now, config.PriorityAging, blocked, full)
		if w == nil {
			return
		}
		if w.needsSlot {
			switch s.eng.limits.take(w.run.exec.Pattern.Name, w.own, config) {
			case fullInAll:
				full = true
				continue
			case fullOfPattern:
				blocked[b] = true
				continue
			}
		}
		agents := s.eng.agents.Reserve(w.need, w.count)
		if len(agents) == 0 {
			if w.needsSlot {
				s.eng.limits.give(w.run.exec.Pattern.Name)
			}
			if !s.tell(w) {
				blocked[b] = true
			}
			continue
		}
		r, slot, ticket := w.run, w.needsSlot, w.ticket
		s.drop(r)
		if !r.inbox.put(message{kind: msgAgents, agents: agents, slot: slot, ticket: ticket}) {
			s.eng.giveBack(r, agents, slot)
		}
	}
}

// tell sends a run back to think when the last agent that fits its narrowed need has left: it may go on
// without, or take an agent that it avoided. It returns false when the waiter stays. The caller holds mu.
func (s *scheduler) tell(w *waiter) bool {
	if len(w.need.Exclude) == 0 {
		return false
	}
	if s.eng.agents.CountCapable(w.need) > 0 {
		w.told = false
		return false
	}
	if w.told {
		return false
	}
	r, ticket := w.run, w.ticket
	s.drop(r)
	r.inbox.put(message{kind: msgAgents, ticket: ticket})
	return true
}

// best returns the waiter with the highest priority, age counted in. The caller holds mu.
func (s *scheduler) best(now time.Time, aging time.Duration, blocked map[*bucket]bool, full bool) (*waiter, *bucket) {
	var best *waiter
	var from *bucket
	var bestScore time.Duration
	for _, b := range s.buckets {
		if blocked[b] {
			continue
		}
		for level := range b.queues {
			w := b.head(level)
			if w == nil || (full && w.needsSlot) {
				continue
			}
			score := time.Duration(level)*aging + now.Sub(w.since)
			if best == nil || score > bestScore || (score == bestScore && w.run.exec.ID < best.run.exec.ID) {
				best, from, bestScore = w, b, score
			}
		}
	}
	return best, from
}

// head returns the first live waiter of a queue.
func (b *bucket) head(level int) *waiter {
	q := b.queues[level]
	for len(q) > 0 && q[0].gone {
		q[0] = nil
		q = q[1:]
	}
	b.queues[level] = q
	if len(q) == 0 {
		return nil
	}
	return q[0]
}

// giveBack returns what a run was granted and cannot use.
func (e *Engine) giveBack(r *run, agents []string, slot bool) {
	for _, id := range agents {
		e.agents.Release(id, "", "")
	}
	if slot {
		e.limits.give(r.exec.Pattern.Name)
		e.waiters.kick()
	}
}

// priorityLevel is the index of a priority in core.Priorities.
func priorityLevel(p core.Priority) int {
	for i, known := range core.Priorities {
		if p == known {
			return i
		}
	}
	return 1 // normal
}
