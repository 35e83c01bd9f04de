// Package pause waits on the injected clock: for a time, and longer and longer before a call that failed is made
// again. It wakes what waits for work.
//
// It starts no goroutine, and knows no policy: how long, how often and for what is the caller's matter. Services
// of core call it.
package pause

import (
	"context"
	"time"

	"github.com/wardroom/wardroom/core"
)

// After returns a channel that is closed once d has passed, and what frees the timer.
func After(clock core.Clock, d time.Duration) (due <-chan struct{}, stop func()) {
	over := make(chan struct{})
	timer := clock.AfterFunc(max(d, 0), func() { close(over) })
	return over, func() { timer.Stop() }
}

// For waits. It returns false if ctx ended first.
func For(ctx context.Context, clock core.Clock, d time.Duration) bool {
	due, stop := After(clock, d)
	defer stop()
	select {
	case <-ctx.Done():
		return false
	case <-due:
		return true
	}
}

// Wake wakes the goroutine that receives from ch, now or at its next receive. ch has room for one: several wakes before that are one.
// It returns at once.
func Wake(ch chan<- struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
