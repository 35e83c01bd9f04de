package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/store"
	"github.com/wardroom/wardroom/core/store/kv/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The store in memory promises what the one on disk does.
func TestMemory(t *testing.T) {
	var places sync.Map // databases by their path
	Run(t, func(tb testing.TB, opts store.Options) *store.Store {
		db := any(memory.New())
		if opts.Path != "" {
			db, _ = places.LoadOrStore(opts.Path, db)
		}
		return OnMemory(tb, db.(*memory.DB), opts)
	})
}

// A commit that fails at any point leaves a store that agrees with itself, goes on once it is opened again, and has all
// that was acknowledged: what was not is there as a whole, or not at all.
func TestCommitsThatFail(t *testing.T) {
	for _, kept := range []bool{false, true} {
		for n := 1; n <= 12; n++ {
			t.Run(fmt.Sprintf("Commit=%d,Kept=%v", n, kept), func(t *testing.T) {
				clock := coretest.NewClock()
				db := memory.New()
				var mu sync.Mutex
				var shown, called []string // ids of executions, as OnCommit and AfterCommit have them
				s := OnMemory(t, db, store.Options{Clock: clock, OnCommit: func(events []core.Event) {
					mu.Lock()
					defer mu.Unlock()
					for _, e := range events {
						shown = append(shown, e.Subject)
					}
				}})
				db.Fail(n, kept)
				var done []int
				for i := range 12 {
					events := make([]core.Event, 1)
					err := s.Update(ctx, func(tx core.Tx) error {
						id := idAt(start, i+1)
						events[0] = core.Event{Type: core.EventExecutionStarted, ID: "evt_" + id, Subject: id}
						tx.AfterCommit(func() { called = append(called, id) })
						return errors.Join(tx.PutExecution(execution(id, "p", core.ExecutionRunning)), tx.Append(events...))
					})
					if err == nil {
						done = append(done, i)
						continue
					}
					if e := core.AsError(err); !e.Unavailable || !errors.Is(err, core.ErrInDoubt) {
						t.Fatalf("write %d: %v", i, err)
					}
					asked := errors.New("asked")
					if err := s.Update(ctx, func(core.Tx) error { return asked }); errors.Is(err, asked) {
						t.Fatal("a transaction runs before it is known what is stored")
					}
					coretest.WaitFor(t, "the store to be opened again", func() bool {
						clock.Advance(time.Second)
						readOnly, _ := s.State()
						return !readOnly
					})
					if err := core.TakesWrites(ctx, s); err != nil { // what is stored of it is known by then
						t.Fatal(err)
					}
					// What is in doubt is known by its first event from then on.
					page, _, err := s.Events(ctx, events[0].Subject, events[0].Seq-1, 1)
					if err != nil || (len(page) == 1) != kept || kept && page[0].ID != events[0].ID {
						t.Errorf("write %d is stored: %+v, %v, want %v", i, page, err, kept)
					}
				}
				extra := 0
				if kept {
					extra = 1
				}
				if len(done) != 11 {
					t.Fatalf("%d writes were acknowledged, want 11", len(done))
				}
				// Each that is stored is made known once, in order.
				coretest.WaitFor(t, "the last one to be shown", func() bool {
					mu.Lock()
					defer mu.Unlock()
					return len(shown) >= 11+extra
				})
				mu.Lock()
				defer mu.Unlock()
				if want := 11 + extra; len(shown) != want || !slices.Equal(called, shown) || !slices.IsSorted(shown) || len(slices.Compact(slices.Clone(shown))) != want {
					t.Errorf("shown are %v, called for %v", shown, called)
				}
				for again := range 2 {
					if again == 1 {
						if err := s.Close(); err != nil {
							t.Fatal(err)
						}
						s = OnMemory(t, db, store.Options{})
					}
					list, info, err := s.FindExecutions(ctx, core.ExecutionFilter{Statuses: statuses(core.ExecutionRunning)})
					if err != nil || len(list) != len(done)+extra || info.Total != len(list) {
						t.Fatalf("%d executions of %d, %v, want %d", len(list), info.Total, err, len(done)+extra)
					}
					for _, i := range done {
						events, _, err := s.Events(ctx, idAt(start, i+1), 0, 10)
						if err != nil || len(events) != 1 {
							t.Fatalf("execution %d has %d events, %v", i, len(events), err)
						}
					}
					log, _, err := s.Log(ctx, 0, 100)
					if err != nil || len(log) != len(list) || s.LastSeq() != log[len(log)-1].Seq {
						t.Fatalf("%d events in the log, the last is %d, %v", len(log), s.LastSeq(), err)
					}
				}
			})
		}
	}
}

