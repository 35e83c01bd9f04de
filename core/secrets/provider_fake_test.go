package secrets_test

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/wardroom/wardroom/sdk/secret"
)

// fake is a provider whose secrets a test changes.
type fake struct {
	mu      sync.Mutex
	values  map[secret.Ref]secret.Value
	down    error         // of every call
	block   chan struct{} // calls wait until it is closed; nil: they do not
	late    chan struct{} // answers are on their way until it is closed; nil: they are not
	calls   int
	answers int
	most    int // references in a call
	asked   []secret.Ref
	caller  secret.Caller

	watching chan []secret.Ref // gets the references of each watch; nil: none can be opened
	changes  chan []secret.Ref
	ends     bool // a watch ends at once
}

func newFake() *fake { return &fake{values: map[secret.Ref]secret.Value{}} }

func (f *fake) put(path, key, text string, version string, until time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.values[secret.Ref{Path: path, Key: key}] = secret.NewValue([]byte(text), version, until)
}

func (f *fake) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = err
}

func (f *fake) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

func (f *fake) Resolve(ctx context.Context, refs []secret.Ref, caller secret.Caller) ([]secret.Result, error) {
	f.mu.Lock()
	f.calls++
	f.most = max(f.most, len(refs))
	f.asked, f.caller = append(f.asked, refs...), caller
	block, down := f.block, f.down
	f.mu.Unlock()
	if block != nil {
		select {
		case <-block:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if down != nil {
		return nil, down
	}
	results, late := f.answer(refs)
	if late != nil {
		select {
		case <-late:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return results, nil
}

func (f *fake) answer(refs []secret.Ref) ([]secret.Result, chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	results := make([]secret.Result, len(refs))
	for i, ref := range refs {
		results[i].Ref = ref
		v, ok := f.values[ref]
		if !ok {
			results[i].Error = secret.Errorf(secret.CodeNotFound, "there is no %s", ref)
			continue
		}
		results[i].Value = v
	}
	f.answers++
	return results, f.late
}

// Watch implements secret.Watcher.
func (f *fake) Watch(ctx context.Context, refs []secret.Ref) (secret.ChangeStream, error) {
	if f.watching == nil {
		return nil, secret.Errorf(secret.CodeUnimplemented, "no watch")
	}
	f.watching <- refs
	s := &stream{ctx: ctx, changes: f.changes, closed: make(chan struct{})}
	if f.ends {
		_ = s.Close()
	}
	return s, nil
}

type stream struct {
	ctx     context.Context
	changes chan []secret.Ref
	once    sync.Once
	closed  chan struct{}
}

func (s *stream) Next() ([]secret.Ref, error) {
	select {
	case refs := <-s.changes:
		return refs, nil
	case <-s.ctx.Done():
		return nil, io.EOF
	case <-s.closed:
		return nil, io.EOF
	}
}

func (s *stream) Close() error { s.once.Do(func() { close(s.closed) }); return nil }
