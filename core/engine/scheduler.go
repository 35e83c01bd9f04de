package engine

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/pause"
)

// scheduler holds the runs that wait for a slot or for agents, and serves them by priority and age; of the same priority,
// principals take turns, and so do the patterns of each.
//
// Waiters of one principal and pattern with one need stand in one bucket, in a queue per priority: when the head of a
// bucket cannot be served, none behind it can, so a pass costs steps per bucket and not per waiter.
type scheduler struct {
	eng  *Engine
	wake chan struct{}

	fresh atomic.Bool // rests are over: capacity is surely new
	holds atomic.Bool // holder is not nil: agents are taken by a pass only

	mu      sync.Mutex // guards all below
	buckets map[string]*bucket
	byRun   map[*run]*waiter
	turns   [4]turns   // by priority level
	round   round      // of a pass; kept for its memory
	alarm   core.Timer // ends the next rest, or nil
	// holder is the first of those who need several agents at once and cannot be served yet, or nil: it keeps what comes
	// free for it, and its slot, so that those behind it cannot take one agent after the other for ever. There is one at
	// most, so that no two hold what the other lacks; and whoever comes before it, or runs already, takes what it holds.
	holder *waiter
	paced  time.Time // within a pass: when one that has to wait for its turn to begin may do so
	first  bool      // reports within a pass whether each waiter for several agents so far was served
}

// waiter is one run's request for agents.
type waiter struct {
	run       *run
	ticket    uint64 // of the run's request
	need      core.TaskNeed
	count     int
	least     int // agents that there must be, busy or not, before any is used
	needsSlot bool
	begins    bool // it is a flat execution without any task so far
	own       int  // the pattern's own limit
	since     time.Time
	level     int
	key       string
	flow      *flow  // of its principal
	pattern   *flow  // of its pattern, within that
	turn      uint64 // of the scheduler's holder: that which its pattern had when it began to hold
	told      bool   // its run knows that no agent fits, busy or not

	roles []roleWant  // of an org chart: what it lacks, instead of need and count
	held  []roleGrant // of the scheduler's holder: what it has so far, by roles; it has its slot too
	// possible is whether it could be served if every agent were free, as judged then.
	judged   time.Time
	possible bool
	all      bool // all of roles or nothing
	gone     bool // removed; skipped when it comes to the head
}

type bucket struct {
	queues [4]queue // by priority level
	live   int
	// blocked is set within a pass: no waiter of the bucket can be served.
	blocked bool
	// An org chart takes all of its roles or nothing. Slots that it took and gave back look like new capacity,
	// so it is not tried again before rest is over, unless capacity is surely new.
	rest      time.Duration
	restUntil time.Time
}

// Rests of a bucket whose attempts are in vain.
const (
	shortRest = 10 * time.Millisecond
	longRest  = 320 * time.Millisecond
)

// queue holds waiters by age, oldest first.
type queue struct {
	list []*waiter
	gone int // of list
}

func newScheduler(e *Engine) *scheduler {
	return &scheduler{
		eng: e, wake: make(chan struct{}, 1),
		buckets: map[string]*bucket{}, byRun: map[*run]*waiter{},
	}
}

// kick asks for a pass. It never blocks.
func (s *scheduler) kick() { pause.Wake(s.wake) }

// afresh asks for a pass that considers every waiter.
func (s *scheduler) afresh() {
	s.fresh.Store(true)
	s.kick()
}

func (s *scheduler) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.byRun)
}

