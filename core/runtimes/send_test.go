package runtimes_test

import (
	"slices"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// A caller who has the answer of a turn finds the event of its end, however late the runtime sends that; an event that does not come
// holds up an answer for a while.
func TestAnswerBehindItsEvent(t *testing.T) {
	f := newFake("claude")
	r := newRig(t, newMemory(t), map[string]*fake{"local": f}).ready("local")
	a := r.spawn(core.ManagedAgentSpec{Type: "claude"})
	turn := 0
	f.send = func(string, runtime.Input) (runtime.SendResult, error) {
		return runtime.SendResult{Sent: true, Response: &runtime.Response{Text: "done", Turn: turn}}, nil
	}
	timers := r.clock.Pending()
	send := func(meanwhile func()) {
		t.Helper()
		answered := make(chan struct{})
		go func() {
			defer close(answered)
			reply, err := r.SendManagedAgent(ctx, a.ID, core.ManagedAgentInput{Message: "hi", ExpectResponse: true})
			if err != nil || reply.Response == nil || reply.Response.Turn != turn {
				t.Errorf("answered %+v, %v", reply, err)
			}
		}()
		if meanwhile != nil {
			coretest.WaitFor(t, "somebody to wait, or the answer", func() bool {
				select {
				case <-answered:
					t.Fatal("answered before the event")
				default:
				}
				return r.clock.Pending() > timers
			})
			meanwhile()
		}
		<-answered
	}
	ended := func() int {
		t.Helper()
		events, _, err := r.store.Events(ctx, a.ID, 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		return len(slices.DeleteFunc(events, func(e core.Event) bool { return e.Type != core.EventManagedTurnComplete }))
	}
	turn = 1
	send(func() { f.endTurn(a.ID, 1) })
	if n := ended(); n != 1 {
		t.Errorf("%d turns ended by their events", n)
	}
	send(nil) // a repeat: the event is stored
	turn = 2
	send(func() { r.clock.Advance(2 * time.Second) })
	// A runtime that lost its state counts anew.
	f.tell(a.ID, runtime.EventStarted, func(a *runtime.Agent, _ *runtime.Event) { a.Turn = 0 })
	r.until(a.ID, "the start", func(a *core.ManagedAgent) bool { return a.Turn == 0 })
	turn = 1
	send(func() { f.endTurn(a.ID, 1) })
	if n := ended(); n != 2 {
		t.Errorf("%d turns ended by their events", n)
	}
}
