package store

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/dgraph-io/badger/v4"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/pause"
)

// States of a request. Only the writer moves it to taken, only its maker to abandoned.
const (
	requestQueued int32 = iota
	requestTaken
	requestAbandoned
)

// request is one closure on its way through the writer.
type request struct {
	fn          func(t *tx) error
	by          string                    // id of the principal whom the events of fn are put down to
	alone       func(db *badger.DB) error // in place of fn: runs between two batches
	maintenance bool                      // may run while the store is low on space: it makes room
	state       atomic.Int32
	err         error         // set before done
	done        chan struct{} // holds one
}

var requests = sync.Pool{New: func() any { return &request{done: make(chan struct{}, 1)} }}

func (r *request) answer(err error) {
	r.err = err
	r.done <- struct{}{}
}

// queue holds the requests that wait for the writer. Its length is bounded by the callers, each of which
// waits for one answer.
type queue struct {
	mu     sync.Mutex // guards waiting and closed
	items  []*request
	closed bool
	wake   chan struct{} // holds one
}

func (q *queue) push(r *request) bool {
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return false
	}
	q.items = append(q.items, r)
	first := len(q.items) == 1
	q.mu.Unlock()
	if first {
		q.signal()
	}
	return true
}

func (q *queue) signal() { pause.Wake(q.wake) }

// take swaps the waiting requests for spare, an empty slice, and reports whether more can come.
func (q *queue) take(spare []*request) (items []*request, open bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	items, q.items = q.items, spare
	return items, !q.closed
}

func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.signal()
}

// Update implements core.Store. A ctx that ends while the closure waits for its turn takes it back; once
// the closure ran, Update waits for the outcome whatever ctx says.
func (s *Store) Update(ctx context.Context, fn func(tx core.Tx) error) error {
	return s.update(ctx, false, func(t *tx) error {
		if err := fn(t); err != nil || s.opts.Audit == nil || len(t.writes) == 0 {
			return err
		}
		return s.opts.Audit(ctx, t)
	})
}

func (s *Store) update(ctx context.Context, maintenance bool, fn func(t *tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r := requests.Get().(*request)
	r.fn, r.by, r.maintenance, r.err, r.alone = fn, core.PrincipalFrom(ctx).ID, maintenance, nil, nil
	return s.ask(ctx, r)
}

// exclusive runs fn on the writer's goroutine between two batches: there are no other writes meanwhile.
func (s *Store) exclusive(ctx context.Context, fn func(db *badger.DB) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r := requests.Get().(*request)
	r.fn, r.by, r.maintenance, r.err, r.alone = nil, "", true, nil, fn
	return s.ask(ctx, r)
}

// ask hands a request to the writer and waits for its answer.
func (s *Store) ask(ctx context.Context, r *request) error {
	r.state.Store(requestQueued)
	if !s.queue.push(r) {
		requests.Put(r)
		return errClosed
	}
	select {
	case <-r.done:
	case <-ctx.Done():
		if r.state.CompareAndSwap(requestQueued, requestAbandoned) {
			return ctx.Err() // the writer still holds r and will drop it
		}
		<-r.done
	}
	err := r.err
	r.fn, r.err, r.alone = nil, nil, nil
	requests.Put(r)
	return err
}