// add puts a run in line, in place of what it waited for before, and asks for a pass: capacity may have
// come between the run's own look and now.
func (s *scheduler) add(w *waiter) {
	if w.key == "" {
		w.key = bucketKey(w.run.exec, w.need)
		// One that runs already may be at another step: its need differs from that of those who begin.
		if !w.needsSlot || w.run.exec.Status == core.ExecutionRunning || len(w.need.Exclude) > 0 {
			w.key += "\x00\x00" + w.run.exec.ID
		}
	}
	s.mu.Lock()
	s.drop(w.run)
	b := s.buckets[w.key]
	if b == nil {
		b = &bucket{}
		s.buckets[w.key] = b
	}
	b.queues[w.level].insert(w)
	b.live++
	w.flow = s.turns[w.level].join(w.run.exec.CreatedBy, w.level)
	w.pattern = w.flow.patterns.join(w.run.exec.Pattern.Name, w.level)
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
	if w == s.holder {
		s.unhold()
	}
	w.gone = true
	w.run = nil
	w.flow.live--
	w.pattern.live--
	if len(s.byRun) == 1 { // no other waits any more: all begin anew
		s.turns = [4]turns{}
	}
	delete(s.byRun, r)
	b := s.buckets[w.key]
	if b.live--; b.live == 0 {
		delete(s.buckets, w.key)
		if len(s.buckets) == 0 && s.alarm != nil {
			s.alarm.Stop()
			s.alarm = nil
		}
		return
	}
	b.queues[w.level].forget()
}

// insert adds a waiter. One that waits for something new is older than some that are there, and so are
// those of a restart.
func (q *queue) insert(w *waiter) {
	q.list = append(q.list, w)
	for i := len(q.list) - 1; i > 0 && w.since.Before(q.list[i-1].since); i-- {
		q.list[i], q.list[i-1] = q.list[i-1], w
	}
}

// forget counts a waiter that is gone. One that waits for very long must not keep all that came and went
// behind it.
func (q *queue) forget() {
	const some = 64
	if q.gone++; q.gone < some || 2*q.gone < len(q.list) {
		return
	}
	q.list = slices.DeleteFunc(q.list, func(w *waiter) bool { return w.gone })
	q.gone = 0
}

// head returns the first live waiter, or nil.
func (q *queue) head() *waiter {
	for len(q.list) > 0 && q.list[0].gone {
		q.list[0] = nil
		q.list = q.list[1:]
		q.gone--
	}
	if len(q.list) == 0 {
		return nil
	}
	return q.list[0]
}

// bucketKey names the bucket of those who begin.
func bucketKey(exec *core.Execution, need core.TaskNeed) string {
	return exec.CreatedBy + "\x00" + exec.Pattern.Name + "\x00" + strings.Join(need.Capabilities, "\x00")
}

// blocking reports whether a run that wants its first slot would overtake one of the same principal that waits for the same.
func (s *scheduler) blocking(exec *core.Execution, need core.TaskNeed) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.buckets) == 0 {
		return false
	}
	_, waits := s.buckets[bucketKey(exec, need)]
	return waits
}

// stands reports whether anybody stands in line with this key.
func (s *scheduler) stands(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, waits := s.buckets[key]
	return waits
}

func (s *scheduler) loop() {
	for {
		select {
		case <-s.wake:
			s.pass()
		case <-s.eng.quit:
			s.mu.Lock()
			if s.alarm != nil {
				s.alarm.Stop()
			}
			s.mu.Unlock()
			return
		}
	}
}

// pass serves waiters until none can be served. Candidates are the heads of all queues, by the turns of their flows
// and by priority with age counted in: each is looked at once, and the one behind it when it was served.
func (s *scheduler) pass() {
	config := s.eng.config.Load()
	now := s.eng.clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fresh.Swap(false) {
		for _, b := range s.buckets {
			b.rest, b.restUntil = 0, time.Time{}
		}
		s.recheck() // agents may be gone
		for r := range s.byRun {
			if r.sync {
				r.inbox.put(message{kind: msgLook})
			}
		}
	}
	round := s.collect(now, config.PriorityAging)
	full := false
	s.first, s.paced = true, time.Time{}
	for f := round.next(); f != nil; f = round.next() {
		b, w, at := f.heads[0].bucket, f.heads[0].waiter, f.heads[0].at
		var behind *candidate
		if !b.blocked && !now.Before(b.restUntil) && !(full && w.needsSlot) && s.serve(w, b, config, &full) {
			s.turns[w.level].served(w.flow, w.flow.turn)
			w.flow.patterns.served(w.pattern, at)
			if next := b.queues[w.level].head(); next != nil {
				c := newCandidate(b, next, now, config.PriorityAging)
				c.at = next.pattern.turn
				behind = &c
			}
		}
		round.passed(f, behind)
	}
	wake := s.paced
	for _, b := range s.buckets {
		b.blocked = false
		if now.Before(b.restUntil) {
			wake = sooner(wake, b.restUntil)
		}
	}
	if s.alarm != nil {
		s.alarm.Stop()
		s.alarm = nil
	}
	if !wake.IsZero() {
		s.alarm = s.eng.clock.AfterFunc(wake.Sub(now), s.kick)
	}
}

