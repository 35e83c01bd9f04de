package storetest

import (
	"reflect"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store"
	"github.com/wardroom/wardroom/sdk/wire"
)

func testSchedule(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	tick := start.Add(time.Hour)
	r := &core.ScheduleRecord{
		Schedule: core.Schedule{
			ID: ownID(core.PrefixSchedule, start, 1), Name: "nightly", Cron: "0 3 * * *", TimeZone: "UTC", Status: wire.ScheduleActive,
			Target:  core.Target{Execution: &core.ExecutionTarget{Pattern: "p", Input: []byte(`{"n":12345678901234567890}`)}},
			Running: []core.RunRef{{ExecutionID: "exec_1"}}, CreatedBy: "ann", CreatedAt: start, UpdatedAt: start,
		},
		Revision: 3, Principal: core.PrincipalRecord{Kind: core.PrincipalAPIKey, ID: "ann", KeyID: "key_1"}, Anchor: start, Cursor: tick,
		Fired: []core.TickSpan{{From: start, To: tick}}, Queue: []time.Time{tick}, SealedEnv: []byte{1, 2},
	}
	mustUpdate(t, s, func(tx core.Tx) error {
		if _, err := tx.FindScheduleRecord(r.ID); core.ErrorCode(err) != core.CodeNotFound {
			t.Errorf("before the put: %v", err)
		}
		if err := tx.PutSchedule(r); err != nil {
			return err
		}
		got, err := tx.FindScheduleRecord(r.ID)
		if !reflect.DeepEqual(got, r) {
			t.Errorf("in the transaction: %+v", got)
		}
		return err
	})
	second := &core.ScheduleRecord{Schedule: core.Schedule{ID: ownID(core.PrefixSchedule, start, 2), Name: "other"}}
	mustUpdate(t, s, func(tx core.Tx) error { return tx.PutSchedule(second) })
	list, err := s.AllSchedules(ctx)
	if err != nil || len(list) != 2 || !reflect.DeepEqual(list[0], r) || list[1].ID != second.ID {
		t.Fatalf("%+v, %v", list, err)
	}
	// Its events are found by its id, and stay with it.
	mustUpdate(t, s, func(tx core.Tx) error {
		return tx.Append(core.Event{Type: core.EventScheduleTick, Time: start, Subject: r.ID, Data: []byte(`{}`)})
	})
	if events, _, err := s.Events(ctx, r.ID, 0, 10); err != nil || len(events) != 1 {
		t.Errorf("%v, %v", events, err)
	}
	mustUpdate(t, s, func(tx core.Tx) error { return tx.DeleteSchedule(r.ID) })
	mustUpdate(t, s, func(tx core.Tx) error { return tx.DeleteSchedule(r.ID) }) // an unknown one is no error
	if list, err = s.AllSchedules(ctx); err != nil || len(list) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
	if err := s.Update(ctx, func(tx core.Tx) error { return tx.PutSchedule(new(core.ScheduleRecord)) }); core.ErrorCode(err) != core.CodeValidation {
		t.Errorf("without an id: %v", err)
	}
}
