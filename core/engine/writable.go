package engine

import (
	"sync"
	"sync/atomic"

	"github.com/wardroom/wardroom/core"
)

// writable knows whether the store refuses the engine's writes at present. A write that is refused is tried again until
// it is done, so that who waits for its outcome can be told at once, and what is known is corrected by the next try.
type writable struct {
	down atomic.Bool // err is not nil

	mu      sync.Mutex // guards all below
	err     error      // why it refuses, or nil
	refused chan struct{}
}

func newWritable() *writable { return &writable{refused: make(chan struct{})} }

// refuse notes that a write was refused, and will be tried again.
func (w *writable) refuse(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		close(w.refused)
	}
	w.err = err
	w.down.Store(true)
}

// accept notes that the store answered a write.
func (w *writable) accept() {
	if !w.down.Load() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		w.err, w.refused = nil, make(chan struct{})
		w.down.Store(false)
	}
}

// refusal returns a channel that is closed while the store refuses.
func (w *writable) refusal() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.refused
}

// reason returns why the store refuses, for a caller who would have to wait for it.
func (w *writable) reason() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil { // it does no more
		return core.Unavailable("store_busy", "the store took no writes for a moment; try again")
	}
	return w.err
}
