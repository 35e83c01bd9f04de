package testbed

import (
	"context"
	"fmt"
	"time"
)

// lookEvery is how often Until looks.
const lookEvery = 10 * time.Millisecond

// Until looks until a condition holds, for a limited time. An error of the condition ends it, unless the time was over.
func Until(ctx context.Context, limit time.Duration, what string, holds func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("waited %s until %s", limit, what))
	defer cancel()
	for {
		ok, err := holds(ctx)
		if ok || err != nil && ctx.Err() == nil {
			return err
		}
		if Pause(ctx, lookEvery) != nil {
			return context.Cause(ctx)
		}
	}
}

// Pause waits for d, or returns the error of ctx if that ends first.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
