package runtimes_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/runtimes"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// TestStopBeforeTheSpawnIsAnswered stops an agent that the runtime does not know yet: what starts after that must
// not run on with nobody watching it.
func TestStopBeforeTheSpawnIsAnswered(t *testing.T) {
	f, store := newFake("claude"), newMemory(t)
	r := newRig(t, store, map[string]*fake{"local": f}).ready("local")
	asked, release := make(chan string, 1), make(chan struct{})
	f.spawn = func(spec runtime.Spec) error {
		asked <- spec.ID
		<-release
		return nil
	}
	type outcome struct {
		agent *core.ManagedAgent
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		a, err := r.SpawnManagedAgent(ctx, core.ManagedAgentSpec{Type: "claude"})
		done <- outcome{a, err}
	}()
	id := <-asked
	stopped := make(chan error, 1)
	go func() { stopped <- r.StopManagedAgent(ctx, id, core.ManagedAgentStop{}) }()
	coretest.WaitFor(t, "the stop to be on its way", func() bool {
		return !store.record(id).Wanted
	})
	close(release)
	out := <-done
	if err := <-stopped; err != nil {
		t.Errorf("the stop: %v", err)
	}
	if out.err != nil || !out.agent.Gone() {
		t.Errorf("the spawn returned %+v, %v; want an agent that was stopped", out.agent, out.err)
	}
	a, err := f.Inspect(ctx, id)
	if err != nil || a.Status != runtime.StatusStopped {
		t.Errorf("the runtime has the agent %s, %v; want it stopped", a.Status, err)
	}
	r.until(id, "the stop", func(a *core.ManagedAgent) bool { return a.Gone() && a.Status == core.ManagedStopped })
}

// TestSpawnThatFailedInside is a runtime that answers INTERNAL and stays: nobody reconnects, so nobody would look
// for the agent again.
func TestSpawnThatFailedInside(t *testing.T) {
	for _, runs := range []bool{false, true} {
		f, store := newFake("claude"), newMemory(t)
		r := newRig(t, store, map[string]*fake{"local": f}).ready("local")
		f.spawn = func(spec runtime.Spec) error {
			if runs {
				f.tell(spec.ID, runtime.EventStarted, func(a *runtime.Agent, _ *runtime.Event) { a.Status, a.PID = runtime.StatusReady, 9 })
			}
			return runtime.Errorf(runtime.CodeInternal, "it broke")
		}
		if _, err := r.SpawnManagedAgent(ctx, core.ManagedAgentSpec{Type: "claude"}); core.ErrorCode(err) != core.CodeInternal {
			t.Fatalf("got %v", err)
		}
		coretest.WaitFor(t, "the truth about the agent", func() bool {
			list, _, err := r.FindManagedAgents(ctx, core.ManagedAgentFilter{})
			if err != nil {
				return false
			}
			if runs {
				return len(list) == 1 && list[0].Status == core.ManagedReady
			}
			return len(list) == 0
		})
	}
}

// TestRuntimeThatForgot is a runtime whose state was removed while its agents ran: it finds them by their handles,
// and numbers its events from 1 again.
func TestRuntimeThatForgot(t *testing.T) {
	f, store := newFake("claude"), newMemory(t)
	first := newRig(t, store, map[string]*fake{"local": f}).ready("local")
	a := first.spawn(core.ManagedAgentSpec{Type: "claude"})
	for range 20 {
		f.tell(a.ID, runtime.EventReady, func(a *runtime.Agent, _ *runtime.Event) { a.Status = runtime.StatusReady })
	}
	coretest.WaitFor(t, "the events", func() bool { return len(store.kinds(a.ID)) == 21 })
	first.Close()
	f.change(func() {
		f.events = nil
		agent := f.agents[a.ID]
		agent.Seq = 0
		f.agents[a.ID] = agent
	})
	second := newRig(t, store, map[string]*fake{"local": f}).ready("local")
	f.tell(a.ID, runtime.EventBusy, func(a *runtime.Agent, _ *runtime.Event) { a.Status = runtime.StatusBusy })
	second.until(a.ID, "the busy agent", func(a *core.ManagedAgent) bool { return a.Status == core.ManagedBusy })
	f.tell(a.ID, runtime.EventStopped, func(a *runtime.Agent, _ *runtime.Event) { a.Status, a.Reason = runtime.StatusStopped, "exited" })
	second.until(a.ID, "the end", func(a *core.ManagedAgent) bool { return a.Gone() })
	coretest.WaitFor(t, "its event", func() bool { return len(store.kinds(a.ID)) >= 23 }) // it follows the state
	if kinds := store.kinds(a.ID); !slices.Equal(kinds[21:], []core.EventType{core.EventManagedBusy, core.EventManagedStopped}) {
		t.Errorf("events: %v", kinds[21:])
	}
}

