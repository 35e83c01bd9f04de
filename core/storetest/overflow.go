package storetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store"
)

// A closure that does not fit the open batch opens the next one. Its keys were built in memory that the
// commit of the full batch takes back: what comes behind it in its batch must not be written over it.
func testClosureThatOverflowsTheBatch(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	const n = 96
	large := json.RawMessage(`"` + string(bytes.Repeat([]byte("x"), 900<<10)) + `"`)
	running, release, over := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		over <- s.Update(ctx, func(core.Tx) error {
			close(running)
			<-release // until all others wait behind this one
			return nil
		})
	}()
	select {
	case <-running:
	case err := <-over:
		t.Fatal("it was not run: ", err)
	}
	var wg, queued sync.WaitGroup
	for i := range n {
		queued.Add(1)
		wg.Go(func() {
			e := execution(idAt(start, i+1), fmt.Sprint("pattern", i), core.ExecutionPending)
			if i%4 == 0 {
				e.Input = large
			}
			queued.Done()
			if err := s.Update(ctx, func(tx core.Tx) error {
				if err := tx.PutExecution(e); err != nil {
					return err
				}
				return tx.Append(core.Event{Type: core.EventTaskAssigned, Subject: e.ID, Time: start})
			}); err != nil {
				t.Error(err)
			}
		})
	}
	queued.Wait()
	close(release)
	wg.Wait()
	if err := <-over; err != nil {
		t.Error(err)
	}
	active, err := s.ActiveExecutions(ctx)
	if err != nil || len(active) != n {
		t.Errorf("%d executions are active (%v), want %d", len(active), err, n)
	}
	for i := range n {
		id := idAt(start, i+1)
		e, err := s.FindExecution(ctx, id)
		if err != nil || e.ID != id || e.Pattern.Name != fmt.Sprint("pattern", i) {
			t.Errorf("execution %d: got %v, %v", i, e != nil, err)
		}
		if events, _, err := s.Events(ctx, id, 0, 10); err != nil || len(events) != 1 {
			t.Errorf("execution %d has %d events (%v), want 1", i, len(events), err)
		}
	}
}
