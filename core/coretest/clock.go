// Package coretest holds what tests of several core packages share: a clock that tests move, and a wait
// for conditions. It is imported by tests only.
package coretest

import (
	"sort"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/wardroom/wardroom/core"
)

var _ core.Clock = (*Clock)(nil)

// Clock is a core.Clock that stands still until Advance moves it.
type Clock struct {
	mu     sync.Mutex    // guards all below
	now    time.Time     // the time that passes; timers go by it
	set    time.Duration // what Step added to the wall clock
	reads  bool          // times of Now have a monotonic reading
	timers []*timer
	seq    int
}

// NewClock returns a clock at a fixed instant.
func NewClock() *Clock {
	return &Clock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
}

// NewStepClock returns a clock like the system's: its times have a monotonic reading, and its wall clock may be set.
func NewStepClock() *Clock {
	c := NewClock()
	c.reads = true
	return c
}

// Step sets the wall clock of a NewStepClock forward, or back. No time passes: timers wait on.
func (c *Clock) Step(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set += d
}

// Now implements core.Clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.reads {
		return c.now
	}
	return reading(c.now.Add(c.set), c.now.Sub(time.Unix(0, 0)))
}

// reading makes a time of a wall clock and a monotonic reading that differ, which package time makes none of: it sets
// the fields of time.Time, the layout of which TestStepClock checks.
func reading(wall time.Time, monotonic time.Duration) time.Time {
	const (
		hasMonotonic = 1 << 63
		nanosBits    = 30
		since1885    = 2682288000 // seconds from 1885 to 1970
	)
	var t time.Time
	layout := (*struct {
		wall uint64
		ext  int64
		loc  *time.Location
	})(unsafe.Pointer(&t)) //nolint:gosec // for tests only, and the layout is checked by one
	layout.wall = hasMonotonic | uint64(wall.Unix()+since1885)<<nanosBits | uint64(wall.Nanosecond())
	layout.ext = int64(monotonic)
	return t
}

// AfterFunc implements core.Clock. f runs on the goroutine that calls Advance, which keeps tests in step.
func (c *Clock) AfterFunc(d time.Duration, f func()) core.Timer {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seq++
	t := &timer{clock: c, at: c.now.Add(d), seq: c.seq, f: f}
	c.timers = append(c.timers, t)
	return t
}

// Pending returns how many timers wait.
func (c *Clock) Pending() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.timers)
}

// Advance moves the clock by d, running due timers in order of their time, those they set included.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	until := c.now.Add(d)
	for {
		sort.Slice(c.timers, func(i, j int) bool {
			a, b := c.timers[i], c.timers[j]
			if !a.at.Equal(b.at) {
				return a.at.Before(b.at)
			}
			return a.seq < b.seq
		})
		if len(c.timers) == 0 || c.timers[0].at.After(until) {
			break
		}
		next := c.timers[0]
		c.timers = c.timers[1:]
		if next.at.After(c.now) {
			c.now = next.at
		}
		c.mu.Unlock()
		next.f()
		c.mu.Lock()
	}
	c.now = until
	c.mu.Unlock()
}

type timer struct {
	clock *Clock
	at    time.Time
	seq   int
	f     func()
}

// Stop implements core.Timer.
func (t *timer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	for i, other := range t.clock.timers {
		if other == t {
			t.clock.timers = append(t.clock.timers[:i], t.clock.timers[i+1:]...)
			return true
		}
	}
	return false
}

// WaitFor polls cond until it holds, and fails the test with what after a minute of real time.
func WaitFor(tb testing.TB, what string, cond func() bool) {
	tb.Helper()
	deadline := time.Now().Add(time.Minute)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !cond() {
		if time.Now().After(deadline) {
			tb.Fatalf("timed out waiting for %s", what)
		}
		<-tick.C
	}
}
