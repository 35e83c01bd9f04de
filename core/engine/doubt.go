package engine

import "github.com/wardroom/wardroom/core"

// landed finds out whether a transaction whose commit failed is stored all the same, by the first event that it appended. It waits
// until the store takes writes again: only then do reads show what reached the disk. ok is false when the engine stops first.
func (e *Engine) landed(first core.Event) (stored, ok bool) {
	for first.Seq > 0 {
		ctx := e.detached()
		err := core.TakesWrites(ctx, e.store)
		if err == nil {
			var page []core.Event
			if page, _, err = e.store.Events(ctx, first.Subject, first.Seq-1, 1); err == nil {
				return len(page) == 1 && page[0].Seq == first.Seq && page[0].Type == first.Type && page[0].Time.Equal(first.Time), true
			}
		}
		if !core.AsError(err).Unavailable {
			break // it cannot be read: it is written once more
		}
		if !e.pause(storeRetry) {
			return false, false
		}
	}
	return false, true
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
