package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/store"
)

// The journal of a managed agent, a schedule, a trigger or a webhook goes with it, and that of one that lives on by age, as that of
// an erasure, whose record stays.
func testRetainJournals(t *testing.T, open Opener) {
	for _, of := range []struct {
		prefix      string
		put, remove func(tx core.Tx, id string) error
	}{
		{core.PrefixManaged, func(tx core.Tx, id string) error {
			return tx.PutManagedAgent(&core.ManagedAgentRecord{ManagedAgent: core.ManagedAgent{ID: id}})
		}, core.Tx.DeleteManagedAgent},
		{core.PrefixSchedule, func(tx core.Tx, id string) error {
			return tx.PutSchedule(&core.ScheduleRecord{Schedule: core.Schedule{ID: id}})
		}, core.Tx.DeleteSchedule},
		{core.PrefixTrigger, func(tx core.Tx, id string) error {
			return tx.PutTrigger(&core.TriggerRecord{Trigger: core.Trigger{ID: id}})
		}, core.Tx.DeleteTrigger},
		{core.PrefixWebhook, func(tx core.Tx, id string) error {
			return tx.PutWebhook(&core.WebhookRecord{Webhook: core.Webhook{ID: id}})
		}, core.Tx.DeleteWebhook},
		{core.PrefixErasure, func(tx core.Tx, id string) error {
			return tx.PutErasure(&core.ErasureRecord{Erasure: core.Erasure{ID: id}})
		}, nil},
	} {
		t.Run(of.prefix, func(t *testing.T) { testRetainJournalsOf(t, open, of.prefix, of.put, of.remove) })
	}
}

