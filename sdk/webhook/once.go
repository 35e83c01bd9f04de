package webhook

import (
	"errors"
	"sync"
)

// ErrBusy is what Once returns for an event that is being handled at this moment: delivered again later, it is either
// handled by then, or gets its next try.
var ErrBusy = errors.New("webhook: the event is being handled")

// Once returns a handle that passes over events that the given one handled before, by their id. It remembers the last size
// of them (less than 1: 10,000), in this process only: a receiver that must not repeat anything after its own restart keeps
// the ids where it keeps the outcome. An event whose handling failed is not remembered.
func Once(size int, handle func(Event) error) func(Event) error {
	if size < 1 {
		size = 10_000
	}
	o := &once{handle: handle, state: make(map[string]bool), ring: make([]string, size)}
	return o.do
}

type once struct {
	handle func(Event) error

	mu    sync.Mutex // guards all below
	state map[string]bool
	ring  []string // ids that were handled, oldest at next
	next  int
}

// do handles an event. In state, an id is false while it is being handled and true after.
func (o *once) do(e Event) (err error) {
	o.mu.Lock()
	handled, known := o.state[e.ID]
	if !known {
		o.state[e.ID] = false
	}
	o.mu.Unlock()
	switch {
	case handled:
		return nil
	case known:
		return ErrBusy
	}
	err = ErrBusy // stays when handle panics
	defer func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if err != nil {
			delete(o.state, e.ID)
			return
		}
		delete(o.state, o.ring[o.next])
		o.state[e.ID], o.ring[o.next] = true, e.ID
		o.next = (o.next + 1) % len(o.ring)
	}()
	err = o.handle(e)
	return err
}
