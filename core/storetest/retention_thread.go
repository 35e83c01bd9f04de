package storetest

import (
	"errors"
	"fmt"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/store"
)

// runThread stores a thread of an execution with inputs, events and a decision.
func runThread(tb testing.TB, s *store.Store, id, execID string, status core.ThreadStatus, events int) {
	tb.Helper()
	mustUpdate(tb, s, func(tx core.Tx) error {
		r := thread(id, execID, status)
		r.Preparation.ContextFiles = []core.ContextFile{{Path: "a", Content: "b"}}
		d := decision(core.PrefixDecision+id[len(core.PrefixThread):], execID, "f"+id)
		err := errors.Join(tx.PutThread(r), tx.PutDecision(d))
		for i := range 4 {
			err = errors.Join(err, tx.PutInput(input(id, uint64(i+1))))
		}
		err = errors.Join(err, tx.DeleteInputs(id, 2))
		for range events {
			err = errors.Join(err, tx.Append(threadEvent(id, execID, core.EventThreadOutput)))
		}
		return err
	})
}

// Threads go with their execution, with all that belongs to them, and nothing of others goes.
func testRetainThreads(t *testing.T, open Opener) {
	clock := coretest.NewClock()
	s := open(t, store.Options{Clock: clock})
	empty := countKeys(t, s)
	ended, other := idAt(start, 1), idAt(start, 2)
	run(t, s, ended, "vote", core.ExecutionCompleted)
	run(t, s, other, "vote", core.ExecutionRunning)
	for i := range 60 { // more than one transaction of retention takes
		runThread(t, s, threadAt(start, i+1), ended, core.ThreadStatuses[7+i%3], 3)
	}
	runThread(t, s, threadAt(start, 100), ended, core.ThreadCompleted, 5000)
	runThread(t, s, threadAt(start, 101), other, core.ThreadCompleted, 3)
	w := workspace(ownID(core.PrefixWorkspace, start, 1), ended, core.WorkspaceReleased)
	e := experience(ownID(core.PrefixMemory, start, 1), "f", core.ExperienceSuccessful)
	mustUpdate(t, s, func(tx core.Tx) error { return errors.Join(tx.PutWorkspace(w), tx.PutExperience(e)) })
	clock.Advance(2 * time.Hour)
	policy := store.Policy{Executions: time.Hour, Events: time.Hour}
	if got, err := s.Retain(ctx, policy); err != nil || got.Executions != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	wantList(t, "threads", threadList(s, core.ThreadFilter{}), []string{threadAt(start, 101)}, 10)
	wantList(t, "threads of the execution", threadList(s, core.ThreadFilter{ExecutionID: ended}), nil, 10)
	if _, info, err := s.FindDecisions(ctx, core.DecisionFilter{}); err != nil || info.Total != 1 {
		t.Fatalf("decisions: %+v, %v", info, err)
	}
	for name, want := range map[string]int{
		threadAt(start, 1): 0, threadAt(start, 100): 0, core.ThreadGroup(ended): 0,
		threadAt(start, 101): 3, core.ThreadGroup(other): 3,
	} {
		if got := mustEvents(t, s, name, 0, 0); len(got) != want {
			t.Errorf("%s has %d events, want %d", name, len(got), want)
		}
	}
	wantInputs(t, s, threadAt(start, 1), 0, 10)
	wantInputs(t, s, threadAt(start, 101), 0, 10, 3, 4)
	// Workspaces and experiences outlive the execution.
	mustUpdate(t, s, func(tx core.Tx) error {
		_, err := tx.SameExperience("f")
		return errors.Join(err, tx.DeleteWorkspace(w.ID), tx.DeleteExperience(e.ID))
	})
	putExecution(t, s, execution(other, "vote", core.ExecutionCompleted))
	clock.Advance(2 * time.Hour)
	if got, err := s.Retain(ctx, policy); err != nil || got.Executions != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	if left := countKeys(t, s); left != empty+1 { // the sequence stays
		t.Fatalf("%d keys are left, want %d", left, empty+1)
	}
}

// An execution that is over stays, with its threads, while one of them is active.
func testRetainActiveThread(t *testing.T, open Opener) {
	clock := coretest.NewClock()
	s := open(t, store.Options{Clock: clock})
	execID := idAt(start, 1)
	run(t, s, execID, "vote", core.ExecutionCompleted)
	runThread(t, s, threadAt(start, 1), execID, core.ThreadCompleted, 1)
	runThread(t, s, threadAt(start, 2), execID, core.ThreadIdle, 1)
	clock.Advance(2 * time.Hour)
	policy := store.Policy{Executions: time.Hour, Events: time.Hour}
	if got, err := s.Retain(ctx, policy); err != nil || got.Executions != 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	wantList(t, "threads", threadList(s, core.ThreadFilter{ExecutionID: execID}), []string{threadAt(start, 2), threadAt(start, 1)}, 1)
	if got := mustEvents(t, s, core.ThreadGroup(execID), 0, 0); len(got) != 2 {
		t.Fatalf("%d events are left, want 2", len(got))
	}
	putThread(t, s, thread(threadAt(start, 2), execID, core.ThreadStopped))
	if got, err := s.Retain(ctx, policy); err != nil || got.Executions != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
}

