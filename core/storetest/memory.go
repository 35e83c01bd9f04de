// Package storetest is the contract of core.Store as tests: Run goes over everything that a store promises, and Memory is
// a store that keeps those promises in memory, for the tests of all services. It is imported by tests only.
package storetest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/store"
	"github.com/wardroom/wardroom/core/store/kv/memory"
)

var _ core.Store = (*Memory)(nil)

// Memory is the store of the product over a database in memory, with what tests do to one: it refuses writes when it is
// told to, and says what was stored. It outlives the services that use it, as a disk does. All methods are safe for
// concurrent use.
type Memory struct {
	*store.Store
	db *memory.DB

	mu        sync.Mutex // guards all below
	tb        testing.TB
	admit     func(ctx context.Context) error // asked ahead of each Update, or nil
	broken    error                           // refuses each Update while it is set and left is 0
	left      int                             // writes until then
	failed    chan struct{}
	lose      int // writes until the one whose commit fails once it is stored, itself included; 0: none does
	refused   int
	stored    int
	shown     func(events []core.Event)
	committed func(events []core.Event)
	events    []core.Event
}

// NewMemory returns a store that is closed at the end of the test.
func NewMemory(tb testing.TB) *Memory {
	tb.Helper()
	m := &Memory{tb: tb, db: memory.New(), failed: make(chan struct{})}
	m.Store = OnMemory(tb, m.db, store.Options{Clock: hasty{}, OnCommit: func(events []core.Event) {
		m.mu.Lock()
		committed := m.committed
		m.mu.Unlock()
		if committed != nil && len(events) > 0 {
			committed(events)
		}
	}})
	return m
}

// hasty is the clock of a store that is opened again within milliseconds after a commit that failed.
type hasty struct{ core.SystemClock }

// AfterFunc implements core.Clock.
func (c hasty) AfterFunc(d time.Duration, f func()) core.Timer {
	return c.SystemClock.AfterFunc(d/100, f)
}

// OnCommit has fn called as OnCommit of the store's options is: by its writer, with the events of each commit that has any, those of
// Put included.
func (m *Memory) OnCommit(fn func(events []core.Event)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.committed = fn
}

// OnMemory opens a store on a database in memory, and closes it at the end of the test.
func OnMemory(tb testing.TB, db *memory.DB, opts store.Options) *store.Store {
	tb.Helper()
	s, err := store.OpenOn(ctx, db, opts)
	if err != nil {
		tb.Fatal(err)
	}
	return closing(tb, s)
}

// Update implements core.Store, and does what the test asked for around it.
func (m *Memory) Update(ctx context.Context, fn func(tx core.Tx) error) error {
	m.mu.Lock()
	admit := m.admit
	m.mu.Unlock()
	if admit != nil {
		if err := admit(ctx); err != nil {
			return err
		}
	}
	var events []core.Event
	err := m.Store.Update(ctx, func(tx core.Tx) error {
		events = nil // of a run that counts no longer
		if err := fn(listening{tx, &events}); err != nil {
			return err
		}
		if err := m.refuse(); err != nil {
			return err
		}
		m.doom()
		return nil
	})
	lost := errors.Is(err, core.ErrInDoubt) // stored all the same: see doom
	if err != nil && !lost {
		return err
	}
	m.mu.Lock()
	m.stored++
	m.events = append(m.events, events...)
	shown := m.shown
	m.mu.Unlock()
	if shown != nil && len(events) > 0 && !lost {
		shown(events)
	}
	return err
}

// doom counts a write that is about to be stored, and has its commit fail if it is the one to be lost. It is called by the store's
// writer, one write after the other.
func (m *Memory) doom() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lose == 1 {
		m.db.Fail(1, true)
	}
	m.lose = max(m.lose-1, 0)
}

// Lose has the commit of the n-th write from now on fail once it is stored, with those that share it; 0: none does. The store takes no
// writes until it has opened its database again, as it does after any commit that fails.
func (m *Memory) Lose(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lose = n
}

