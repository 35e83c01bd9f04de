package agents

import (
	"cmp"
	"sync"
	"sync/atomic"
)

// unsettled counts the reports of a session that the engine has and did not settle yet.
//
// Reports are counted in two generations that a slow rotation separates: a count that outlives a whole
// generation means reports that will not settle, without a time stamp for each.
type unsettled struct {
	waiting atomic.Bool // the reader waits

	mu         sync.Mutex // guards all below
	counts     [2]int
	generation int
	bytes      int
	rotated    int64         // of the session's stopwatch, at the last rotation
	wake       chan struct{} // made when the reader waits
}

// add counts a report and returns its generation.
func (u *unsettled) add(size int) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	g := u.generation & 1
	u.counts[g]++
	u.bytes += size
	return g
}

// settle takes a report off the count.
func (u *unsettled) settle(generation, size int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.counts[generation]--
	u.bytes -= size
	if u.wake != nil {
		close(u.wake)
		u.wake = nil
	}
}

// full returns a channel that is closed at the next settlement, or nil when there is room.
func (u *unsettled) full(reports, bytes int) <-chan struct{} {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.counts[0]+u.counts[1] < reports && u.bytes < bytes {
		return nil
	}
	if u.wake == nil {
		u.wake = make(chan struct{})
	}
	return u.wake
}

// rotate starts a new generation if the present one is at least age old. It returns false when reports of
// the generation before are still unsettled: they are older than age.
func (u *unsettled) rotate(now, age int64) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.rotated = cmp.Or(u.rotated, now)
	if now-u.rotated < age {
		return true
	}
	u.rotated = now
	if u.counts[(u.generation+1)&1] > 0 {
		return false
	}
	u.generation++
	return true
}

// gate stops reading while too many reports are unsettled, so that TCP holds the agent back.
func (s *session) gate() {
	c := s.svc.config.Load()
	wake := s.unsettled.full(c.MaxUnsettled, c.MaxUnsettledBytes)
	if wake == nil {
		return
	}
	s.unsettled.waiting.Store(true)
	defer s.unsettled.waiting.Store(false)
	for wake != nil {
		select {
		case <-wake:
		case <-s.dead:
			return
		}
		c = s.svc.config.Load()
		wake = s.unsettled.full(c.MaxUnsettled, c.MaxUnsettledBytes)
	}
}