// A thread that comes to an execution that is over, at any point while that is being removed, keeps it or finds it gone.
func testRetainThreadRace(t *testing.T, open Opener) {
	clock := coretest.NewClock()
	var batches atomic.Int32 // that the writer may still begin before the thread comes
	come := make(chan struct{}, 1)
	s := open(t, store.Options{Clock: clock, DiskFree: func(string) (uint64, error) { // it is asked for every batch
		if batches.Add(-1) == 0 {
			come <- struct{}{}
		}
		return 1 << 40, nil
	}})
	policy := store.Policy{Executions: time.Hour, Events: time.Hour}
	for round := range 18 {
		execID, id := idAt(start, round+1), threadAt(start, 2000+round)
		run(t, s, execID, "vote", core.ExecutionCompleted)
		for i := range 4 {
			runThread(t, s, threadAt(start, 32*(round+1)+i), execID, core.ThreadCompleted, 1)
		}
		clock.Advance(2 * time.Hour)
		spawned := make(chan error)
		go func() {
			<-come
			spawned <- s.Update(ctx, func(tx core.Tx) error {
				if _, err := tx.FindExecution(execID); err != nil {
					return err
				}
				return tx.PutThread(thread(id, execID, core.ThreadPending))
			})
		}()
		batches.Store(int32(round + 1))
		got, err := s.Retain(ctx, policy)
		if err != nil {
			t.Fatal(err)
		}
		if batches.Swap(0) > 0 {
			come <- struct{}{} // all was removed before
		}
		spawnErr := <-spawned
		if spawnErr == nil && got.Executions == 0 {
			if _, err := s.FindExecution(ctx, execID); err != nil {
				t.Fatalf("round %d: the thread's execution: %v", round, err)
			}
			putThread(t, s, thread(id, execID, core.ThreadStopped))
			got, err = s.Retain(ctx, policy)
		} else if core.ErrorCode(spawnErr) != core.CodeNotFound {
			t.Fatalf("round %d: the thread got %v, and %+v", round, spawnErr, got)
		}
		if err != nil || got.Executions != 1 {
			t.Fatalf("round %d: %+v, %v", round, got, err)
		}
		wantList(t, fmt.Sprint("threads of round ", round), threadList(s, core.ThreadFilter{}), nil, 10)
	}
	if left := countKeys(t, s); left != 3 { // both records of the schema, and the sequence
		t.Fatalf("%d keys are left", left)
	}
}

// A dump holds threads and all around them.
func testThreadsInDump(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	for i, status := range core.ThreadStatuses {
		runThread(t, s, threadAt(start, i+1), idAt(start, 1+i%2), status, 2)
	}
	mustUpdate(t, s, func(tx core.Tx) error {
		return errors.Join(tx.PutWorkspace(workspace(ownID(core.PrefixWorkspace, start, 1), idAt(start, 1), core.WorkspaceReady)),
			tx.PutExperience(experience(ownID(core.PrefixMemory, start, 1), "f", core.ExperiencePartial)))
	})
	again := mustRestore(t, s)
	for name, read := range map[string]func(s *store.Store) (any, error){
		"threads": func(s *store.Store) (any, error) {
			list, _, err := s.FindThreads(ctx, core.ThreadFilter{ExecutionID: idAt(start, 1)})
			return list, err
		},
		"active": func(s *store.Store) (any, error) { return s.ActiveThreads(ctx) },
		"inputs": func(s *store.Store) (any, error) { return s.QueuedInputs(ctx, threadAt(start, 1), 0, 0) },
		"group": func(s *store.Store) (any, error) {
			events, _, err := s.Events(ctx, core.ThreadGroup(idAt(start, 1)), 0, 0)
			return events, err
		},
		"lastSeq": func(s *store.Store) (any, error) { return s.LastSeq(), nil },
		"spaces":  func(s *store.Store) (any, error) { return s.AllWorkspaces(ctx) },
		"decisions": func(s *store.Store) (any, error) {
			_, info, err := s.FindDecisions(ctx, core.DecisionFilter{Category: core.DecisionFinding})
			return info, err
		},
		"experiences": func(s *store.Store) (any, error) {
			list, _, err := s.FindExperiences(ctx, core.ExperienceFilter{Role: "driver"})
			return list, err
		},
	} {
		want, err := read(s)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := read(again); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v, want %+v", name, got, err, want)
		}
	}
}