// serve gives a waiter what it waits for and takes it out of line, or returns false. The caller holds mu.
func (s *scheduler) serve(w *waiter, b *bucket, config *Config, full *bool) (served bool) {
	r := w.run
	var young *youth
	if w.begins {
		now := s.eng.clock.Now()
		var wait time.Duration
		if young, wait = s.eng.pace.begin(r.exec.CreatedBy, now); young == nil {
			s.paced = sooner(s.paced, now.Add(wait))
			b.blocked = true
			return false
		}
		defer func() {
			if !served {
				s.eng.pace.undo(young)
			}
		}()
	}
	if w.needsSlot && w != s.holder {
		switch s.eng.limits.take(r.exec.Pattern.Name, w.own, config) {
		case fullInAll:
			if s.yieldTo(w) { // the holder has a slot
				s.eng.pace.undo(young)
				return s.serve(w, b, config, full)
			}
			*full = true
			return false
		case fullOfPattern:
			b.blocked = true
			return false
		}
	}
	if w.roles != nil || w.all {
		return s.serveRoles(w, b)
	}
	var agents []string
	enough := w.least <= 1 || s.eng.agents.CountCapable(w.need) >= w.least
	if enough {
		agents = s.eng.agents.Reserve(w.need, w.count)
	}
	if enough && len(agents) == 0 && s.yieldAgents(w, w.need) {
		agents = s.eng.agents.Reserve(w.need, w.count)
	}
	if len(agents) == 0 {
		if w.needsSlot {
			s.eng.limits.give(r.exec.Pattern.Name)
		}
		if s.tell(w) {
			return true
		}
		b.blocked = true
		return false
	}
	slot, ticket := w.needsSlot, w.ticket
	s.drop(r)
	if !r.inbox.put(message{kind: msgAgents, agents: agents, slot: slot, youth: young, ticket: ticket}) {
		s.eng.pace.end(young)
		s.eng.giveBack(r, agents, slot)
	}
	return true
}

// serveRoles gives an org chart the agents of its roles. Its slot, if it needs one, is taken. The caller holds mu.
func (s *scheduler) serveRoles(w *waiter, b *bucket) bool {
	grants, ok := w.held, false
	if w == s.holder {
		ok = s.eng.reserveRoles(w.roles, w.all, grants)
	} else {
		for _, want := range w.roles {
			s.yieldAgents(w, want.need)
		}
		var noise bool
		if grants, noise = s.eng.bindRoles(w.roles, w.all); grants != nil {
			ok = true
		} else if noise {
			b.rest = min(max(2*b.rest, shortRest), longRest)
			b.restUntil = s.eng.clock.Now().Add(b.rest)
		}
	}
	if !ok {
		s.hold(w, b)
		b.blocked = true
		return false
	}
	b.rest = 0
	var agents []string
	for _, g := range grants {
		agents = append(agents, g.agents...)
	}
	r := w.run
	m := message{kind: msgAgents, agents: agents, grants: grants, slot: w.needsSlot, ticket: w.ticket}
	if w == s.holder { // they are the run's now
		w.held, s.holder = nil, nil
		s.holds.Store(false)
	}
	s.drop(r)
	if !r.inbox.put(m) {
		s.eng.giveBack(r, agents, m.slot)
	}
	return true
}