func testRetainJournalsOf(t *testing.T, open Opener, prefix string, put, remove func(tx core.Tx, id string) error) {
	clock := coretest.NewClock()
	s := open(t, store.Options{Clock: clock})
	gone, lives := core.IDBound(prefix, start), core.IDBound(prefix, start.Add(time.Second))
	event := func(id string, at time.Time) {
		mustUpdate(t, s, func(tx core.Tx) error {
			events := make([]core.Event, 500)
			for i := range events {
				events[i] = core.Event{Type: core.EventManagedMessage, Subject: id, Time: at}
			}
			return tx.Append(events...)
		})
	}
	for _, id := range []string{gone, lives} {
		if id == lives || remove != nil {
			mustUpdate(t, s, func(tx core.Tx) error { return put(tx, id) })
		}
		event(id, start)
		event(id, start.Add(20*time.Minute))
	}
	event(lives, start.Add(9000*time.Hour)) // stamped while the clock was ahead
	event(lives, start.Add(30*time.Minute))
	if remove != nil {
		mustUpdate(t, s, func(tx core.Tx) error { return remove(tx, gone) })
	}
	left := func(id string) int {
		events, _, err := s.Events(ctx, id, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		return len(events)
	}
	clock.Advance(50 * time.Minute)
	if _, err := s.Retain(ctx, store.Policy{}); err != nil || left(gone) != 1000 || left(lives) != 2000 {
		t.Fatalf("within the hour: %d and %d, %v", left(gone), left(lives), err)
	}
	clock.Advance(2 * time.Hour)
	done, err := s.Retain(ctx, store.Policy{Events: 2*time.Hour + 25*time.Minute})
	if err != nil || left(gone) != 0 || left(lives) != 1000 || done.Journals != 2000 {
		t.Fatalf("%d and %d, %+v, %v", left(gone), left(lives), done, err)
	}
}

// The events of a batch go once retention took it, and those of one that is stored by age.
func testRetainBatchEvents(t *testing.T, open Opener) {
	clock := coretest.NewClock()
	s := open(t, store.Options{Clock: clock})
	over, runs := core.IDBound(core.PrefixBatch, start), core.IDBound(core.PrefixBatch, start.Add(time.Second))
	mustUpdate(t, s, func(tx core.Tx) error {
		at := start
		for _, b := range []*core.Batch{{ID: over, Status: core.BatchCompleted, CompletedAt: &at}, {ID: runs, Status: core.BatchRunning}} {
			if err := tx.PutBatch(b); err != nil {
				return err
			}
			if err := tx.Append(core.Event{Type: core.EventBatchStarted, Subject: b.ID, Time: start}); err != nil {
				return err
			}
		}
		return nil
	})
	left := func(id string) int {
		events, _, err := s.Events(ctx, id, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		return len(events)
	}
	clock.Advance(2 * time.Hour)
	for _, policy := range []store.Policy{{Batches: time.Hour}, {}} { // the second finds those of what the first removed
		if _, err := s.Retain(ctx, policy); err != nil {
			t.Fatal(err)
		}
	}
	if left(over) != 0 || left(runs) != 1 {
		t.Errorf("%d events of the batch that is gone and %d of the other are left", left(over), left(runs))
	}
	if _, err := s.Retain(ctx, store.Policy{Events: time.Hour}); err != nil || left(runs) != 0 {
		t.Errorf("%d old events of a batch are left, %v", left(runs), err)
	}
}

// Inputs of a batch whose record never came are swept, and no others.
func testRetainInputs(t *testing.T, open Opener) {
	clock := coretest.NewClock()
	s := open(t, store.Options{Clock: clock})
	stored, never, fresh := core.IDBound(core.PrefixBatch, start), core.IDBound(core.PrefixBatch, start.Add(time.Second)),
		core.IDBound(core.PrefixBatch, start.Add(10*time.Hour))
	for _, id := range []string{stored, never, fresh} {
		for i := range 100 {
			mustUpdate(t, s, func(tx core.Tx) error { return tx.PutBatchInput(id, i, []byte("1")) })
		}
	}
	mustUpdate(t, s, func(tx core.Tx) error { return tx.PutBatch(&core.Batch{ID: stored, Status: core.BatchRunning}) })
	clock.Advance(10 * time.Hour)
	done, err := s.Retain(ctx, store.Policy{})
	if err != nil || done.Inputs != 100 {
		t.Fatalf("%+v, %v", done, err)
	}
	for id, want := range map[string]core.Code{stored: "", never: core.CodeNotFound, fresh: ""} {
		if _, err := s.FindBatchInput(ctx, id, 99); core.ErrorCode(err) != want {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// Events that are stamped with a time of the future do not stop the trimming of the log, wherever they stand.
func testRetainEventsOfTheFuture(t *testing.T, open Opener) {
	clock := coretest.NewClock()
	s := open(t, store.Options{Clock: clock})
	const n = 3000
	mustUpdate(t, s, func(tx core.Tx) error {
		for i := range n {
			at := start
			if i == 0 || i > n/2 && i < n-10 {
				at = start.Add(90 * 24 * time.Hour)
			}
			err := tx.Append(core.Event{Type: core.EventPatternCreated, ID: fmt.Sprint("evt_", i), Subject: "vote", Time: at})
			if err != nil {
				return err
			}
		}
		return nil
	})
	clock.Advance(2 * time.Hour)
	mustUpdate(t, s, func(tx core.Tx) error { // it may be of the present: nothing after it says otherwise
		return tx.Append(core.Event{Type: core.EventPatternCreated, ID: "evt_last", Subject: "vote", Time: start.Add(90 * 24 * time.Hour)})
	})
	done, err := s.Retain(ctx, store.Policy{Events: time.Hour})
	if err != nil || done.Events != n {
		t.Fatalf("%+v, %v", done, err)
	}
}

// What has an id of the future, made while the clock was ahead, goes when it is old by its own times.
func testRetainIDsOfTheFuture(t *testing.T, open Opener) {
	clock := coretest.NewClock()
	s := open(t, store.Options{Clock: clock})
	id := idAt(start.Add(90*24*time.Hour), 1)
	e := execution(id, "vote", core.ExecutionCompleted)
	done := start.Add(time.Second)
	e.CompletedAt = &done
	putExecution(t, s, e)
	mustUpdate(t, s, func(tx core.Tx) error {
		return tx.PutBatch(&core.Batch{ID: core.IDBound(core.PrefixBatch, start.Add(90*24*time.Hour)), Status: core.BatchCompleted, CompletedAt: &done})
	})
	policy := store.Policy{Executions: time.Hour, Batches: time.Hour}
	if got, err := s.Retain(ctx, policy); err != nil || got != (store.Retired{}) {
		t.Fatalf("%+v, %v", got, err)
	}
	clock.Advance(2 * time.Hour)
	if got, err := s.Retain(ctx, policy); err != nil || got.Executions != 1 || got.Batches != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
}
