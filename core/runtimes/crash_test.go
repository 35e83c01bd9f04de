package runtimes_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// trouble is what befalls a life at one of its writes.
type trouble int

const (
	none     trouble = iota
	killed           // the service ends at the write, and another one starts
	diskFull         // the write is refused, and the service lives on
	lost             // the write is stored, and answered as one that failed
)

// lifeOf has an agent spawned, started again and removed by a caller who repeats what was refused, under the same Idempotency-Key, with a
// trouble at the n-th write. It returns the kinds of its events, and how many writes there were.
func lifeOf(t *testing.T, what trouble, n int) (kinds []core.EventType, writes int) {
	f, store := newFake("claude"), newMemory(t)
	r := newRig(t, store, map[string]*fake{"local": f}).ready("local")
	switch what {
	case killed, diskFull:
		store.Break(n, core.Unavailable("store_read_only", "no room"))
	case lost:
		store.Lose(n + 1)
	}
	again := func() { // after the trouble
		if what == killed {
			r.Close()
		}
		store.Heal()
		if what == killed {
			r = newRig(t, store, map[string]*fake{"local": f}).ready("local")
		}
	}
	failed := store.Failed()
	look := func() {
		select {
		case <-failed:
			failed = nil
			again()
		default:
		}
	}
	// until repeats a step until it is done.
	until := func(step string, done func() bool) {
		t.Helper()
		coretest.WaitFor(t, fmt.Sprintf("%s, with trouble %d at %d", step, what, n), func() bool {
			look()
			r.clock.Advance(time.Second)
			r.nudge()
			return done()
		})
	}
	claimed := func(key string) string {
		rec, err := store.FindIdempotency(ctx, "", key, r.clock.Now())
		if err != nil {
			t.Fatal(err)
		}
		if rec == nil {
			return ""
		}
		return rec.ResourceID
	}
	// call waits for the answer of a call, which may wait for the store.
	call := func(do func()) {
		t.Helper()
		done := make(chan struct{})
		go func() {
			defer close(done)
			do()
		}()
		coretest.WaitFor(t, fmt.Sprintf("an answer, with trouble %d at %d", what, n), func() bool {
			select {
			case <-done:
				return true
			default:
				r.clock.Advance(10 * time.Millisecond)
				return false
			}
		})
	}
	var id string
	until("spawn", func() bool {
		if id = claimed("spawn"); id == "" {
			call(func() {
				_, _ = r.SpawnManagedAgent(core.WithIdempotency(ctx, &core.IdempotencyClaim{Key: "spawn"}), core.ManagedAgentSpec{Type: "claude"})
			})
			return false
		}
		a, err := r.FindManagedAgent(ctx, id)
		return err == nil && a.PID != 0 || err != nil && claimed("spawn") == ""
	})
	is := func(want core.ManagedAgentStatus) func() bool {
		return func() bool {
			a, err := r.FindManagedAgent(ctx, id)
			return err == nil && a.Status == want
		}
	}
	f.tell(id, runtime.EventReady, func(a *runtime.Agent, _ *runtime.Event) { a.Status = runtime.StatusReady })
	until("ready", is(core.ManagedReady))
	f.endTurn(id, 1)
	until("turn", func() bool { a, err := r.FindManagedAgent(ctx, id); return err == nil && a.Turn == 1 })
	f.tell(id, runtime.EventStopped, func(a *runtime.Agent, _ *runtime.Event) {
		a.Status, a.Reason = runtime.StatusStopped, runtime.ReasonExited
	})
	until("exit", func() bool { a, err := r.FindManagedAgent(ctx, id); return err == nil && a.Gone() })
	stopped := func() bool { // a caller that was refused looks first
		a, err := f.Inspect(ctx, id)
		return err == nil && a.Status == runtime.StatusStopped
	}
	until("restart", func() bool {
		a, err := r.FindManagedAgent(ctx, id)
		if err == nil && a.Gone() && claimed("restart") == "" && stopped() {
			call(func() {
				_, _ = r.RestartManagedAgent(core.WithIdempotency(ctx, &core.IdempotencyClaim{Key: "restart"}), id, core.ManagedAgentRestart{})
			})
			return false
		}
		return err == nil && !a.Gone() && a.PID != 0
	})
	until("stop", func() bool {
		if !stopped() {
			call(func() { _ = r.StopManagedAgent(ctx, id, core.ManagedAgentStop{}) })
		}
		a, err := r.FindManagedAgent(ctx, id)
		return err == nil && a.Status == core.ManagedStopped
	})
	until("all events", func() bool {
		f.mu.Lock()
		told := uint64(len(f.events))
		f.mu.Unlock()
		all, err := store.RuntimePositions(ctx)
		return err == nil && all["local"].Seq == told
	})
	writes = store.Stored()
	until("removal", func() bool {
		r.clock.Advance(25 * time.Hour)
		call(func() { _ = r.Sweep(ctx) })
		_, err := r.FindManagedAgent(ctx, id)
		return core.ErrorCode(err) == core.CodeNotFound
	})
	if store.record(id) != nil {
		t.Errorf("trouble %d at %d: the record is there", what, n)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.agents) != 1 || f.agents[id].Status != runtime.StatusStopped {
		t.Errorf("trouble %d at %d: the runtime has %+v", what, n, f.agents)
	}
	return store.kinds(id), writes
}

// TestCrashes ends the service at each write of an agent's life, has the write refused, or stored and answered as one that failed: the life
// goes as without trouble, no agent is spawned twice, and each event is stored once.
func TestCrashes(t *testing.T) {
	want, writes := lifeOf(t, none, 0)
	t.Logf("%d writes, %v", writes, want)
	for _, what := range []trouble{killed, diskFull, lost} {
		for n := range writes + 1 {
			t.Run(fmt.Sprint(what, "/", n), func(t *testing.T) {
				t.Parallel()
				if got, _ := lifeOf(t, what, n); !slices.Equal(got, want) {
					t.Errorf("events %v\nwant   %v", got, want)
				}
			})
		}
	}
}
