package store

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/wardroom/wardroom/core"
)

// A former version counted cancelled items as failed ones, and had no count of them.
func TestCountsOfBatchesOfEarlierVersions(t *testing.T) {
	ctx := context.Background()
	s, err := Open(ctx, Options{Path: t.TempDir(), MinFreeBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	items := []core.ExecutionStatus{
		core.ExecutionCompleted, core.ExecutionFailed, core.ExecutionCancelled, core.ExecutionCancelled, core.ExecutionFailed,
	}
	counts := `{"id":"batch_1","status":"failed","total":5,"completed":1,"failed":4,"options":{"metadata":{"cancelled":9}}`
	for title, want := range map[string]struct {
		stored            string
		failed, cancelled int
	}{
		"former": {counts + `}`, 2, 2},
		"now":    {counts + `,"cancelled":0}`, 4, 0},
	} {
		writes := []write{{appendKey(nil, prefixBatch, "batch_1"), []byte(want.stored)}}
		for i, status := range items {
			value, err := json.Marshal(core.BatchResult{Index: i, Status: status})
			if err != nil {
				t.Fatal(err)
			}
			writes = append(writes, write{appendItem(nil, prefixBatchResult, "batch_1", uint32(i)), value})
		}
		if err := commitWrites(s.db, writes); err != nil {
			t.Fatal(err)
		}
		b, err := s.FindBatch(ctx, "batch_1")
		if err != nil || b.Completed != 1 || b.Failed != want.failed || b.Cancelled != want.cancelled {
			t.Errorf("%s: %+v, %v", title, b, err)
		}
	}
}

// What came of an item lay with how it stands in stores of earlier versions.
func TestBatchResultsOfEarlierVersions(t *testing.T) {
	ctx := context.Background()
	s, err := Open(ctx, Options{Path: t.TempDir(), MinFreeBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	b := &core.Batch{ID: "batch_1", Status: core.BatchRunning, Total: 3}
	if err := s.Update(ctx, func(tx core.Tx) error { return tx.PutBatch(b) }); err != nil {
		t.Fatal(err)
	}
	var former []write
	for i, r := range []core.BatchResult{
		{Status: core.ExecutionCompleted, Result: json.RawMessage(`{"a":1}`)},
		{Index: 1, Status: core.ExecutionFailed, Error: &core.ExecutionError{Code: core.CodeAgentError, Message: "no"}},
		{Index: 2, Status: core.ExecutionRunning},
	} {
		value, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		former = append(former, write{appendItem(nil, prefixBatchResult, b.ID, uint32(i)), value})
	}
	if err := commitWrites(s.db, former); err != nil {
		t.Fatal(err)
	}
	list, next, err := s.FindBatchResults(ctx, b.ID, 0, 10)
	if err != nil || len(list) != 3 || next != -1 {
		t.Fatalf("%+v, %d, %v", list, next, err)
	}
	if string(list[0].Result) != `{"a":1}` || list[1].Error == nil || list[1].Error.Message != "no" || list[2].Result != nil {
		t.Errorf("%+v", list)
	}
	active, err := s.ActiveBatches(ctx)
	if err != nil || len(active) != 1 || len(active[0].Results) != 3 {
		t.Fatalf("%+v, %v", active, err)
	}
	if r := active[0].Results; r[0].Result != nil || r[1].Error != nil || r[2].Status != core.ExecutionRunning {
		t.Errorf("%+v", r)
	}

	// An item that cannot be read began: it is not begun again, and does not look as if it were yet to begin.
	if err := commitWrites(s.db, []write{{appendItem(nil, prefixBatchResult, b.ID, 2), []byte("{")}}); err != nil {
		t.Fatal(err)
	}
	if active, err = s.ActiveBatches(ctx); err != nil || len(active) != 1 || len(active[0].Results) != 3 {
		t.Fatalf("%+v, %v", active, err)
	}
	if r := active[0].Results[2]; r.Index != 2 || r.Status != core.ExecutionFailed {
		t.Errorf("%+v", r)
	}
	if list, _, err = s.FindBatchResults(ctx, b.ID, 2, 10); err != nil || len(list) != 1 || list[0].Error == nil {
		t.Errorf("%+v, %v", list, err)
	}
}
