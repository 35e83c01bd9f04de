package store

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
)

// A list of executions reads rows: not their inputs and results, and not the records of an earlier version's entries
// once these were put again.
func TestExecutionRows(t *testing.T) {
	ctx := context.Background()
	s, err := Open(ctx, Options{Path: t.TempDir(), MinFreeBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	began, ended := at.Add(time.Second), at.Add(time.Minute)
	want := map[core.ExecutionStatus]*core.Execution{}
	for i, status := range core.ExecutionStatuses {
		e := &core.Execution{
			ID: core.IDBound(core.PrefixExecution, at.Add(time.Duration(i)*time.Second)), Status: status, Hash: "h", CreatedAt: at,
			Pattern: core.PatternRef{Name: "vote", Version: "1.2.3"}, Input: json.RawMessage(`"` + strings.Repeat("x", 10_000) + `"`),
		}
		if status != core.ExecutionPending {
			e.StartedAt = &began
		}
		if status == core.ExecutionRunning {
			e.Waiting = &core.ExecutionWait{For: core.WaitForPeople}
		}
		switch {
		case status == core.ExecutionCancelled:
			e.CancelledAt = &ended
		case status.Terminal():
			e.CompletedAt = &ended
		}
		if err := s.Update(ctx, func(tx core.Tx) error { return tx.PutExecution(e) }); err != nil {
			t.Fatal(err)
		}
		row := *e
		row.Input, row.Hash = nil, ""
		want[status] = &row
		// What is not read cannot be in the way.
		if err := commitWrites(s.db, []write{{appendKey(nil, prefixExecution, e.ID), []byte("{")}}); err != nil {
			t.Fatal(err)
		}
	}
	for status, row := range want {
		list, info, err := s.FindExecutions(ctx, core.ExecutionFilter{Statuses: []core.ExecutionStatus{status}})
		if err != nil || len(list) != 1 || info.Total != 1 || !reflect.DeepEqual(list[0], row) {
			t.Errorf("%s: %+v, %v, want %+v", status, list, err, row)
		}
	}
	list, _, err := s.FindExecutions(ctx, core.ExecutionFilter{Pattern: "vote"})
	if err != nil || len(list) != len(want) {
		t.Errorf("%d rows, %v", len(list), err)
	}
	if n := len(s.Broken()); n != 0 {
		t.Errorf("%d records were read", n)
	}
}

// Entries that an earlier version wrote lead to the records.
func TestExecutionWithoutRow(t *testing.T) {
	ctx := context.Background()
	s, err := Open(ctx, Options{Path: t.TempDir(), MinFreeBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for _, status := range []core.ExecutionStatus{core.ExecutionRunning, core.ExecutionFailed} {
		e := &core.Execution{ID: "exec_" + string(status), Status: status, Pattern: core.PatternRef{Name: "vote", Version: "1"}, Hash: "h"}
		if err := s.Update(ctx, func(tx core.Tx) error { return tx.PutExecution(e) }); err != nil {
			t.Fatal(err)
		}
		former := write{appendStatusIndex(nil, string(status), e.ID), []byte{}}
		if !status.Terminal() {
			former = write{appendKey(nil, prefixActive, e.ID), appendActive(nil, stateOf(e))}
		}
		if err := commitWrites(s.db, []write{former}); err != nil {
			t.Fatal(err)
		}
	}
	list, _, err := s.FindExecutions(ctx, core.ExecutionFilter{})
	if err != nil || len(list) != 2 || list[0].Pattern.Version != "1" || list[1].Status != core.ExecutionFailed {
		t.Fatalf("%+v, %v", list, err)
	}
}

func FuzzDecodeRow(f *testing.F) {
	f.Add(appendRow(nil, &core.Execution{Pattern: core.PatternRef{Name: "vote", Version: "1"}, CreatedAt: time.Unix(1, 2)}))
	f.Add(appendRow(nil, &core.Execution{Waiting: &core.ExecutionWait{For: core.WaitForSlot}}))
	f.Add([]byte{1})
	f.Fuzz(func(t *testing.T, b []byte) {
		e := new(core.Execution)
		if decodeRow(e, b) != nil {
			return
		}
		again := new(core.Execution)
		if err := decodeRow(again, appendRow(nil, e)); err != nil || !reflect.DeepEqual(e, again) {
			t.Fatalf("%+v, %+v, %v", e, again, err)
		}
	})
}
