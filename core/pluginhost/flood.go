package pluginhost

import (
	"sync"
	"time"
)

// How many lines of a plugin go into the log of the service, and about how many bytes of them, in how long.
const (
	floodLines = 1000
	floodBytes = 1 << 20
	floodTime  = 10 * time.Second
)

// flood holds back the lines of a plugin that writes without end. The zero value is ready.
type flood struct {
	mu     sync.Mutex // guards all below
	until  time.Time  // of the present stretch
	passed int        // in it
	bytes  int        // of those
	held   int        // in it
}

// pass reports whether a line of some bytes is passed on now, whether it is the first that is not, and how many were held back in the
// stretch that ended before it.
func (f *flood) pass(now time.Time, bytes int) (ok, first bool, before int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if left := f.until.Sub(now); left <= 0 || left > floodTime { // a clock that is set back begins anew
		before = f.held
		f.until, f.passed, f.bytes, f.held = now.Add(floodTime), 0, 0, 0
	}
	if f.passed < floodLines && f.bytes < floodBytes {
		f.passed++
		f.bytes += bytes
		return true, false, before
	}
	f.held++
	return false, f.held == 1, before
}
