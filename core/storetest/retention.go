package storetest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/store"
)

// countKeys returns the number of keys in a store, but for those of the throughput, which stay when all else goes.
func countKeys(tb testing.TB, s *store.Store) (n uint64) {
	tb.Helper()
	dump := mustDump(tb, s)
	if _, err := store.Verify(bytes.NewReader(dump), nil); err != nil {
		tb.Fatal(err)
	}
	for rest := dump[16:]; ; { // behind the header; each record is two lengths, key and value
		key := int(binary.BigEndian.Uint32(rest))
		if key == 0 {
			return n
		}
		value := int(binary.BigEndian.Uint32(rest[4:]))
		if !bytes.HasPrefix(rest[8:], []byte("tp/")) {
			n++
		}
		rest = rest[8+key+value:]
	}
}

// run stores an execution's whole life with its events.
func run(tb testing.TB, s *store.Store, id, pattern string, status core.ExecutionStatus) {
	tb.Helper()
	created, _ := core.IDTime(id)
	mustUpdate(tb, s, func(tx core.Tx) error {
		return errors.Join(
			tx.PutDefinition("hash-"+pattern, "name: "+pattern),
			tx.PutExecution(execution(id, pattern, core.ExecutionRunning)),
			tx.Append(core.Event{Type: core.EventExecutionStarted, ID: "evt_s" + id, Subject: id, Time: created},
				core.Event{Type: core.EventTaskAssigned, Subject: id, Time: created}),
		)
	})
	if status == core.ExecutionRunning {
		return
	}
	mustUpdate(tb, s, func(tx core.Tx) error {
		return errors.Join(
			tx.PutExecution(execution(id, pattern, status)),
			tx.Append(core.Event{Type: core.EventExecutionCompleted, ID: "evt_c" + id, Subject: id, Time: created}),
		)
	})
}

// When all is retired, nothing is left but what every store has.
func testRetainEverything(t *testing.T, open Opener) {
	clock := coretest.NewClock()
	s := open(t, store.Options{Clock: clock})
	empty := countKeys(t, s)
	statuses := []core.ExecutionStatus{core.ExecutionCompleted, core.ExecutionFailed, core.ExecutionCancelled}
	for i := range 250 {
		run(t, s, idAt(start, i+1), fmt.Sprintf("p%d", i%4), statuses[i%3])
	}
	done := start.Add(time.Second)
	mustUpdate(t, s, func(tx core.Tx) error {
		err := tx.PutBatch(&core.Batch{ID: core.IDBound(core.PrefixBatch, start), Status: core.BatchCompleted, CompletedAt: &done})
		for i := range 3000 {
			err = errors.Join(err, tx.PutBatchInput(core.IDBound(core.PrefixBatch, start), i, []byte("1")),
				tx.PutBatchResult(core.IDBound(core.PrefixBatch, start), core.BatchResult{Index: i}))
		}
		return errors.Join(err,
			tx.PutAgent(&core.AgentRecord{Agent: core.Agent{ID: "agent_1", Status: core.AgentDisconnected, DisconnectedAt: &done}}),
			tx.ClaimIdempotency(&core.IdempotencyClaim{Scope: "me", Key: "k"}, "exec_1", start),
			tx.PutDefinition("unused", "x"),
			tx.PutPattern(&core.Pattern{Name: "vote", Version: "1", Hash: "unused"}),
			tx.DeletePattern("vote", "1"),
			tx.Append(core.Event{Type: core.EventPatternDeleted, ID: "evt_1", Subject: "vote", Time: start}))
	})
	clock.Advance(25 * time.Hour)
	policy := store.Policy{Executions: time.Hour, Events: time.Hour, Batches: time.Hour, Agents: time.Hour, Idempotency: time.Hour}
	got, err := s.Retain(ctx, policy)
	want := store.Retired{Executions: 250, Events: 501, Batches: 1, Agents: 1, Idempotency: 1, Definitions: 5}
	if err != nil || got != want {
		t.Fatalf("retired %+v, %v, want %+v", got, err, want)
	}
	if left := countKeys(t, s); left != empty+1 { // the sequence stays
		t.Fatalf("%d keys are left, want %d", left, empty+1)
	}
	if counts, err := s.CountExecutions(ctx); err != nil || len(counts) != 0 {
		t.Fatalf("counts: %v, %v", counts, err)
	}
	if got, err := s.Retain(ctx, policy); err != nil || got != (store.Retired{}) {
		t.Fatalf("a second run retired %+v, %v", got, err)
	}
}

