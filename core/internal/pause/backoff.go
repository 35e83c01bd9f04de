package pause

import (
	"cmp"
	"time"
)

// What the zero Backoff begins and ends with: for calls of services that are away for a moment.
const (
	defaultFirst = 250 * time.Millisecond
	defaultMost  = 15 * time.Second
)

// Backoff is how long to wait before a call is made again: it doubles each time, up to a bound. One goroutine uses it.
type Backoff struct {
	First, Most time.Duration // 0: 250 ms, 15 s
	now         time.Duration
}

// Next returns the next wait.
func (b *Backoff) Next() time.Duration {
	b.now = min(max(2*b.now, cmp.Or(b.First, defaultFirst)), cmp.Or(b.Most, defaultMost))
	return b.now
}

// Reset makes the next wait the first one again, after a call that worked.
func (b *Backoff) Reset() { b.now = 0 }

// Fresh reports whether nothing has failed since the last Reset.
func (b *Backoff) Fresh() bool { return b.now == 0 }
