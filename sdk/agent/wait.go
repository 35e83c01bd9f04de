package agent

import (
	"context"
	"time"
)

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