// What is active, young or still needed stays, and counters agree with the lists.
func testRetainKeeps(t *testing.T, open Opener) {
	clock := coretest.NewClock()
	s := open(t, store.Options{Clock: clock})
	active, old := idAt(start, 1), idAt(start, 2)
	run(t, s, active, "vote", core.ExecutionRunning)
	run(t, s, old, "vote", core.ExecutionCompleted)
	late := execution(idAt(start, 3), "vote", core.ExecutionFailed) // began early, ended late
	ended := start.Add(90 * time.Minute)
	late.CompletedAt = &ended
	putExecution(t, s, late)
	young := idAt(start.Add(100*time.Minute), 4)
	run(t, s, young, "vote", core.ExecutionCompleted)
	mustUpdate(t, s, func(tx core.Tx) error {
		return errors.Join(
			tx.PutBatch(&core.Batch{ID: core.IDBound(core.PrefixBatch, start), Status: core.BatchRunning}),
			tx.PutAgent(&core.AgentRecord{Agent: core.Agent{ID: "agent_1", Status: core.AgentConnected}}),
			tx.ClaimIdempotency(&core.IdempotencyClaim{Scope: "me", Key: "k"}, "exec_1", start),
		)
	})
	if err := s.SetCursor(ctx, "fast", 100); err != nil {
		t.Fatal(err)
	}
	if err := s.SetCursor(ctx, "slow", 1); err != nil {
		t.Fatal(err)
	}
	clock.Advance(2 * time.Hour)
	policy := store.Policy{Executions: time.Hour, Events: time.Hour, Batches: time.Hour, Agents: time.Hour, Idempotency: time.Hour}
	got, err := s.Retain(ctx, policy)
	if want := (store.Retired{Executions: 1, Events: 1}); err != nil || got != want {
		t.Fatalf("retired %+v, %v, want %+v", got, err, want)
	}
	counts, _ := s.CountExecutions(ctx)
	for status, n := range map[core.ExecutionStatus]int{core.ExecutionRunning: 1, core.ExecutionFailed: 1, core.ExecutionCompleted: 1} {
		list, info, err := s.FindExecutions(ctx, core.ExecutionFilter{Pattern: "vote", Statuses: statuses(status)})
		if err != nil || len(list) != n || info.Total != n || counts["vote"][status] != n {
			t.Fatalf("%s: %d rows, %+v, counted %d, %v", status, len(list), info, counts["vote"][status], err)
		}
	}
	if _, err := s.FindDefinition(ctx, "hash-vote"); err != nil {
		t.Fatalf("executions still need their definition: %v", err)
	}
	// The log from the slowest consumer on is whole, though the execution of its events went.
	log, _, err := s.Log(ctx, 1, 0)
	if err != nil || len(log) != 4 || log[0].Subject != old {
		t.Fatalf("log: %+v, %v", log, err)
	}
	if events, _, err := s.Events(ctx, active, 0, 0); err != nil || len(events) != 2 {
		t.Fatalf("the journal of an active execution was cut: %v, %v", events, err)
	}
	if err := s.DeleteCursor(ctx, "slow"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Retain(ctx, policy); err != nil {
		t.Fatal(err)
	}
	if events, _, err := s.Events(ctx, old, 0, 0); err != nil || len(events) != 0 {
		t.Fatalf("events of a retired execution are left: %v, %v", events, err)
	}
	if log, _, err := s.Log(ctx, 0, 0); err != nil || len(log) != 2 || log[0].Subject != young {
		t.Fatalf("log: %+v, %v", log, err)
	}
	if got, err := s.Retain(ctx, store.Policy{}); err != nil || got != (store.Retired{}) {
		t.Fatalf("the policy that keeps all retired %+v, %v", got, err)
	}
}

// One execution with a journal of many keys goes in several transactions.
func testRetainLongJournal(t *testing.T, open Opener) {
	clock := coretest.NewClock()
	s := open(t, store.Options{Clock: clock})
	id := idAt(start, 1)
	run(t, s, id, "vote", core.ExecutionCompleted)
	mustUpdate(t, s, func(tx core.Tx) error {
		for range 5000 {
			if err := tx.Append(core.Event{Type: core.EventTaskCompleted, Subject: id, Time: start}); err != nil {
				return err
			}
		}
		return nil
	})
	clock.Advance(2 * time.Hour)
	if got, err := s.Retain(ctx, store.Policy{Executions: time.Hour, Events: time.Hour}); err != nil || got.Executions != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	if events, _, err := s.Events(ctx, id, 0, 0); err != nil || len(events) != 0 {
		t.Fatalf("%d events are left, %v", len(events), err)
	}
}

// A definition that was put but is referred to by nothing yet has an hour; a pin keeps it as a hash does.
func testRetainDefinitions(t *testing.T, open Opener) {
	clock := coretest.NewClock()
	s := open(t, store.Options{Clock: clock})
	put := func(hash string) { mustUpdate(t, s, func(tx core.Tx) error { return tx.PutDefinition(hash, "x") }) }
	put("waits")
	put("pinned")
	e := execution(idAt(start, 1), "vote", core.ExecutionRunning)
	e.Pins = map[string]string{"inner@1.x": "pinned"}
	putExecution(t, s, e)
	clock.Advance(59 * time.Minute)
	put("waits") // again: the hour begins anew
	clock.Advance(30 * time.Minute)
	if got, err := s.Retain(ctx, store.Policy{}); err != nil || got.Definitions != 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	clock.Advance(31 * time.Minute)
	if got, err := s.Retain(ctx, store.Policy{}); err != nil || got.Definitions != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	if _, err := s.FindDefinition(ctx, "pinned"); err != nil {
		t.Fatal(err)
	}
	_, err := s.FindDefinition(ctx, "waits")
	wantCode(t, err, core.CodeNotFound)
}

// An idempotency key that was claimed anew outlives the index entry of its first claim.
func testRetainIdempotency(t *testing.T, open Opener) {
	clock := coretest.NewClock()
	s := open(t, store.Options{Clock: clock})
	claim := &core.IdempotencyClaim{Scope: "me", Key: "k"}
	for i := range 2 {
		mustUpdate(t, s, func(tx core.Tx) error { return tx.ClaimIdempotency(claim, fmt.Sprint("exec_", i), clock.Now()) })
		clock.Advance(core.IdempotencyTTL + time.Minute)
	}
	clock.Advance(-2 * time.Minute) // the second claim is still good
	if got, err := s.Retain(ctx, store.Policy{Idempotency: time.Nanosecond}); err != nil || got.Idempotency != 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	rec, err := s.FindIdempotency(ctx, "me", "k", clock.Now())
	if err != nil || rec == nil || rec.ResourceID != "exec_1" {
		t.Fatalf("%+v, %v", rec, err)
	}
}

func testRunMaintenance(t *testing.T, open Opener) {
	clock := coretest.NewClock()
	s := open(t, store.Options{Clock: clock})
	for i := range 5 {
		run(t, s, idAt(start.Add(time.Duration(i)*time.Hour), i+1), "vote", core.ExecutionCompleted)
	}
	running, cancel := context.WithCancel(ctx)
	done := make(chan error)
	go func() {
		done <- s.RunMaintenance(running, func() store.Policy { return store.Policy{Executions: time.Hour} })
	}()
	total := func() int {
		_, info, err := s.FindExecutions(ctx, core.ExecutionFilter{})
		if err != nil {
			t.Error(err)
		}
		return info.Total
	}
	coretest.WaitFor(t, "the hourly runs to retire all", func() bool {
		clock.Advance(20 * time.Minute)
		return total() == 0
	})
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
}

// A pattern may have the name of an execution: its events stand apart from those of the execution, and stay when it goes.
// Events of patterns that an earlier version stored under the plain name are read on.
func testPatternNamedLikeAnExecution(t *testing.T, open Opener) {
	clock := coretest.NewClock()
	s := open(t, store.Options{Clock: clock})
	id := idAt(start, 1)
	run(t, s, id, "p", core.ExecutionCompleted)
	made := func(evt, subject string) {
		mustUpdate(t, s, func(tx core.Tx) error {
			return tx.Append(core.Event{Type: core.EventPatternCreated, ID: evt, Subject: subject, Time: clock.Now()})
		})
	}
	made("evt_old", "vote")
	made("evt_new", core.PatternSubject(id))
	journal, _, err := s.Events(ctx, id, 0, 0)
	if err != nil || len(journal) != 3 {
		t.Fatalf("the execution has %d events, %v", len(journal), err)
	}
	clock.Advance(25 * time.Hour)
	if _, err := s.Retain(ctx, store.Policy{Executions: time.Hour, Events: 1000 * time.Hour}); err != nil {
		t.Fatal(err)
	}
	var found []string
	log, _, err := s.Log(ctx, 0, 0)
	for _, e := range log {
		if e.Type == core.EventPatternCreated {
			found = append(found, e.ID)
		}
	}
	if err != nil || !slices.Equal(found, []string{"evt_old", "evt_new"}) || len(s.Broken()) != 0 {
		t.Errorf("found %v, %v; %d records are broken", found, err, len(s.Broken()))
	}
	for _, subject := range []string{"vote", core.PatternSubject(id)} {
		if list, _, err := s.Events(ctx, subject, 0, 0); err != nil || len(list) != 1 {
			t.Errorf("%d events of %s, %v", len(list), subject, err)
		}
	}
}
