package runtimes_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// A runtime that lost its state begins another log. Its events are read from the oldest on, also when there are more of them by
// then than were read of the former one.
func TestAnotherLog(t *testing.T) {
	f, store := newFake("claude"), newMemory(t)
	f.log = "log-1"
	r := newRig(t, store, map[string]*fake{"local": f}).ready("local")
	a := r.spawn(core.ManagedAgentSpec{Type: "claude"})
	for range 4 {
		f.tell(a.ID, runtime.EventBusy, func(a *runtime.Agent, _ *runtime.Event) { a.Status = runtime.StatusBusy })
	}
	coretest.WaitFor(t, "the events of the first log", func() bool { return len(store.kinds(a.ID)) == 5 })
	place := func() core.RuntimePosition {
		positions, err := store.RuntimePositions(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return positions["local"]
	}
	if got := place(); got != (core.RuntimePosition{Runtime: "local", Seq: 5, Log: "log-1"}) {
		t.Errorf("the position is %+v", got)
	}
	f.lose("log-2")
	r.ready()
	// It finds the agent again by its handle, and has events of it before they are followed.
	f.tell(a.ID, runtime.EventError, func(_ *runtime.Agent, e *runtime.Event) { e.Text = "the first of the second log" })
	for turn := 1; turn <= 8; turn++ {
		f.endTurn(a.ID, turn)
	}
	f.setDown(false)
	r.ready("local")
	coretest.WaitFor(t, "the events of the second log", func() bool { return len(store.kinds(a.ID)) == 14 })
	if got := store.kinds(a.ID)[5]; got != core.EventManagedError {
		t.Errorf("the first event of the second log is %s", got)
	}
	if got := place(); got != (core.RuntimePosition{Runtime: "local", Seq: 9, Log: "log-2"}) {
		t.Errorf("the position is %+v", got)
	}
	// A connection that breaks off is no other log.
	f.setDown(true)
	r.ready()
	f.tell(a.ID, runtime.EventBusy, func(a *runtime.Agent, _ *runtime.Event) { a.Status = runtime.StatusBusy })
	f.setDown(false)
	r.ready("local")
	coretest.WaitFor(t, "the next event", func() bool { return place().Seq == 10 && len(store.kinds(a.ID)) >= 15 }) // which are noted after the commit
	if n := len(store.kinds(a.ID)); n != 15 {
		t.Errorf("%d events are stored, want 15", n)
	}
}

// The runtime of an earlier version has no id of its log, and neither has the position that was stored then. An id beyond the
// bound is as none.
func TestUnknownLog(t *testing.T) {
	f, store := newFake("claude"), newMemory(t)
	r := newRig(t, store, map[string]*fake{"local": f}).ready("local")
	a := r.spawn(core.ManagedAgentSpec{Type: "claude"})
	stored := 1
	for _, log := range []string{"", strings.Repeat("x", runtime.MaxLog+1), "log-1"} {
		want := log
		if len(log) > runtime.MaxLog {
			want = ""
		}
		f.setDown(true)
		r.ready()
		f.change(func() { f.log = log })
		f.endTurn(a.ID, stored)
		f.setDown(false)
		r.ready("local")
		stored++
		coretest.WaitFor(t, fmt.Sprintf("the events with log %.10q", log), func() bool {
			positions, err := store.RuntimePositions(ctx)
			return err == nil && positions["local"].Seq == uint64(stored) && positions["local"].Log == want &&
				len(store.kinds(a.ID)) >= stored // which are noted after the commit
		})
		if n := len(store.kinds(a.ID)); n != stored {
			t.Errorf("with log %.10q %d events are stored, want %d", log, n, stored)
		}
	}
}