// TestRestartOfAnOldAgent restarts an agent that is about to be forgotten: its record stays.
func TestRestartOfAnOldAgent(t *testing.T) {
	f := newFake("claude")
	r := newRig(t, newMemory(t), map[string]*fake{"local": f}).ready("local")
	a := r.spawn(core.ManagedAgentSpec{Type: "claude"})
	if err := r.StopManagedAgent(ctx, a.ID, core.ManagedAgentStop{}); err != nil {
		t.Fatal(err)
	}
	r.until(a.ID, "the stop", func(a *core.ManagedAgent) bool { return a.Gone() })
	asked, release := make(chan struct{}), make(chan struct{})
	f.mu.Lock()
	f.spawn = func(runtime.Spec) error {
		close(asked)
		<-release
		return nil
	}
	f.mu.Unlock()
	done := make(chan error, 1)
	go func() {
		_, err := r.RestartManagedAgent(ctx, a.ID, core.ManagedAgentRestart{})
		done <- err
	}()
	<-asked
	r.clock.Advance(25 * time.Hour)
	if err := r.Sweep(ctx); err != nil {
		t.Fatal(err)
	}
	close(release)
	if err := <-done; err != nil {
		t.Errorf("the restart: %v", err)
	}
	if got, err := r.FindManagedAgent(ctx, a.ID); err != nil || got.Gone() {
		t.Errorf("after the restart: %+v, %v", got, err)
	}
}

// TestRestartRefused refuses the restart of an agent that is of no use any more, and changes nothing.
func TestRestartRefused(t *testing.T) {
	f := newFake("claude")
	refusal := core.Conflict("managed agent", "", "", "its thread is over")
	r := newRig(t, newMemory(t), map[string]*fake{"local": f}, func(o *runtimes.Options) {
		o.Restartable = func(_ context.Context, r *core.ManagedAgentRecord) error {
			if r.Spec.Labels["over"] == "" {
				return nil
			}
			return refusal
		}
	}).ready("local")
	a := r.spawn(core.ManagedAgentSpec{Type: "claude", Labels: map[string]string{"over": "yes"}})
	if err := r.StopManagedAgent(ctx, a.ID, core.ManagedAgentStop{}); err != nil {
		t.Fatal(err)
	}
	r.until(a.ID, "the stop", func(a *core.ManagedAgent) bool { return a.Gone() })
	if _, err := r.RestartManagedAgent(ctx, a.ID, core.ManagedAgentRestart{}); !errors.Is(err, refusal) {
		t.Errorf("restarted: %v", err)
	}
	if got, err := r.FindManagedAgent(ctx, a.ID); err != nil || !got.Gone() {
		t.Errorf("after the refusal: %+v, %v", got, err)
	}
}

