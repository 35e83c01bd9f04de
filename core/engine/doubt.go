package engine

import (
	"context"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/doubt"
)

// landed finds out whether a transaction whose commit failed is stored all the same, by the first event that it appended. It waits
// until the store takes writes again: only then do reads show what reached the disk. ok is false when the engine stops first. What
// cannot be read is not stored: it is written once more.
func (e *Engine) landed(first core.Event) (stored, ok bool) {
	if first.Seq == 0 {
		return false, true
	}
	ok = true
	stored, _ = doubt.Stored(e.detached(), e.store, func(ctx context.Context) (bool, error) {
		page, _, err := e.store.Events(ctx, first.Subject, first.Seq-1, 1)
		return len(page) == 1 && page[0].Seq == first.Seq && page[0].Type == first.Type && page[0].Time.Equal(first.Time), err
	}, func() bool {
		ok = e.pause(storeRetry)
		return ok
	})
	return stored, ok
}

// later runs fn on a goroutine that Close waits for; false once the engine is closed.
func (e *Engine) later(fn func()) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.state == stateClosed {
		return false
	}
	e.wg.Go(fn)
	return true
}
