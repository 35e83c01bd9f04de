package store

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/store/kv/memory"
)

// A database that fails under the writer is opened again, and memory agrees with disk afterwards.
func TestReopenAfterFailedCommit(t *testing.T) {
	ctx := context.Background()
	clock := coretest.NewClock()
	s, err := Open(ctx, Options{Path: t.TempDir(), MinFreeBytes: 1 << 20, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	put := func(id string) error {
		return s.Update(ctx, func(tx core.Tx) error {
			if err := tx.Append(core.Event{Type: core.EventExecutionStarted, Subject: id, Time: clock.Now()}); err != nil {
				return err
			}
			return tx.PutExecution(&core.Execution{ID: id, Pattern: core.PatternRef{Name: "p"}, Status: core.ExecutionRunning})
		})
	}
	if err := put("exec_1"); err != nil {
		t.Fatal(err)
	}
	if err := s.db.Close(); err != nil { // stands for a failed device: every write fails from here on
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() {
			if e := core.AsError(put("exec_2")); e == nil || !e.Unavailable {
				t.Errorf("got %v, want an unavailable error", e)
			}
		})
	}
	wg.Wait()
	if readOnly, reason := s.State(); !readOnly || reason == "" {
		t.Fatalf("state: %v %q", readOnly, reason)
	}
	coretest.WaitFor(t, "the store to recover", func() bool {
		clock.Advance(time.Second)
		readOnly, _ := s.State()
		return !readOnly
	})
	if err := put("exec_3"); err != nil {
		t.Fatal(err)
	}
	log, _, err := s.Log(ctx, 0, 0)
	if err != nil || len(log) != 2 || log[1].Seq != 2 || log[1].Subject != "exec_3" {
		t.Fatalf("log: %v, %v", log, err)
	}
	active, err := s.ActiveExecutions(ctx)
	if err != nil || len(active) != 2 || s.Stats().Active != 2 || s.Stats().Failures == 0 {
		t.Fatalf("active: %v, %v, %+v", active, err, s.Stats())
	}
}

// A crash between the parts of a large transaction is mended at the next open.
func TestRedoAfterCrash(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	s, err := Open(ctx, Options{Path: dir, MinFreeBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	record := encodeRedo([]write{
		{appendItem(nil, prefixBatchInput, "batch_1", 0), []byte("a")},
		{appendItem(nil, prefixBatchInput, "batch_1", 1), []byte("b")},
		{appendKey(nil, prefixAgent, "agent_1"), nil},
		{[]byte(keySeq), appendUint64(nil, 41)},
	})
	agent := write{appendKey(nil, prefixAgent, "agent_1"), []byte(`{}`)}
	if err := commitWrites(s.db, []write{agent, {[]byte(keyRedo), record}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(ctx, Options{Path: dir, MinFreeBytes: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for i, want := range []string{"a", "b"} {
		if got, err := s.FindBatchInput(ctx, "batch_1", i); err != nil || string(got) != want {
			t.Fatalf("input %d: %q, %v", i, got, err)
		}
	}
	if agents, err := s.AllAgents(ctx); err != nil || len(agents) != 0 {
		t.Fatalf("agents: %v, %v", agents, err)
	}
	events := []core.Event{{Type: core.EventSystemAlert, Time: time.Now()}}
	if err := s.Update(ctx, func(tx core.Tx) error { return tx.Append(events...) }); err != nil || events[0].Seq != 42 {
		t.Fatalf("sequence goes on at %d, %v, want 42", events[0].Seq, err)
	}
	txn := s.db.Snapshot()
	defer txn.Discard()
	if left, err := get(txn, []byte(keyRedo)); err != nil || left != nil {
		t.Fatalf("the record is still there: %v", err)
	}
}

// A large transaction that a former version had begun is there as a whole before the store is migrated: what it wrote gets what
// the migration adds.
func TestRedoBeforeMigration(t *testing.T) {
	ctx := context.Background()
	clock := coretest.NewClock()
	db := memory.New()
	s, err := OpenOn(ctx, db, Options{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	ended := clock.Now()
	e := &core.Execution{ID: "exec_1", Status: core.ExecutionFailed, Pattern: core.PatternRef{Name: "vote"}, CreatedAt: ended, CompletedAt: &ended}
	value, err := appendJSON(nil, e)
	if err != nil {
		t.Fatal(err)
	}
	var counts statusCounts
	counts[statusIndex(e.Status)] = 1
	record := encodeRedo([]write{ // as of schema 6
		{appendKey(nil, prefixExecution, e.ID), value},
		{appendStatusIndex(nil, string(e.Status), e.ID), appendRow(nil, e)},
		{appendBothIndex(nil, "vote", string(e.Status), e.ID), []byte{}},
		{appendKey(nil, prefixCounter, "vote"), appendCounts(nil, counts)},
	})
	if err := errors.Join(commitWrites(db, []write{{[]byte(keyRedo), record}}), writeSchema(db, 6)); err != nil {
		t.Fatal(err)
	}
	if s, err = OpenOn(ctx, db, Options{Clock: clock}); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	list, _, err := s.FindExecutions(ctx, core.ExecutionFilter{EndedSince: ended})
	if err != nil || len(list) != 1 || list[0].ID != e.ID {
		t.Errorf("%+v, %v, want %s", list, err, e.ID)
	}
}

// A sequence number that cannot be read goes on behind what consumers of the log are done with, though the events are gone: they
// would pass over new ones otherwise.
func TestSequenceBehindCursors(t *testing.T) {
	ctx := context.Background()
	clock := coretest.NewClock()
	db := memory.New()
	s, err := OpenOn(ctx, db, Options{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	event := core.Event{Type: core.EventPatternUpdated, ID: "evt_1", Subject: "vote", Time: clock.Now()}
	for range 5 {
		if err := s.Update(ctx, func(tx core.Tx) error { return tx.Append(event) }); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.SetCursor(ctx, "webhooks", 5); err != nil {
		t.Fatal(err)
	}
	clock.Advance(2 * time.Hour)
	if done, err := s.Retain(ctx, Policy{Events: time.Hour}); err != nil || done.Events != 5 {
		t.Fatal(done, err)
	}
	if err := errors.Join(s.Close(), commitWrites(db, []write{{[]byte(keySeq), []byte("bad")}})); err != nil {
		t.Fatal(err)
	}
	if s, err = OpenOn(ctx, db, Options{Clock: clock}); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	events := []core.Event{event}
	if err := s.Update(ctx, func(tx core.Tx) error { return tx.Append(events...) }); err != nil || events[0].Seq != 6 {
		t.Errorf("the sequence goes on at %d, %v, want 6", events[0].Seq, err)
	}
}