// TestStopWithoutRuntime stops an agent whose runtime was taken out of the configuration: by force it is over here, and in the
// runtime once that is configured again.
func TestStopWithoutRuntime(t *testing.T) {
	f, store := newFake("claude"), newMemory(t)
	with := newRig(t, store, map[string]*fake{"local": f}).ready("local")
	a := with.spawn(core.ManagedAgentSpec{Type: "claude"})
	f.tell(a.ID, runtime.EventReady, func(a *runtime.Agent, _ *runtime.Event) { a.Status = runtime.StatusReady })
	with.until(a.ID, "ready", func(a *core.ManagedAgent) bool { return a.Status == core.ManagedReady })
	with.Close()

	without := newRig(t, store, map[string]*fake{"docker": newFake("claude")}).ready("docker")
	if err := without.StopManagedAgent(ctx, a.ID, core.ManagedAgentStop{}); err == nil || !core.AsError(err).Unavailable {
		t.Errorf("a stop without its runtime: %v", err)
	}
	for range 2 {
		if err := without.StopManagedAgent(ctx, a.ID, core.ManagedAgentStop{Force: true}); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := without.FindManagedAgent(ctx, a.ID); err != nil || got.Status != core.ManagedStopped || got.StoppedAt == nil {
		t.Errorf("stopped by force: %+v, %v", got, err)
	}
	kinds := store.kinds(a.ID)
	if kinds = kinds[slices.Index(kinds, core.EventManagedReady)+1:]; !slices.Equal(kinds, []core.EventType{core.EventManagedStopped}) {
		t.Errorf("events: %v", kinds)
	}
	without.Close()

	again := newRig(t, store, map[string]*fake{"local": f}).ready("local")
	coretest.WaitFor(t, "the agent to be stopped in its runtime", func() bool {
		now, err := f.Inspect(ctx, a.ID)
		return err == nil && now.Status == runtime.StatusStopped
	})
	again.until(a.ID, "the end", func(a *core.ManagedAgent) bool { return a.Status == core.ManagedStopped })
}

// TestUnsureForLong is a spawn that timed out, and of which the runtime knows nothing even much later.
func TestUnsureForLong(t *testing.T) {
	f := newFake("claude")
	r := newRig(t, newMemory(t), map[string]*fake{"local": f}).ready("local")
	f.spawn = func(runtime.Spec) error { return runtime.Errorf(runtime.CodeTimeout, "the start goes on") }
	if _, err := r.SpawnManagedAgent(ctx, core.ManagedAgentSpec{Type: "claude"}); core.ErrorCode(err) != core.CodeTimeout {
		t.Fatalf("got %v", err)
	}
	list, _, err := r.FindManagedAgents(ctx, core.ManagedAgentFilter{})
	if err != nil || len(list) != 1 || list[0].Status != core.ManagedStarting {
		t.Fatalf("right after it: %+v, %v", list, err)
	}
	if err := r.Sweep(ctx); err != nil {
		t.Fatal(err)
	}
	if a, err := r.FindManagedAgent(ctx, list[0].ID); err != nil || a.Gone() {
		t.Fatalf("before its time: %+v, %v", a, err)
	}
	r.clock.Advance(7 * time.Minute)
	if err := r.Sweep(ctx); err != nil {
		t.Fatal(err)
	}
	if a, err := r.FindManagedAgent(ctx, list[0].ID); err != nil || a.StatusReason != runtime.ReasonLost {
		t.Errorf("after its time: %+v, %v", a, err)
	}
}

// TestDrain answers those who wait for an agent when the service ends.
func TestDrain(t *testing.T) {
	f := newFake("claude")
	r := newRig(t, newMemory(t), map[string]*fake{"local": f}).ready("local")
	a := r.spawn(core.ManagedAgentSpec{Type: "claude"})
	inputs := []core.ManagedAgentInput{{Message: "hello"}, {Raw: "x"}, {Keys: []string{"ENTER"}}, {Raw: "y", Key: "k"}, {Message: "hi", Key: "ours", OwnKey: true}, {Interrupt: true}}
	f.waiting = make(chan struct{}, len(inputs))
	failed := make(chan error, len(inputs))
	for _, in := range inputs {
		go func() {
			_, err := r.SendManagedAgent(ctx, a.ID, in)
			failed <- err
		}()
		<-f.waiting
	}
	r.Drain()
	var unknown, unavailable int
	for range inputs {
		switch e := core.AsError(<-failed); {
		case e.Details["runtimeCode"] == string(runtime.CodeDeliveryUnknown):
			unknown++
		case e.Unavailable:
			unavailable++
		default:
			t.Errorf("error %v", e)
		}
	}
	if unknown != 4 || unavailable != 2 {
		t.Errorf("%d inputs of unknown delivery and %d that may be sent again, want 4 and 2", unknown, unavailable)
	}
	if _, err := r.SendManagedAgent(ctx, a.ID, core.ManagedAgentInput{Message: "late"}); !core.AsError(err).Unavailable {
		t.Errorf("a send after it: %v", err)
	}
}

// TestOneAgentOutOfReach is a runtime that cannot reach one of its agents: the others, and the runtime, can be
// used, and that one again once it is reached.
func TestOneAgentOutOfReach(t *testing.T) {
	f, store := newFake("claude"), newMemory(t)
	first := newRig(t, store, map[string]*fake{"local": f}).ready("local")
	stuck, fine := first.spawn(core.ManagedAgentSpec{Type: "claude"}), first.spawn(core.ManagedAgentSpec{Type: "claude"})
	first.Close()
	f.change(func() { f.stuck = stuck.ID })
	f.tell(fine.ID, runtime.EventReady, func(a *runtime.Agent, _ *runtime.Event) { a.Status = runtime.StatusReady })
	second := newRig(t, store, map[string]*fake{"local": f}).ready("local")
	second.until(fine.ID, "the other agent", func(a *core.ManagedAgent) bool { return a.Status == core.ManagedReady && a.StatusReason == "" })
	if a := second.until(stuck.ID, "the agent", func(*core.ManagedAgent) bool { return true }); a.Status != core.ManagedUnreachable || a.StatusReason != core.ReasonAgentAway || a.Gone() {
		t.Errorf("the agent that cannot be reached: %+v", a)
	}
	second.spawn(core.ManagedAgentSpec{Type: "claude"})
	f.change(func() { f.stuck = "" })
	if err := second.Sweep(ctx); err != nil {
		t.Fatal(err)
	}
	second.until(stuck.ID, "the agent to be reached", func(a *core.ManagedAgent) bool { return a.Status != core.ManagedUnreachable })
}

// TestRecoverGarbage is a runtime whose answer to Recover has the agents in another order, or lacks one: none is taken
// for another, nor for lost, and all are found once the answer is right.
func TestRecoverGarbage(t *testing.T) {
	reversed := func(list []runtime.Recovered) []runtime.Recovered {
		slices.Reverse(list)
		return list
	}
	for name, garble := range map[string]func([]runtime.Recovered) []runtime.Recovered{
		"Order": reversed,
		"OrderWithoutHandles": func(list []runtime.Recovered) []runtime.Recovered {
			for i := range list {
				list[i].Handle = runtime.Handle{}
			}
			return reversed(list)
		},
		"Nothing": func(list []runtime.Recovered) []runtime.Recovered { return make([]runtime.Recovered, len(list)) },
	} {
		t.Run(name, func(t *testing.T) {
			f, store := newFake("claude"), newMemory(t)
			first := newRig(t, store, map[string]*fake{"local": f}).ready("local")
			agents := []*core.ManagedAgent{first.spawn(core.ManagedAgentSpec{Type: "claude"}), first.spawn(core.ManagedAgentSpec{Type: "claude"})}
			first.Close()
			f.change(func() { f.garble = garble })
			f.tell(agents[0].ID, runtime.EventReady, func(a *runtime.Agent, _ *runtime.Event) { a.Status = runtime.StatusReady })
			second := newRig(t, store, map[string]*fake{"local": f}).ready("local")
			second.until(agents[0].ID, "what the runtime said", func(a *core.ManagedAgent) bool {
				return a.Status == core.ManagedReady || name == "Nothing" && a.Status == core.ManagedUnreachable
			})
			f.change(func() { f.garble = nil })
			if err := second.Sweep(ctx); err != nil {
				t.Fatal(err)
			}
			second.until(agents[0].ID, "the ready agent", func(a *core.ManagedAgent) bool { return a.Status == core.ManagedReady })
			second.until(agents[1].ID, "the other agent", func(a *core.ManagedAgent) bool { return a.Status == core.ManagedStarting })
		})
	}
}

// TestRestartOnce has the key of a restart stored with its outcome: not by one that failed, which is tried again with it.
func TestRestartOnce(t *testing.T) {
	f, store := newFake("claude"), newMemory(t)
	r := newRig(t, store, map[string]*fake{"local": f}).ready("local")
	a := r.spawn(core.ManagedAgentSpec{Type: "claude"})
	claim := &core.IdempotencyClaim{Scope: "ann POST /restart", Key: "k", BodyHash: "h"}
	with := core.WithIdempotency(ctx, claim)
	claimed := func() string {
		rec, err := store.FindIdempotency(ctx, claim.Scope, claim.Key, r.clock.Now())
		if err != nil {
			t.Fatal(err)
		}
		if rec == nil {
			return ""
		}
		return rec.ResourceID
	}
	f.change(func() {
		f.spawn = func(runtime.Spec) error { return runtime.Errorf(runtime.CodeResourceLimit, "full") }
	})
	if _, err := r.RestartManagedAgent(with, a.ID, core.ManagedAgentRestart{}); err == nil || claimed() != "" {
		t.Errorf("a restart that failed: %v, the key is of %q", err, claimed())
	}
	f.change(func() { f.spawn = nil })
	if _, err := r.RestartManagedAgent(with, a.ID, core.ManagedAgentRestart{}); err != nil || claimed() != a.ID {
		t.Errorf("a restart: %v, the key is of %q", err, claimed())
	}
}
