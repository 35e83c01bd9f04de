package engine_test

import (
	"testing"

	"github.com/wardroom/wardroom/core"
)

// Every item has a row of a page, whether it began or not, and pages join without a gap.
func TestBatchResultPages(t *testing.T) {
	r := newRig(t)
	r.open()
	for id, status := range map[string]core.BatchStatus{"batch_1": core.BatchRunning, "batch_2": core.BatchCompleted} {
		err := r.store.Update(t.Context(), func(tx core.Tx) error {
			for _, i := range []int{0, 1, 5} {
				if err := tx.PutBatchResult(id, core.BatchResult{Index: i, Status: core.ExecutionCompleted}); err != nil {
					return err
				}
			}
			return tx.PutBatch(&core.Batch{ID: id, Status: status, Total: 8})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	absent := map[string]core.ExecutionStatus{"batch_1": core.ExecutionPending, "batch_2": core.ExecutionFailed}
	for id, want := range absent {
		seen := 0
		for page := (core.Page{Limit: 3}); ; {
			b, rows, info, err := r.FindBatchResults(t.Context(), id, page)
			if err != nil || b.ID != id || info.Total != 8 {
				t.Fatalf("%+v, %+v, %v", b, info, err)
			}
			for _, row := range rows {
				status := want
				if seen < 2 || seen == 5 {
					status = core.ExecutionCompleted
				}
				if row.Index != seen || row.Status != status {
					t.Errorf("%s: item %d is %+v", id, seen, row)
				}
				seen++
			}
			if page.Cursor = info.NextCursor; !info.HasMore {
				break
			}
		}
		if seen != 8 {
			t.Errorf("%s: %d rows", id, seen)
		}
	}
	if _, rows, info, err := r.FindBatchResults(t.Context(), "batch_1", core.Page{Offset: 8}); err != nil || len(rows) != 0 || info.HasMore {
		t.Errorf("%v, %+v, %v", rows, info, err)
	}
	_, _, _, err := r.FindBatchResults(t.Context(), "batch_1", core.Page{Cursor: "x"})
	if core.ErrorCode(err) != core.CodeValidation {
		t.Error(err)
	}
	_, _, _, err = r.FindBatchResults(t.Context(), "batch_0", core.Page{})
	if core.ErrorCode(err) != core.CodeNotFound {
		t.Error(err)
	}
}
