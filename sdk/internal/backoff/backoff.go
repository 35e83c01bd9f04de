// Package backoff is how long to wait before something that failed is tried again: twice as long each time, up to a
// bound, and half of it by chance, so that many who lost the same server do not come back in step.
//
// It knows no policy: what may be repeated, and how often, is the caller's matter. Clients of the sdk call it.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

// Backoff counts the waits. Min and Max are needed. One goroutine uses it.
type Backoff struct {
	Min, Max time.Duration
	next     time.Duration
}

// Next returns the next wait: between the half of it and the whole.
func (b *Backoff) Next() time.Duration {
	b.next = min(max(2*b.next, b.Min), b.Max)
	half := b.next / 2
	return half + rand.N(b.next-half+1)
}

// Reset makes the next wait the first one again, after a try that worked.
func (b *Backoff) Reset() { b.next = 0 }

// Wait waits for the next wait. It returns false if ctx ended first.
func (b *Backoff) Wait(ctx context.Context) bool {
	select {
	case <-time.After(b.Next()):
		return true
	case <-ctx.Done():
		return false
	}
}
