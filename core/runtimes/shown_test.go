package runtimes_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// Who asks at an event finds at least the state that it tells of: a store shows the events of a commit before its
// writer goes on.
func TestStateBeforeEvent(t *testing.T) {
	f, store := newFake("claude"), newMemory(t)
	r := newRig(t, store, map[string]*fake{"local": f}).ready("local")
	var mu sync.Mutex // guards wrong
	var wrong []string
	store.Shown(func(events []core.Event) {
		mu.Lock()
		defer mu.Unlock()
		for _, e := range events {
			var said struct {
				Status core.ManagedAgentStatus `json:"status"`
				Turn   int                     `json:"turn"`
			}
			if err := json.Unmarshal(e.Data, &said); err != nil {
				wrong = append(wrong, err.Error())
			}
			a, err := r.FindManagedAgent(ctx, e.Subject)
			if err != nil || a.Turn < said.Turn || len(events) == 1 && a.Status != said.Status {
				wrong = append(wrong, fmt.Sprintf("%s says %s, turn %d; the record %+v, %v", e.Type, said.Status, said.Turn, a, err))
			}
		}
	})
	a := r.spawn(core.ManagedAgentSpec{Type: "claude"})
	told := 1
	tell := func(kind runtime.EventType, change func(a *runtime.Agent, e *runtime.Event)) { // one commit for each event
		f.tell(a.ID, kind, change)
		told++
		coretest.WaitFor(t, "the event", func() bool { return len(store.kinds(a.ID)) == told })
	}
	for turn := range 20 {
		tell(runtime.EventReady, func(a *runtime.Agent, _ *runtime.Event) { a.Status = runtime.StatusReady })
		tell(runtime.EventBusy, func(a *runtime.Agent, _ *runtime.Event) { a.Status = runtime.StatusBusy })
		tell(runtime.EventTurnComplete, func(a *runtime.Agent, e *runtime.Event) { a.Turn, e.Turn = turn+1, turn+1 })
	}
	if err := r.StopManagedAgent(ctx, a.ID, core.ManagedAgentStop{}); err != nil {
		t.Fatal(err)
	}
	coretest.WaitFor(t, "all events", func() bool { return len(store.kinds(a.ID)) == 62 })
	mu.Lock()
	defer mu.Unlock()
	for _, w := range wrong {
		t.Error(w)
	}
}
