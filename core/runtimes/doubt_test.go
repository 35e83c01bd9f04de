package runtimes_test

import (
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// TestRestartNotStored has the service end between a restart and the store of its outcome: the request that is repeated under its key does
// not end what the agent does since.
func TestRestartNotStored(t *testing.T) {
	f, store := newFake("claude"), newMemory(t)
	r := newRig(t, store, map[string]*fake{"local": f}).ready("local")
	a := r.spawn(core.ManagedAgentSpec{Type: "claude"})
	with := core.WithIdempotency(ctx, &core.IdempotencyClaim{Scope: "ann POST /restart", Key: "k", BodyHash: "h"})
	restart := func() error { _, err := r.RestartManagedAgent(with, a.ID, core.ManagedAgentRestart{}); return err }
	f.change(func() {
		f.spawn = func(runtime.Spec) error {
			store.Break(0, core.Unavailable("store_read_only", "no room"))
			return nil
		}
	})
	if err := restart(); err == nil {
		t.Fatal("nothing could be stored")
	}
	r.Close()
	store.Heal()
	f.change(func() { f.spawn = nil })
	r = newRig(t, store, map[string]*fake{"local": f}).ready("local")
	if err := restart(); err != nil {
		t.Fatal(err)
	}
	if f.lives != 2 || store.record(a.ID).Restart != nil {
		t.Errorf("it began %d times; its record has %+v", f.lives, store.record(a.ID).Restart)
	}
	if err := r.StopManagedAgent(ctx, a.ID, core.ManagedAgentStop{}); err != nil {
		t.Fatal(err)
	}
}

// TestSpawnFailsInDoubt has the record of an agent that did not start go, though the answer of the commit that removes it is lost.
func TestSpawnFailsInDoubt(t *testing.T) {
	f, store := newFake("claude"), newMemory(t)
	r := newRig(t, store, map[string]*fake{"local": f}).ready("local")
	f.change(func() {
		f.spawn = func(runtime.Spec) error {
			store.Lose(1)
			return runtime.Errorf(runtime.CodeResourceLimit, "full")
		}
	})
	if err := store.Losing(r.clock, time.Minute, func() error {
		store.Lose(0) // until the record is there
		_, err := r.SpawnManagedAgent(ctx, core.ManagedAgentSpec{Type: "claude"})
		return err
	}); err == nil {
		t.Fatal("it started")
	}
	coretest.WaitFor(t, "the record to go", func() bool {
		list, _, err := r.FindManagedAgents(ctx, core.ManagedAgentFilter{})
		return err == nil && len(list) == 0
	})
}
