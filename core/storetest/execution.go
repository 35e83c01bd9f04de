package storetest

import (
	"reflect"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store"
)

func testExecution(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	id := idAt(start, 1)
	_, err := s.FindExecution(ctx, id)
	wantCode(t, err, core.CodeNotFound)

	e := execution(id, "vote", core.ExecutionPending)
	putExecution(t, s, e)
	got, err := s.FindExecution(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, e) {
		t.Fatalf("got %+v, want %+v", got, e)
	}
	active, err := s.ActiveExecutions(ctx)
	if err != nil || len(active) != 1 || active[0].ID != id {
		t.Fatalf("active executions: %v, %v", active, err)
	}

	putExecution(t, s, execution(id, "vote", core.ExecutionRunning))
	putExecution(t, s, execution(id, "vote", core.ExecutionCompleted))
	if active, err := s.ActiveExecutions(ctx); err != nil || len(active) != 0 {
		t.Fatalf("active executions: %v, %v", active, err)
	}
	counts, err := s.CountExecutions(ctx)
	want := map[string]map[core.ExecutionStatus]int{"vote": {core.ExecutionCompleted: 1}}
	if err != nil || !reflect.DeepEqual(counts, want) {
		t.Fatalf("counts: %v, %v, want %v", counts, err, want)
	}
}

func testExecutionInvalid(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	for name, e := range map[string]*core.Execution{
		"ErrIDRequired":    execution("", "vote", core.ExecutionPending),
		"ErrStatusUnknown": execution(idAt(start, 1), "vote", "paused"),
		"ErrNameTooLong":   execution(idAt(start, 1), string(make([]byte, 70_000)), core.ExecutionPending),
		"ErrNameUTF8":      execution(idAt(start, 1), "vote\xff", core.ExecutionPending),
		"ErrNotJSON": func() *core.Execution {
			e := execution(idAt(start, 1), "vote", core.ExecutionPending)
			e.Input = []byte("{")
			return e
		}(),
	} {
		t.Run(name, func(t *testing.T) {
			err := s.Update(ctx, func(tx core.Tx) error { return tx.PutExecution(e) })
			wantCode(t, err, core.CodeValidation)
		})
	}
	if list, info, err := s.FindExecutions(ctx, core.ExecutionFilter{}); err != nil || len(list) != 0 || info.Total != 0 {
		t.Fatalf("refused executions left something: %v %v %v", list, info, err)
	}
}

// A record that ended may be put again, and may even change its status: no index entry is left behind.
func testExecutionPutAgain(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	id := idAt(start, 1)
	for _, status := range []core.ExecutionStatus{
		core.ExecutionCompleted, core.ExecutionCompleted, core.ExecutionFailed, core.ExecutionRunning, core.ExecutionCancelled,
	} {
		for _, pattern := range []string{"vote", "merge"} {
			putExecution(t, s, execution(id, pattern, status))
			for _, p := range []string{"", "vote", "merge"} {
				for _, st := range append([]core.ExecutionStatus{""}, core.ExecutionStatuses...) {
					want := 0
					if (p == "" || p == pattern) && (st == "" || st == status) {
						want = 1
					}
					list, info, err := s.FindExecutions(ctx, core.ExecutionFilter{Pattern: p, Statuses: statuses(st)})
					if err != nil || len(list) != want || info.Total != want {
						t.Fatalf("stored %s %s, list %q %q: %d rows, %+v, %v; want %d", pattern, status, p, st, len(list), info, err, want)
					}
				}
			}
		}
	}
}

func testExecutionsSurviveReopen(t *testing.T, open Opener) {
	dir := t.TempDir()
	s := open(t, store.Options{Path: dir})
	for i, status := range core.ExecutionStatuses {
		putExecution(t, s, execution(idAt(start.Add(time.Duration(i)*time.Second), i), "vote", status))
	}
	before, _ := s.CountExecutions(ctx)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, store.Options{Path: dir})
	after, err := s.CountExecutions(ctx)
	if err != nil || !reflect.DeepEqual(before, after) {
		t.Fatalf("counts before %v, after %v, %v", before, after, err)
	}
	for _, status := range core.ExecutionStatuses {
		list, info, err := s.FindExecutions(ctx, core.ExecutionFilter{Statuses: statuses(status)})
		if err != nil || len(list) != 1 || info.Total != 1 {
			t.Fatalf("status %s: %d rows, %+v, %v", status, len(list), info, err)
		}
	}
}

// statuses returns a filter of one status; of all with "".
func statuses(status core.ExecutionStatus) []core.ExecutionStatus {
	if status == "" {
		return nil
	}
	return []core.ExecutionStatus{status}
}