// hold makes a waiter that could not be served the holder, if it is the first in the pass of those who could be served
// at all; any other gives its slot back. The caller holds mu.
func (s *scheduler) hold(w *waiter, b *bucket) {
	switch {
	case w == s.holder && s.first:
		s.first = false
		return
	case w == s.holder: // another came before it
		s.unhold()
		return
	case w.all && s.first && s.feasible(w):
		s.first = false
		if s.holder != nil {
			s.unhold()
		}
		w.held, s.holder, w.turn = make([]roleGrant, len(w.roles)), w, w.pattern.turn
		s.holds.Store(true)
		s.eng.reserveRoles(w.roles, true, w.held) // from now on it keeps what is free
		b.rest, b.restUntil = 0, time.Time{}
		return
	}
	if w.needsSlot {
		s.eng.limits.give(w.run.exec.Pattern.Name)
	}
}

// feasibleFor is how long it is believed that a waiter can be served, or cannot.
const feasibleFor = time.Second

// feasible reports whether a waiter could be served if every agent were free. The caller holds mu.
func (s *scheduler) feasible(w *waiter) bool {
	now := s.eng.clock.Now()
	if w.judged.IsZero() || now.Sub(w.judged) >= feasibleFor {
		w.judged, w.possible = now, s.eng.feasible(w.roles)
	}
	return w.possible
}

// unhold ends the holding: what was held is free. The caller holds mu.
func (s *scheduler) unhold() {
	w := s.holder
	s.holder = nil
	s.holds.Store(false)
	s.eng.releaseGrants(w.held)
	w.held = nil
	if w.needsSlot {
		s.eng.limits.give(w.run.exec.Pattern.Name)
	}
}

// letGo ends the holding: no run is to begin any more.
func (s *scheduler) letGo() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holder != nil {
		s.unhold()
	}
}

// recheck ends the holding of one that cannot be served any more, and drops agents that are gone. The caller holds mu.
func (s *scheduler) recheck() {
	w := s.holder
	if w == nil {
		return
	}
	if w.judged = (time.Time{}); !s.feasible(w) {
		s.unhold()
		return
	}
	for i := range w.held {
		w.held[i].agents = slices.DeleteFunc(w.held[i].agents, func(agent string) bool {
			if s.eng.fits(w.roles[i].need, agent) {
				return false
			}
			s.eng.agents.Release(agent, "", "")
			return true
		})
	}
}

// yieldTo ends the holding if w comes before the holder: it runs already, or its turn in this pass is first. It tells
// whether something was freed. The caller holds mu.
func (s *scheduler) yieldTo(w *waiter) bool {
	if s.holder == nil || s.holder == w || w.needsSlot && !s.before(w, s.holder) {
		return false
	}
	s.unhold()
	return true
}

// yieldAgents is yieldTo if the holder has an agent that fits a need. A flat execution that runs does not go before the
// holder for that: it holds no agent that the holder could wait for. The caller holds mu.
func (s *scheduler) yieldAgents(w *waiter, need core.TaskNeed) bool {
	if s.holder == nil || s.holder == w || (w.needsSlot || w.roles == nil) && !s.before(w, s.holder) {
		return false
	}
	for i := range s.holder.held {
		for _, agent := range s.holder.held[i].agents {
			if s.eng.fits(need, agent) {
				s.unhold()
				return true
			}
		}
	}
	return false
}

// before reports whether a comes before b.
func (s *scheduler) before(a, b *waiter) bool {
	if a.level == b.level {
		x, y := a.flow.turn, b.flow.turn
		if a.flow == b.flow {
			x, y = s.turnOf(a), s.turnOf(b)
		}
		if x != y {
			return x < y
		}
	}
	now, aging := s.eng.clock.Now(), s.eng.config.Load().PriorityAging
	x, y := newCandidate(nil, a, now, aging), newCandidate(nil, b, now, aging)
	return x.before(&y)
}

// turnOf returns the turn of its pattern in which a waiter is looked at.
func (s *scheduler) turnOf(w *waiter) uint64 {
	if w == s.holder {
		return min(w.turn, w.pattern.turn)
	}
	return w.pattern.turn
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
