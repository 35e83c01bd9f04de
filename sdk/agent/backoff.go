package agent

import (
	"context"
	"math/rand/v2"
	"time"
)

// backoff is the wait between attempts to connect: doubling from min to max, jittered down to the half so
// that agents that lost the same server do not come back in step.
type backoff struct {
	min, max time.Duration
	next     time.Duration
}

func (b *backoff) reset() { b.next = 0 }

// delay returns the next wait.
func (b *backoff) delay() time.Duration {
	b.next = min(max(2*b.next, b.min), b.max)
	half := b.next / 2
	return half + rand.N(b.next-half+1)
}

// wait waits for d, and returns early when ctx or stop ends.
func wait(ctx context.Context, stop <-chan struct{}, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-stop:
	}
}
