package store

import (
	"context"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/store/kv/memory"
)

// stalled is a writer of somebody who does not read until it is let go.
type stalled struct{ began, release chan struct{} }

func (s stalled) Write(p []byte) (int, error) {
	close(s.began)
	<-s.release
	return len(p), nil
}

// A dump whose reader stalls holds up no read of a store whose write failed meanwhile; once it ended, writes go on.
func TestStalledDumpHoldsUpNoReads(t *testing.T) {
	ctx := context.Background()
	db, clock := memory.New(), coretest.NewClock()
	s, err := OpenOn(ctx, db, Options{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	put := func() error {
		return s.Update(ctx, func(tx core.Tx) error { return tx.Append(core.Event{Type: core.EventTaskCompleted, Subject: "one"}) })
	}
	if err := put(); err != nil {
		t.Fatal(err)
	}
	w := stalled{make(chan struct{}), make(chan struct{})}
	dumped := make(chan error, 1)
	go func() {
		_, err := s.Dump(ctx, w, nil)
		dumped <- err
	}()
	<-w.began
	db.Fail(1, false)
	if err := put(); !core.AsError(err).Unavailable {
		t.Fatalf("the write that fails: %v", err)
	}
	reads := make(chan error, 1)
	go func() {
		for range 200 { // the writer tries to open the database again meanwhile
			clock.Advance(time.Second)
			if _, _, err := s.Events(ctx, "one", 0, 1); err != nil {
				reads <- err
				return
			}
			_ = put()
		}
		reads <- nil
	}()
	select {
	case err := <-reads:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("reads wait for a dump whose reader stalls")
	}
	close(w.release)
	if err := <-dumped; err != nil {
		t.Errorf("the dump: %v", err)
	}
	coretest.WaitFor(t, "writes to go on", func() bool {
		clock.Advance(time.Second)
		return put() == nil
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
