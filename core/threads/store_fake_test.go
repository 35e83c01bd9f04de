package threads_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/storetest"
)

// memStore is a store in memory with streams of its events and the agents of a fake. It outlives the service under test.
type memStore struct {
	*storetest.Memory
	clock  core.Clock
	agents func() []*core.ManagedAgentRecord

	mu        sync.Mutex // guards all below
	wake      chan struct{}
	committed func(events []core.Event) // called by the store's writer, or nil
	broken    string                    // id of an execution that cannot be read
	over      error                     // what ends the streams; nil while they go on
}

// atQueue is the key of a function in a context, which is called before a queue is read with that context, and
// behindQueue of one that is called after.
type (
	atQueue     struct{}
	behindQueue struct{}
)

// QueuedInputs implements core.ThreadStore.
func (s *memStore) QueuedInputs(ctx context.Context, threadID string, after uint64, limit int) ([]*core.QueuedInput, error) {
	if before, ok := ctx.Value(atQueue{}).(func()); ok {
		before()
	}
	if behind, ok := ctx.Value(behindQueue{}).(func()); ok {
		defer behind()
	}
	return s.Memory.QueuedInputs(ctx, threadID, after, limit)
}

// FindExecution implements core.ExecutionReader.
func (s *memStore) FindExecution(ctx context.Context, id string) (*core.Execution, error) {
	s.mu.Lock()
	broken := s.broken
	s.mu.Unlock()
	if id == broken {
		return nil, core.Errorf(core.CodeInternal, "the stored execution cannot be read").WithCause(core.ErrUnreadable)
	}
	return s.Memory.FindExecution(ctx, id)
}

// spoil has an execution be one that cannot be read.
func (s *memStore) spoil(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = id
}

func newMemStore(tb testing.TB, clock core.Clock) *memStore {
	s := &memStore{Memory: storetest.NewMemory(tb), clock: clock, wake: make(chan struct{})}
	s.OnCommit(func(events []core.Event) {
		s.mu.Lock()
		close(s.wake)
		s.wake = make(chan struct{})
		committed := s.committed
		s.mu.Unlock()
		if committed != nil {
			committed(events)
		}
	})
	return s
}

// failAfter has every transaction fail after so many more, until Heal.
func (s *memStore) failAfter(n int) { s.Break(n, core.Unavailable("store", "the store is gone")) }

// tell appends an event of somebody else than the service under test, which never fails.
func (s *memStore) tell(e core.Event) {
	s.Put(func(tx core.Tx) error { return tx.Append(e) })
}

func (s *memStore) AllManagedAgents(context.Context) ([]*core.ManagedAgentRecord, error) {
	return s.agents(), nil
}

// claimed returns what was made under an idempotency key, or "".
func (s *memStore) claimed(key string) string {
	rec, err := s.FindIdempotency(context.Background(), "", key, s.clock.Now())
	if err != nil {
		panic(err)
	}
	if rec == nil {
		return ""
	}
	return rec.ResourceID
}

func (s *memStore) execution(id string) *core.Execution {
	e, err := s.FindExecution(context.Background(), id)
	if err != nil {
		panic(err)
	}
	return e
}

// threads returns all threads, the newest first.
func (s *memStore) threads() []*core.ThreadRecord {
	list, _, err := s.FindThreads(context.Background(), core.ThreadFilter{Page: core.Page{Limit: core.MaxPageLimit}})
	if err != nil {
		panic(err)
	}
	return list
}

// lessons returns all experiences, the oldest first.
func (s *memStore) lessons() (list []*core.Experience) {
	err := s.WalkExperiences(context.Background(), "", func(e *core.Experience) error {
		list = append(list, e)
		return nil
	})
	if err != nil {
		panic(err)
	}
	return list
}

// decisions returns those of an execution, the oldest first.
func (s *memStore) decisions(executionID string) []*core.Decision {
	list, _, err := s.FindDecisions(context.Background(), core.DecisionFilter{ExecutionID: executionID, Page: core.Page{Limit: core.MaxPageLimit}})
	if err != nil {
		panic(err)
	}
	slices.Reverse(list)
	return list
}

// end ends the streams with an error, as a server that stops does.
func (s *memStore) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = err
	close(s.wake)
	s.wake = make(chan struct{})
}

// Follow implements threads.Streams.
func (s *memStore) Follow(_ context.Context, name string, after uint64) (core.EventStream, error) {
	return &memStream{s: s, name: name, after: after}, nil
}

type memStream struct {
	s     *memStore
	name  string
	after uint64
}

func (m *memStream) Next(ctx context.Context) (core.Event, error) {
	for {
		m.s.mu.Lock()
		wake, over := m.s.wake, m.s.over
		m.s.mu.Unlock()
		if over != nil {
			return core.Event{}, over
		}
		page, _, err := m.s.Events(ctx, m.name, m.after, 1)
		if err != nil {
			return core.Event{}, err
		}
		if len(page) > 0 {
			m.after = page[0].Seq
			return page[0], nil
		}
		select {
		case <-ctx.Done():
			return core.Event{}, ctx.Err()
		case <-wake:
		}
	}
}

func (m *memStream) Close() {}
