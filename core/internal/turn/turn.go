// Package turn is a lock that is waited for until a context ends, and whose holder can be asked to give way: for work
// that may wait long, such as for a host that does not answer, and changes that must not wait for it.
//
// It knows nothing of that work, and stops none that does not look at its context. Services of core call it.
package turn

import (
	"context"
	"errors"
	"sync"
)

// ErrWanted is the cause of a context of Take that ended because of a Claim.
var ErrWanted = errors.New("a change is waited for")

// Turn is a lock. Make it with New. Safe for concurrent use.
type Turn struct {
	held chan struct{} // has one value while it is held; those who wait come in order

	mu     sync.Mutex // guards all below
	claims int        // that wait
	end    context.CancelCauseFunc
}

// New returns a Turn that is free.
func New() *Turn { return &Turn{held: make(chan struct{}, 1)} }

// Take waits for the lock. The context that it returns is that of the holder: it ends with ctx, with Release, and with
// the cause ErrWanted once a Claim waits. An error is that of ctx.
func (t *Turn) Take(ctx context.Context) (context.Context, error) {
	if err := t.wait(ctx); err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	ctx, t.end = context.WithCancelCause(ctx)
	if t.claims > 0 {
		t.end(ErrWanted)
	}
	return ctx, nil
}

// Claim waits for the lock, and has whoever holds it by Take, or takes it before, give way. An error is that of ctx.
func (t *Turn) Claim(ctx context.Context) error {
	t.mu.Lock()
	t.claims++
	if t.end != nil {
		t.end(ErrWanted)
	}
	t.mu.Unlock()
	err := t.wait(ctx)
	t.mu.Lock()
	t.claims--
	t.mu.Unlock()
	return err
}

func (t *Turn) wait(ctx context.Context) error {
	select {
	case t.held <- struct{}{}:
		return nil
	default:
	}
	select {
	case t.held <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Release frees the lock, which the caller holds.
func (t *Turn) Release() {
	t.mu.Lock()
	if t.end != nil {
		t.end(nil)
		t.end = nil
	}
	t.mu.Unlock()
	<-t.held
}
