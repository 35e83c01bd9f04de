package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/store/kv/memory"
)

// A store of schema 5 loses the lists of its patterns, and what they told is found as before. A start that is killed within
// that begins anew.
func TestDropPatternLists(t *testing.T) {
	ctx := context.Background()
	db := memory.New()
	s, err := OpenOn(ctx, db, Options{Clock: coretest.NewClock()})
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for i, status := range core.ExecutionStatuses {
		e := &core.Execution{ID: fmt.Sprintf("exec_%03d", i), Status: status, Pattern: core.PatternRef{Name: "vote"}}
		other := &core.Execution{ID: fmt.Sprintf("exec_1%02d", i), Status: status, Pattern: core.PatternRef{Name: "voted"}}
		if err := s.Update(ctx, func(tx core.Tx) error { return errors.Join(tx.PutExecution(e), tx.PutExecution(other)) }); err != nil {
			t.Fatal(err)
		}
		want = append(want, e.ID)
		list := append(appendEscaped([]byte(prefixByPattern), "vote"), e.ID...)
		if err := commitWrites(db, []write{{list, []byte{}}}); err != nil {
			t.Fatal(err)
		}
	}
	slices.Reverse(want)
	if err := errors.Join(s.Close(), writeSchema(db, 5)); err != nil {
		t.Fatal(err)
	}
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	if err := dropPatternLists(stopped, db); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if s, err = OpenOn(ctx, db, Options{Clock: coretest.NewClock()}); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	txn := db.Snapshot()
	defer txn.Discard()
	err = scan(txn, []byte(prefixByPattern), nil, false, func(key, _ []byte) (bool, error) {
		t.Errorf("%q is left", key)
		return true, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	rows, info, err := s.FindExecutions(ctx, core.ExecutionFilter{Pattern: "vote", Page: core.Page{Limit: 100}})
	var got []string
	for _, e := range rows {
		got = append(got, e.ID)
	}
	if err != nil || !slices.Equal(got, want) || info.Total != len(want) {
		t.Errorf("got %q of %d, want %q: %v", got, info.Total, want, err)
	}
}