// A commit without events that fails is made known as one with events is: once the store takes writes again, if it is stored.
func TestCommitsWithoutEventsThatFail(t *testing.T) {
	a := session(ownID(core.PrefixSession, start, 1), "ann")
	for _, kept := range []bool{false, true} {
		for name, write := range map[string]func(tx core.Tx) error{
			"Put":    func(tx core.Tx) error { return tx.PutSession(session(ownID(core.PrefixSession, start, 2), "ann")) },
			"Delete": func(tx core.Tx) error { return tx.DeleteSession(a.ID) },
			"Twice": func(tx core.Tx) error { // what is written last counts
				r := *a
				r.User = "bob"
				return errors.Join(tx.PutSession(&r), tx.DeleteSession(a.ID))
			},
		} {
			t.Run(fmt.Sprintf("%s,Kept=%v", name, kept), func(t *testing.T) {
				clock, db := coretest.NewClock(), memory.New()
				s := OnMemory(t, db, store.Options{Clock: clock})
				if err := s.Update(ctx, func(tx core.Tx) error { return tx.PutSession(a) }); err != nil {
					t.Fatal(err)
				}
				db.Fail(1, kept)
				var called atomic.Int32
				err := s.Update(ctx, func(tx core.Tx) error {
					tx.AfterCommit(func() { called.Add(1) })
					return write(tx)
				})
				if !errors.Is(err, core.ErrInDoubt) || called.Load() != 0 {
					t.Fatalf("%v, and %d calls", err, called.Load())
				}
				coretest.WaitFor(t, "the store to take writes", func() bool {
					clock.Advance(time.Second)
					return core.TakesWrites(ctx, s) == nil
				})
				want := int32(0)
				if kept {
					want = 1
				}
				if got := called.Load(); got != want {
					t.Errorf("it was called %d times, want %d", got, want)
				}
			})
		}
	}
}

func FuzzCursor(f *testing.F) {
	s := OnMemory(f, memory.New(), store.Options{})
	fill(f, s, 5)
	_, info, err := s.FindExecutions(ctx, core.ExecutionFilter{Page: core.Page{Limit: 1}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(info.NextCursor)
	f.Add("AAAAAAAAAAAAAAAA")
	f.Fuzz(func(t *testing.T, cursor string) {
		if cursor == "" {
			return
		}
		_, _, err := s.FindExecutions(ctx, core.ExecutionFilter{Page: core.Page{Cursor: cursor}})
		if err != nil && core.ErrorCode(err) != core.CodeValidation {
			t.Fatalf("cursor %q: %v", cursor, err)
		}
	})
}

func FuzzQuestionCursor(f *testing.F) {
	s := OnMemory(f, memory.New(), store.Options{})
	for i := range 3 {
		putQuestion(f, s, question(questionAt(start, i+1), idAt(start, 1), core.QuestionOpen))
	}
	_, info, err := s.FindQuestions(ctx, core.QuestionFilter{Page: core.Page{Limit: 1}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(info.NextCursor)
	f.Add(fmt.Sprint("AAAAAAAAAAA", info.NextCursor))
	f.Fuzz(func(t *testing.T, cursor string) {
		_, _, err := s.FindQuestions(ctx, core.QuestionFilter{Page: core.Page{Cursor: cursor}})
		if err != nil && core.ErrorCode(err) != core.CodeValidation {
			t.Fatalf("cursor %q: %v", cursor, err)
		}
	})
}

func FuzzThreadCursor(f *testing.F) {
	s := OnMemory(f, memory.New(), store.Options{})
	for i := range 3 {
		putThread(f, s, thread(threadAt(start, i+1), idAt(start, 1), core.ThreadReady))
	}
	_, info, err := s.FindThreads(ctx, core.ThreadFilter{Page: core.Page{Limit: 1}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(info.NextCursor)
	f.Add("AAAAAAAAAAA" + info.NextCursor)
	f.Fuzz(func(t *testing.T, cursor string) {
		for _, status := range []core.ThreadStatus{"", core.ThreadReady} {
			_, _, err := s.FindThreads(ctx, core.ThreadFilter{Status: status, Page: core.Page{Cursor: cursor}})
			if err != nil && core.ErrorCode(err) != core.CodeValidation {
				t.Fatalf("cursor %q: %v", cursor, err)
			}
		}
	})
}
