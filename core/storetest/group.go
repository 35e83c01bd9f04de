package storetest

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"sync"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store"
)

// threadEvent is one event of a thread, found under the thread and under the threads of its execution.
func threadEvent(threadID, executionID string, kind core.EventType) core.Event {
	return core.Event{Type: kind, Subject: threadID, Group: core.ThreadGroup(executionID), Time: start, Data: []byte(`{"turn":1}`)}
}

func mustEvents(tb testing.TB, s *store.Store, name string, after uint64, limit int) []core.Event {
	tb.Helper()
	events, _, err := s.Events(ctx, name, after, limit)
	if err != nil {
		tb.Fatal(err)
	}
	return events
}

// A group holds the events of its subjects, with the same sequence and content, and OnCommit is called with the group.
func testGroup(t *testing.T, open Opener) {
	var mu sync.Mutex
	var told []core.Event
	s := open(t, store.Options{OnCommit: func(events []core.Event) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, events...)
	}})
	execID := idAt(start, 1)
	group := core.ThreadGroup(execID)
	var want []core.Event
	subjects := map[string][]core.Event{}
	for i := range 30 {
		list := []core.Event{
			threadEvent(threadAt(start, 1+i%3), execID, core.EventThreadOutput),
			threadEvent(threadAt(start, 4), idAt(start, 2), core.EventThreadReady), // of another group
			{Type: core.EventTaskCompleted, Subject: execID, Time: start},          // of none
		}
		mustUpdate(t, s, func(tx core.Tx) error { return tx.Append(list...) })
		want = append(want, list[0])
		plain := list[0]
		plain.Group = ""
		subjects[plain.Subject] = append(subjects[plain.Subject], plain)
	}
	if got := mustEvents(t, s, group, 0, 0); !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v, want %+v", got, want)
	}
	for subject, want := range subjects {
		if got := mustEvents(t, s, subject, 0, 0); !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: got %+v, want %+v", subject, got, want)
		}
	}
	if got := mustEvents(t, s, execID, 0, 0); len(got) != 30 {
		t.Fatalf("the execution has %d events, want 30", len(got))
	}
	// A page goes on where the one before ended.
	var paged []core.Event
	for after := uint64(0); ; after = paged[len(paged)-1].Seq {
		page := mustEvents(t, s, group, after, 7)
		if len(page) == 0 {
			break
		}
		paged = append(paged, page...)
	}
	if !reflect.DeepEqual(paged, want) {
		t.Fatalf("by pages: got %+v, want %+v", paged, want)
	}
	for _, after := range []uint64{want[29].Seq, math.MaxUint64} {
		if got := mustEvents(t, s, group, after, 0); len(got) != 0 {
			t.Fatalf("after %d: %+v", after, got)
		}
	}
	mustUpdate(t, s, func(core.Tx) error { return nil }) // the writer is past the last OnCommit
	mu.Lock()
	defer mu.Unlock()
	if len(told) != 90 || !reflect.DeepEqual(told[0], want[0]) || told[1].Group != core.ThreadGroup(idAt(start, 2)) || told[2].Group != "" {
		t.Fatalf("told of %d events, the first ones %+v", len(told), told[:3])
	}
	wantCode(t, s.Update(ctx, func(tx core.Tx) error {
		return tx.Append(core.Event{Type: core.EventThreadReady, Subject: "one", Group: "one", Time: start})
	}), core.CodeValidation)
}

// Events of a group that are written at once are there once each, in order.
func testGroupConcurrent(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for range 25 {
				if err := s.Update(ctx, func(tx core.Tx) error {
					return tx.Append(threadEvent(threadAt(start, g+1), idAt(start, 1), core.EventThreadOutput))
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	all := mustEvents(t, s, core.ThreadGroup(idAt(start, 1)), 0, 0)
	if len(all) != 200 {
		t.Fatalf("%d events, want 200", len(all))
	}
	for i, e := range all {
		if e.Seq != uint64(i+1) {
			t.Fatalf("event %d has sequence %d", i, e.Seq)
		}
	}
}

func testLastSeq(t *testing.T, open Opener) {
	dir := t.TempDir()
	var s *store.Store
	var early uint64
	s = open(t, store.Options{Path: dir, OnCommit: func(events []core.Event) {
		if last := events[len(events)-1].Seq; s.LastSeq() < last {
			early = last
		}
	}})
	if got := s.LastSeq(); got != 0 {
		t.Fatalf("a new store is at %d", got)
	}
	for i := range 5 {
		mustUpdate(t, s, func(tx core.Tx) error {
			return tx.Append(threadEvent(threadAt(start, i+1), idAt(start, 1), core.EventThreadOutput), core.Event{
				Type: core.EventTaskCompleted, Subject: fmt.Sprint("s", i), Time: start,
			})
		})
		if got, want := s.LastSeq(), uint64(2*i+2); got != want {
			t.Fatalf("the last sequence is %d, want %d", got, want)
		}
	}
	failed := errors.New("failed")
	err := s.Update(ctx, func(tx core.Tx) error {
		return errors.Join(tx.Append(core.Event{Type: core.EventTaskCompleted, Subject: "s", Time: start}), failed)
	})
	if got := s.LastSeq(); !errors.Is(err, failed) || got != 10 {
		t.Fatalf("after a closure that failed: %d, %v, want 10", got, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if early != 0 {
		t.Fatalf("OnCommit was told of %d before LastSeq", early)
	}
	if got := open(t, store.Options{Path: dir}).LastSeq(); got != 10 {
		t.Fatalf("after it was opened again: %d, want 10", got)
	}
}
