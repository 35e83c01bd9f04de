package workspace

import (
	"context"
	"sync"
)

// locks are mutexes by name whose wait ends with a context. Names that are not held take no memory.
type locks struct {
	mu   sync.Mutex // guards all below
	held map[string]*namedLock
}

type namedLock struct {
	token chan struct{} // holds one value while the lock is free
	users int           // holder and waiters
}

func newLocks() *locks { return &locks{held: make(map[string]*namedLock)} }

// lock takes the lock of a name and returns what frees it, or the error of ctx.
func (l *locks) lock(ctx context.Context, name string) (func(), error) {
	l.mu.Lock()
	entry := l.held[name]
	if entry == nil {
		entry = &namedLock{token: make(chan struct{}, 1)}
		entry.token <- struct{}{}
		l.held[name] = entry
	}
	entry.users++
	l.mu.Unlock()
	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if entry.users--; entry.users == 0 {
			delete(l.held, name)
		}
	}
	select {
	case <-entry.token:
		return func() { entry.token <- struct{}{}; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}
