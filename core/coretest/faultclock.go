package coretest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/wardroom/wardroom/core"
)

var _ core.Clock = (*FaultClock)(nil)

// Skew is by how much a FaultClock differs from the system's.
type Skew struct {
	// Set is a step of the wall clock, as a person makes who sets it: no time passed, and timers wait on.
	Set time.Duration `json:"set"`
	// Passed is time that went by at once: timers that became due run.
	Passed time.Duration `json:"passed"`
}

// skewSeen is appended to the name of the file of a skew for the one that says what the clock shows.
const skewSeen = ".seen"

// skewEvery is how often a FaultClock looks at its file.
const skewEvery = 5 * time.Millisecond

// FaultClock is the system's clock, moved by another process: a rig writes by how much into a file (WriteSkew). Only builds
// with the tag faultclock use it. All methods are safe for concurrent use.
type FaultClock struct {
	path  string
	done  chan struct{}
	ended chan struct{} // closed by follow

	mu     sync.Mutex // guards all below
	skew   Skew
	timers map[*faultTimer]struct{}
}

// NewFaultClock returns a clock that goes by the file of that name, which need not be there yet. It looks at the file
// until Close.
func NewFaultClock(path string) *FaultClock {
	c := &FaultClock{path: path, done: make(chan struct{}), ended: make(chan struct{}), timers: map[*faultTimer]struct{}{}}
	c.look()
	go c.follow()
	return c
}

// Close ends the following of the file, and returns once it has. The process that the clock is made for ends without it.
func (c *FaultClock) Close() {
	close(c.done)
	<-c.ended
}

func (c *FaultClock) follow() {
	defer close(c.ended)
	tick := time.NewTicker(skewEvery)
	defer tick.Stop()
	for {
		select {
		case <-c.done:
			return
		case <-tick.C:
			c.look()
		}
	}
}

// look reads the file, and says what it read once that is in effect.
func (c *FaultClock) look() {
	text, err := os.ReadFile(c.path)
	var skew Skew
	if err != nil || json.Unmarshal(text, &skew) != nil {
		return // not there yet
	}
	c.mu.Lock()
	changed := skew != c.skew
	passed := skew.Passed - c.skew.Passed
	c.skew = skew
	if passed != 0 {
		for t := range c.timers {
			if t.real.Stop() {
				t.at -= passed
				t.real.Reset(max(t.at-monotonic(), 0))
			}
		}
	}
	c.mu.Unlock()
	if _, err := os.Stat(c.path + skewSeen); changed || err != nil {
		_ = replaceFile(c.path+skewSeen, text) // the rig that waits for it says so
	}
}

var processBegan = time.Now()

// monotonic is the system's time, without what a clock of ours adds.
func monotonic() time.Duration { return time.Since(processBegan) }

// Now implements core.Clock.
func (c *FaultClock) Now() time.Time {
	c.mu.Lock()
	skew := c.skew
	c.mu.Unlock()
	now := time.Now()
	// The reading begins at an hour, because one below zero is none.
	return reading(now.Add(skew.Passed+skew.Set), time.Hour+now.Sub(processBegan)+skew.Passed)
}

// AfterFunc implements core.Clock.
func (c *FaultClock) AfterFunc(d time.Duration, f func()) core.Timer {
	t := &faultTimer{clock: c, at: monotonic() + d}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timers[t] = struct{}{}
	t.real = time.AfterFunc(d, func() {
		c.forget(t)
		f()
	})
	return t
}

func (c *FaultClock) forget(t *faultTimer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.timers, t)
}

// faultTimer is a pending AfterFunc.
type faultTimer struct {
	clock *FaultClock
	real  *time.Timer
	at    time.Duration // when it is due, of the system's time
}

// Stop implements core.Timer.
func (t *faultTimer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	delete(t.clock.timers, t)
	return t.real.Stop()
}

// WriteSkew sets the clock that goes by the file of that name.
func WriteSkew(path string, skew Skew) error {
	text, err := json.Marshal(skew)
	if err != nil {
		return err
	}
	return replaceFile(path, text)
}

// SkewSeen returns what the clock that goes by the file of that name shows; the zero value before it looked.
func SkewSeen(path string) (skew Skew, err error) {
	text, err := os.ReadFile(path + skewSeen)
	if os.IsNotExist(err) {
		return skew, nil
	}
	if err != nil {
		return skew, err
	}
	return skew, json.Unmarshal(text, &skew)
}

// replaceFile writes a file that is never seen half written.
func replaceFile(path string, text []byte) error {
	next := filepath.Join(filepath.Dir(path), ".new-"+filepath.Base(path))
	if err := os.WriteFile(next, text, 0o600); err != nil {
		return err
	}
	return os.Rename(next, path)
}
