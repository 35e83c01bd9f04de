package core

import "time"

// Clock tells the time and runs functions later. It is injected everywhere, so that tests own time.
// All methods are safe for concurrent use.
//
// The wall clock may be set while the process lives. Limits are therefore kept by the monotonic reading that times of
// Now have: Sub, Before and After of two such times tell how much time passed, whatever became of the wall clock. What
// was stored and read again has no such reading, and UTC, Round and the like drop it: such times are compared with the
// wall clock, which is right for what is about dates (ages of records, plans across restarts), and must then be bounded
// by what they can mean.
type Clock interface {
	// Now returns the present time, with a monotonic reading, in any location: whoever writes a time writes it in UTC.
	Now() time.Time
	// AfterFunc runs f on its own goroutine once d has passed, unless the timer is stopped before.
	AfterFunc(d time.Duration, f func()) Timer
}

// Timer is a pending AfterFunc.
type Timer interface {
	// Stop prevents the call; it returns false when the function has run or was stopped before.
	Stop() bool
}

// SystemClock is the real clock.
type SystemClock struct{}

// Now is time.Now.
func (SystemClock) Now() time.Time { return time.Now() }

// AfterFunc is time.AfterFunc.
func (SystemClock) AfterFunc(d time.Duration, f func()) Timer { return time.AfterFunc(d, f) }

// OlderFunc reports whether at least age passed since a time that was stored, as far as the wall clock is to be believed.
// What is deleted for its age is asked about here: a clock that stepped forward must not make everything old at once.
// Safe for concurrent use.
type OlderFunc func(since time.Time, age time.Duration) bool

// OlderBy returns an OlderFunc that believes the clock.
func OlderBy(c Clock) OlderFunc {
	return func(since time.Time, age time.Duration) bool { return c.Now().Sub(since) >= age }
}

// Stopwatch turns times of a clock into nanoseconds since it was started, for limits that are kept in an integer. They
// follow the time that passes, and not the wall clock. It is immutable.
type Stopwatch struct{ started time.Time }

// NewStopwatch returns one that is started now.
func NewStopwatch(c Clock) Stopwatch { return Stopwatch{c.Now()} }

// At returns the reading at a time of the clock since the start; it is more than 0.
func (w Stopwatch) At(now time.Time) int64 { return max(int64(now.Sub(w.started)), 0) + 1 }
