package threads_test

import (
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

// Who asks at an event of a thread finds at least the state that it tells of.
func TestThreadStateBeforeEvent(t *testing.T) {
	r := newRig(t, coretest.NewClock()).open()
	th := r.spawn(spec())
	var asked int // guarded by the store's lock
	r.store.mu.Lock()
	r.store.committed = func(events []core.Event) { // nothing is written meanwhile
		id := events[len(events)-1].Subject
		stored, err := r.store.FindThread(r.ctx, id)
		if err != nil {
			return
		}
		if now, err := r.FindThread(r.ctx, id); err != nil || now.UpdatedAt.Before(stored.UpdatedAt) || now.Status != stored.Status {
			t.Errorf("at an event the thread is %s of %s, %v; stored is %s of %s",
				now.Status, now.UpdatedAt.Format(time.RFC3339Nano), err, stored.Status, stored.UpdatedAt.Format(time.RFC3339Nano))
		}
		r.store.mu.Lock()
		defer r.store.mu.Unlock()
		asked++
	}
	r.store.mu.Unlock()
	r.untilStatus(th.ID, core.ThreadReady)
	if err := r.StopThread(r.ctx, th.ID, core.ThreadStop{}); err != nil {
		t.Fatal(err)
	}
	r.untilStatus(th.ID, core.ThreadStopped)
	r.store.mu.Lock()
	defer r.store.mu.Unlock()
	if asked == 0 {
		t.Error("no event was told")
	}
}
