package store

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/wardroom/wardroom/core"
)

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
}
