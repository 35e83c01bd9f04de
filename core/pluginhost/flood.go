package pluginhost

import (
	"sync"
	"time"
)

// How many lines of a plugin go into the log of the service, in how long.
const (
	floodLines = 1000
	floodTime  = 10 * time.Second
)

// flood holds back the lines of a plugin that writes without end. The zero value is ready.
type flood struct {
	mu     sync.Mutex // guards all below
	until  time.Time  // of the present stretch
	passed int        // in it
	held   int        // in it
}

// pass reports whether a line is passed on now, whether it is the first that is not, and how many were held back in the
// stretch that ended before it.
func (f *flood) pass(now time.Time) (ok, first bool, before int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if left := f.until.Sub(now); left <= 0 || left > floodTime { // a clock that is set back begins anew
		before = f.held
		f.until, f.passed, f.held = now.Add(floodTime), 0, 0
	}
	if f.passed < floodLines {
		f.passed++
		return true, false, before
	}
	f.held++
	return false, f.held == 1, before
}
