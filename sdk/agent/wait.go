package agent

import (
	"context"
	"math"
	"time"
)

// millis converts a number of milliseconds that the server sent; one that no duration holds is the longest.
func millis(ms int64) time.Duration {
	return time.Duration(min(ms, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
}

// wait waits for d, and returns early when ctx or stop ends.
func wait(ctx context.Context, stop <-chan struct{}, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	case <-stop:
	}
}
