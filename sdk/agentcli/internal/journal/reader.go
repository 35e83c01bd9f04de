package journal

import (
	"context"
	"io"
	"sort"
	"sync"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// Reader yields events in order of their numbers. It is a runtime.EventStream: Next is called by one
// goroutine, Close by any.
type Reader struct {
	j     *Journal
	ctx   context.Context // of the call that opened it: its end is the stream's
	agent string
	next  uint64 // number of the next event
	began bool   // an event was missed only if the reader had begun

	once   sync.Once
	closed chan struct{}
}

var _ runtime.EventStream = (*Reader)(nil)

// Read opens a reader that lives as long as ctx.
func (j *Journal) Read(ctx context.Context, opts runtime.EventOptions) *Reader {
	r := &Reader{j: j, ctx: ctx, agent: opts.AgentID, next: opts.After + 1, closed: make(chan struct{})}
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case opts.Live:
		r.next, r.began = j.seq+1, true
	case opts.After > j.seq, opts.Log != "" && opts.Log != j.id:
		r.next = 1 // a number of another journal, which was here before this one
	}
	return r
}

// Next waits for the next event. LAGGED once events that the reader had not seen yet were dropped,
// UNAVAILABLE when the journal closes, io.EOF after Close.
func (r *Reader) Next() (runtime.Event, error) {
	for {
		select {
		case <-r.closed:
			return runtime.Event{}, io.EOF
		case <-r.ctx.Done():
			return runtime.Event{}, r.ctx.Err()
		default:
		}
		e, changed, err := r.look()
		if err != nil {
			return runtime.Event{}, err
		}
		if e != nil {
			next := *e
			next.Log = r.j.id
			return next, nil
		}
		select {
		case <-changed:
		case <-r.closed:
		case <-r.ctx.Done():
		}
	}
}

// look returns the next event, or what tells that there may be one.
func (r *Reader) look() (*runtime.Event, <-chan struct{}, error) {
	j := r.j
	j.mu.Lock()
	defer j.mu.Unlock()
	if r.next <= j.trimmed {
		missed := r.began
		r.next, r.began = j.trimmed+1, false
		if missed {
			return nil, nil, runtime.Errorf(runtime.CodeLagged, "events were missed: read again after the last one that was seen")
		}
	}
	r.began = true
	at := sort.Search(len(j.events), func(i int) bool { return j.events[i].Seq >= r.next })
	for _, e := range j.events[at:] {
		r.next = e.Seq + 1
		if r.agent == "" || r.agent == e.AgentID {
			return e.Event, nil, nil
		}
	}
	if j.closed {
		return nil, nil, &runtime.Error{Code: runtime.CodeUnavailable, Message: "the runtime is closing", Retry: true}
	}
	return nil, j.changed, nil
}

// Close ends the reader. Safe to call twice.
func (r *Reader) Close() error {
	r.once.Do(func() { close(r.closed) })
	return nil
}
