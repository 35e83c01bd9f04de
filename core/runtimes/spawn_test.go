package runtimes_test

import (
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

// TestSpawnAtTheStart is a spawn that comes before the runtimes were reached for the first time.
func TestSpawnAtTheStart(t *testing.T) {
	type result struct {
		agent *core.ManagedAgent
		err   error
	}
	start := func(r *rig, spec core.ManagedAgentSpec) <-chan result {
		done := make(chan result, 1)
		go func() {
			a, err := r.SpawnManagedAgent(ctx, spec)
			done <- result{a, err}
		}()
		return done
	}
	slow := func() *fake {
		f := newFake("claude")
		f.slow = make(chan struct{})
		return f
	}
	claude := core.ManagedAgentSpec{Type: "claude"}
	t.Run("WaitsForTheFirstChoice", func(t *testing.T) {
		local, docker := slow(), newFake("claude")
		r := newRig(t, newMemory(t), map[string]*fake{"local": local, "docker": docker}).ready("docker")
		done := start(r, claude)
		if a := r.spawn(core.ManagedAgentSpec{Type: "claude", Runtime: "docker"}); a.Runtime != "docker" {
			t.Errorf("the named runtime is there, and the agent went to %s", a.Runtime)
		}
		close(local.slow)
		if got := <-done; got.err != nil || got.agent.Runtime != "local" {
			t.Errorf("%+v, %v, want an agent on local", got.agent, got.err)
		}
	})
	t.Run("NotForLowerOnes", func(t *testing.T) {
		docker := slow()
		r := newRig(t, newMemory(t), map[string]*fake{"local": newFake("claude"), "docker": docker})
		if a := r.spawn(claude); a.Runtime != "local" {
			t.Errorf("the agent went to %s", a.Runtime)
		}
	})
	t.Run("NotForOneThatFailed", func(t *testing.T) {
		local := newFake("claude")
		local.setDown(true)
		r := newRig(t, newMemory(t), map[string]*fake{"local": local})
		if _, err := r.SpawnManagedAgent(ctx, claude); !core.AsError(err).Unavailable {
			t.Errorf("got %v", err)
		}
	})
	t.Run("NotForLong", func(t *testing.T) {
		r := newRig(t, newMemory(t), map[string]*fake{"local": slow()})
		done := start(r, claude)
		coretest.WaitFor(t, "the end of the wait", func() bool {
			r.clock.Advance(time.Second)
			select {
			case got := <-done:
				return core.AsError(got.err).Unavailable
			default:
				return false
			}
		})
	})
	t.Run("NotWhileTheServiceEnds", func(t *testing.T) {
		r := newRig(t, newMemory(t), map[string]*fake{"local": slow()})
		done := start(r, claude)
		r.Drain()
		if got := <-done; !core.AsError(got.err).Unavailable {
			t.Errorf("got %v", got.err)
		}
	})
}

// TestNameOfItsOwn gives agents without a name one of their type that no other agent has.
func TestNameOfItsOwn(t *testing.T) {
	r := newRig(t, newMemory(t), map[string]*fake{"local": newFake("claude")}).ready("local")
	for _, want := range []string{"claude", "claude-2"} {
		if a := r.spawn(core.ManagedAgentSpec{Type: "claude"}); a.Name != want {
			t.Errorf("it is called %q, want %q", a.Name, want)
		}
	}
	r.spawn(core.ManagedAgentSpec{Type: "claude", Name: "claude-3"})
	fifth := r.spawn(core.ManagedAgentSpec{Type: "claude"})
	if fifth.Name != "claude-4" {
		t.Errorf("beside one that was named so it is called %q", fifth.Name)
	}
	if err := r.StopManagedAgent(ctx, fifth.ID, core.ManagedAgentStop{}); err != nil {
		t.Fatal(err)
	}
	r.until(fifth.ID, "stopped", func(a *core.ManagedAgent) bool { return a.Status == core.ManagedStopped })
	if a := r.spawn(core.ManagedAgentSpec{Type: "claude"}); a.Name != "claude-4" {
		t.Errorf("a name that is free again is passed over for %q", a.Name)
	}
}
