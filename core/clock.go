package core

import "time"

// Clock tells the time and runs functions later. It is injected everywhere, so that tests own time.
// All methods are safe for concurrent use.
type Clock interface {
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

// Now returns the present time in UTC.
func (SystemClock) Now() time.Time { return time.Now().UTC() }

// AfterFunc is time.AfterFunc.
func (SystemClock) AfterFunc(d time.Duration, f func()) Timer { return time.AfterFunc(d, f) }
