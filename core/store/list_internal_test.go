package store

import (
	"context"
	"fmt"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/store/kv"
	"github.com/wardroom/wardroom/core/store/kv/memory"
)

// A list counts as many ids as it may and no more, and says that there are more.
func TestCountIsBounded(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, err := OpenOn(ctx, memory.New(), Options{Clock: coretest.NewClock()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for _, n := range []int{maxWalk - 1, maxWalk, maxWalk + 1, 3 * maxWalk} {
		walked := 0
		q := &listQuery{page: core.Page{Limit: 1}, ids: func(kv.Snapshot) (idWalk, int, error) {
			return func(_ string, fn func(string) (bool, error)) error {
				for i := range n {
					walked++
					if more, err := fn(fmt.Sprintf("exec_%09d", n-i)); err != nil || !more {
						return err
					}
				}
				return nil
			}, -1, nil
		}}
		_, info, err := findRows(ctx, s, q, func(_ kv.Snapshot, id string) (*core.Execution, error) { return &core.Execution{ID: id}, nil })
		if err != nil || info.Total != min(n, maxWalk) || info.AtLeast != (n > maxWalk) || walked > maxWalk+3 {
			t.Errorf("of %d ids %+v, %d looked at: %v", n, info, walked, err)
		}
	}
}
