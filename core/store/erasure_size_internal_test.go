package store

import (
	"context"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/store/kv/memory"
	"github.com/wardroom/wardroom/sdk/wire"
)

// Large records are changed a few at a time: all that one call may change at once would be more than a transaction takes, and
// the erasure would wait for ever.
func TestErasureOfLargeRecords(t *testing.T) {
	ctx := context.Background()
	s, err := OpenOn(ctx, memory.New(), Options{Clock: coretest.NewClock()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	e := new(core.ErasureRecord)
	e.ID, e.Status, e.Subject, e.Pseudonym = "era_1", wire.ErasureRunning, "ann", "erased_1"
	const events = 24
	text := []byte(`{"text":"` + strings.Repeat("x", 1<<20) + `"}`)
	for range events {
		if err := s.Update(ctx, func(tx core.Tx) error {
			return tx.Append(core.Event{Type: core.EventThreadInput, Subject: "thread_1", Data: text, By: "ann"})
		}); err != nil {
			t.Fatal(err)
		}
	}
	for calls, done := 0, false; !done; calls++ {
		before := e.Done[core.DataEvents]
		if done, err = s.EraseEvents(ctx, e); err != nil {
			t.Fatal(err)
		}
		if n := e.Done[core.DataEvents] - before; n > 9 {
			t.Fatalf("one call wrote %d MiB", n)
		}
	}
	if e.Done[core.DataEvents] != events {
		t.Errorf("done %v", e.Done)
	}
}
