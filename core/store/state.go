package store

import (
	"slices"
	"sort"
	"sync"

	"github.com/wardroom/wardroom/core"
)

// execState holds the fields of an execution that decide its index entries. The zero value means
// that there is no such execution.
type execState struct {
	pattern string
	status  core.ExecutionStatus
	refs    []string // definition hashes, sorted, without doubles
	facts   executionFacts
}

func (s execState) exists() bool { return s.status != "" }
func (s execState) active() bool { return s.exists() && !s.status.Terminal() }

func (s execState) equal(o execState) bool {
	return s.status == o.status && s.pattern == o.pattern && slices.Equal(s.refs, o.refs) && s.facts.equal(&o.facts)
}

// execChange is one execution's move from one state to another.
type execChange struct {
	id       string
	old, new execState
	spans    spanDelta // what it adds to the throughput
}

// statusCounts counts executions per status, in the order of core.ExecutionStatuses.
type statusCounts [5]int64

// definition is what is known of a hash without reading the store.
type definition struct {
	refs   int64
	stored bool // d/<hash> exists
}

// state is the writer's memory: derived from keys at open, changed only by the writer after a commit.
// Readers take mu for reading.
type state struct {
	mu       sync.RWMutex // guards all below
	active   map[string]execState
	order    []string // ids of active and some that ended since the last sweep, ascending
	counts   map[string]*statusCounts
	byStatus statusCounts
	total    int64
	defs     map[string]definition
	spans    spanSet
}

func newState() *state {
	return &state{active: map[string]execState{}, counts: map[string]*statusCounts{}, defs: map[string]definition{}}
}

// apply takes over one committed change. mu is held for writing.
func (s *state) apply(c *execChange) {
	s.count(c.old, -1)
	s.count(c.new, 1)
	switch {
	case c.new.active():
		if _, ok := s.active[c.id]; !ok {
			s.insert(c.id)
		}
		s.active[c.id] = c.new
	case c.old.active():
		delete(s.active, c.id)
		if len(s.order) > 64 && len(s.order) > 2*len(s.active) {
			s.sweep()
		}
	}
}

func (s *state) count(e execState, by int64) {
	if !e.exists() {
		return
	}
	c := s.counts[e.pattern]
	if c == nil {
		c = new(statusCounts)
		s.counts[e.pattern] = c
	}
	i := statusIndex(e.status)
	c[i] += by
	s.byStatus[i] += by
	s.total += by
	if *c == (statusCounts{}) {
		delete(s.counts, e.pattern)
	}
}

// insert keeps order sorted. Ids are made in order of time, so nearly always it appends.
func (s *state) insert(id string) {
	if n := len(s.order); n == 0 || s.order[n-1] < id {
		s.order = append(s.order, id)
		return
	}
	at := sort.SearchStrings(s.order, id)
	if at < len(s.order) && s.order[at] == id {
		return
	}
	s.order = slices.Insert(s.order, at, id)
}

// sweep drops the ids that ended. Done once half are dead, it costs a constant per ended execution.
func (s *state) sweep() {
	s.order = slices.DeleteFunc(s.order, func(id string) bool {
		_, ok := s.active[id]
		return !ok
	})
}

// addCounts takes over a stored counter at open.
func (s *state) addCounts(pattern string, c statusCounts) {
	if c == (statusCounts{}) {
		return
	}
	s.counts[pattern] = &c
	for i, n := range c {
		s.byStatus[i] += n
		s.total += n
	}
}

// totalOf is the number of executions with this pattern and status, either of which may be empty.
func (s *state) totalOf(pattern string, status core.ExecutionStatus) int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	i := statusIndex(status)
	switch {
	case pattern == "" && status == "":
		return s.total
	case pattern == "" && i >= 0:
		return s.byStatus[i]
	case status != "" && i < 0:
		return 0
	}
	c := s.counts[pattern]
	if c == nil {
		return 0
	}
	if status != "" {
		return c[i]
	}
	var sum int64
	for _, n := range c {
		sum += n
	}
	return sum
}

// totalOfAll is the number of executions with this pattern, if it is not empty, and any of these statuses, if there are
// some.
func (s *state) totalOfAll(pattern string, statuses []core.ExecutionStatus) (sum int64) {
	if len(statuses) == 0 {
		return s.totalOf(pattern, "")
	}
	for _, status := range statuses {
		sum += s.totalOf(pattern, status)
	}
	return sum
}

// activeIDs returns the ids of active executions in [lo, hi) that match, ascending; empty hi means no
// bound, empty pattern and status match all.
func (s *state) activeIDs(pattern string, status core.ExecutionStatus, lo, hi string) []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var ids []string
	for _, id := range s.order[sort.SearchStrings(s.order, lo):] {
		if hi != "" && id >= hi {
			break
		}
		e, ok := s.active[id]
		if ok && (pattern == "" || e.pattern == pattern) && (status == "" || e.status == status) {
			ids = append(ids, id)
		}
	}
	return ids
}