// Losing makes a change whose commit fails once it is stored, and has the clock move on by so much a millisecond until its caller is
// answered and the store takes writes again. It returns the caller's error.
func (m *Memory) Losing(clock *coretest.Clock, by time.Duration, change func() error) (err error) {
	m.tb.Helper()
	m.Lose(1)
	done := make(chan error, 1)
	go func() { done <- change() }()
	coretest.WaitFor(m.tb, "the caller to be answered", func() bool {
		clock.Advance(by)
		select {
		case err = <-done:
			return true
		default:
			return false
		}
	})
	coretest.WaitFor(m.tb, "the store to take writes", func() bool { return core.TakesWrites(context.Background(), m) == nil })
	return err
}

// Unknown makes a change whose commit fails once it is stored, and takes no writes after it. It returns once the caller waits to know
// what became of it; the answer is the error that the caller gets.
func (m *Memory) Unknown(change func() error) (answer <-chan error) {
	m.tb.Helper()
	var updates atomic.Int32
	m.Lose(1)
	m.Admit(func(context.Context) error {
		if updates.Add(1) > 1 {
			return core.Unavailable("store_read_only", "the store is read-only")
		}
		return nil
	})
	done := make(chan error, 1)
	go func() { done <- change() }()
	coretest.WaitFor(m.tb, "the caller to look", func() bool { return updates.Load() > 1 })
	return done
}

// refuse counts a write that is about to be stored, and returns the error for it if it is one to fail. It is called by the
// store's writer, one write after the other.
func (m *Memory) refuse() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.broken == nil {
		return nil
	}
	if m.left > 0 {
		m.left--
		return nil
	}
	if m.refused++; m.refused == 1 {
		close(m.failed)
	}
	return m.broken
}

// Break has every write after the next n fail with err, and store nothing, until Heal.
func (m *Memory) Break(n int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broken, m.left, m.refused, m.failed = err, n, 0, make(chan struct{})
}

// Heal takes writes again after Break.
func (m *Memory) Heal() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broken = nil
}

// Refused returns how many writes failed since the last Break.
func (m *Memory) Refused() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.refused
}

// Failed returns a channel that is closed at the first write that fails after the last Break.
func (m *Memory) Failed() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.failed
}

// Stored returns how many Updates were stored.
func (m *Memory) Stored() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stored
}

// Admit has fn called ahead of each Update, which it may hold up, or refuse by an error; nil: nothing is.
func (m *Memory) Admit(fn func(ctx context.Context) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.admit = fn
}

// Shown has fn called with the events of each Update that was stored before it returns, as subscribers get them; nil:
// nothing is. Those of a commit that failed are shown by OnCommit alone.
func (m *Memory) Shown(fn func(events []core.Event)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.shown = fn
}

// Put stores what the test gives, as somebody else would: it is neither refused nor shown. It waits for a store that takes no writes
// after Lose.
func (m *Memory) Put(fn func(tx core.Tx) error) {
	m.tb.Helper()
	coretest.WaitFor(m.tb, "the store to take a write", func() bool {
		err := m.Store.Update(context.Background(), fn)
		if err != nil && !core.AsError(err).Unavailable {
			m.tb.Fatal(err)
		}
		return err == nil || errors.Is(err, core.ErrInDoubt)
	})
}

// Appended returns the events of all Updates, in order. What Put stored is not among them.
func (m *Memory) Appended() []core.Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	events := slices.Clone(m.events)
	slices.SortFunc(events, func(a, b core.Event) int { return int(int64(a.Seq) - int64(b.Seq)) })
	return events
}

// listening is a transaction that notes the events which are appended.
type listening struct {
	core.Tx
	events *[]core.Event
}

func (l listening) Append(events ...core.Event) error {
	err := l.Tx.Append(events...)
	*l.events = append(*l.events, events...)
	return err
}
