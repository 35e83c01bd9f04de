// Package coretest holds what tests of several core packages share: a clock that tests move, and a wait
// for conditions. It is imported by tests only.
package coretest

import (
	"sort"
	"sync"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
)

var _ core.Clock = (*Clock)(nil)

// Clock is a core.Clock that stands still until Advance moves it.
type Clock struct {
	mu     sync.Mutex // guards all below
	now    time.Time
	timers []*timer
	seq    int
}

// NewClock returns a clock at a fixed instant.
func NewClock() *Clock {
	return &Clock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
}

// Now implements core.Clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
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

// WaitFor polls cond until it holds, and fails the test with what after ten seconds of real time.
func WaitFor(tb testing.TB, what string, cond func() bool) {
	tb.Helper()
	deadline := time.Now().Add(10 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !cond() {
		if time.Now().After(deadline) {
			tb.Fatalf("timed out waiting for %s", what)
		}
		<-tick.C
	}
}
