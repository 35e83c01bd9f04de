package roles_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/roles"
)

// threads are the threads of roles, which remember. Like the fake of agents they outlive the service.
type threads struct {
	fake *fake

	mu     sync.Mutex // guards all below
	specs  []core.RoleSpec
	ends   []string // "id: reason", of agents that were not stopped yet
	late   []string // the same of those that were
	refuse func(agent core.ManagedAgentSpec) error
}

func (th *threads) SpawnRole(ctx context.Context, spec core.RoleSpec, agent core.ManagedAgentSpec) (*core.ManagedAgent, error) {
	th.mu.Lock()
	th.specs = append(th.specs, spec)
	refuse := th.refuse
	th.mu.Unlock()
	if refuse != nil {
		if err := refuse(agent); err != nil {
			return nil, err
		}
	}
	agent.Workdir = "/work/" + spec.Role
	agent.Labels["wardroom.thread"] = "thread_1"
	return th.fake.SpawnManagedAgent(ctx, agent)
}

func (th *threads) EndRole(id, reason string) {
	stopped := slices.Contains(th.fake.stops(), id)
	th.mu.Lock()
	defer th.mu.Unlock()
	if stopped {
		th.late = append(th.late, id+": "+reason)
	} else {
		th.ends = append(th.ends, id+": "+reason)
	}
}

// ended returns the reasons for which agents ended, in order, before they were stopped.
func (th *threads) ended() []string {
	th.mu.Lock()
	defer th.mu.Unlock()
	return slices.Clone(th.ends)
}

func threadRig(t *testing.T) *rig {
	t.Helper()
	f := newFake()
	r := &rig{t: t, fake: f, threads: &threads{fake: f}, clock: coretest.NewClock(), step: 50 * time.Millisecond}
	r.open()
	t.Cleanup(func() { r.roles.Close() })
	return r
}

// endsWith waits for the ends that are to be told, in any order, each once.
func (r *rig) endsWith(want ...string) {
	r.t.Helper()
	coretest.WaitFor(r.t, "the ends "+strings.Join(want, ", "), func() bool { return len(r.ended()) >= len(want) })
	got := r.ended()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		r.t.Errorf("ended %q, want %q", got, want)
	}
	r.threads.mu.Lock()
	defer r.threads.mu.Unlock()
	if len(r.late) > 0 {
		r.t.Errorf("told after the agent was stopped: %q", r.late)
	}
}

// Every agent is spawned as a thread, which has the request as the engine made it.
func TestSpawnThread(t *testing.T) {
	r := threadRig(t)
	want := spec(0)
	want.Objective, want.Workspace = "fix it", &core.WorkspaceSpec{Repo: "web"}
	r.roles.Spawn(want)
	id := r.starting()
	r.fake.tell(id, core.EventManagedReady, nil)
	r.wait("the answer", func() bool { return len(r.born) == 1 })
	got := r.fake.spawned()
	if len(got) != 1 || got[0].Workdir != "/work/coder" || got[0].Labels["wardroom.thread"] != "thread_1" ||
		got[0].Labels[roles.LabelRole] != "coder" || got[0].Name != "coder-0" || got[0].Approval != "standard" {
		t.Fatalf("spawned %+v", got)
	}
	if s := r.threads.specs; len(s) != 1 || s[0].Objective != "fix it" || s[0].Workspace == nil || *s[0].Workspace != *want.Workspace || s[0].Instance != 0 {
		t.Errorf("asked for %+v", s)
	}
	r.again() // what runs is taken up, without another thread
	r.roles.Spawn(want)
	r.wait("the answer", func() bool { return len(r.born) == 1 })
	if r.born[0].id != id || len(r.fake.spawned()) != 1 {
		t.Errorf("after a restart it is %+v", r.born[0])
	}
}

// However an agent ends, its thread is told once, and before the agent is stopped.
func TestEndThread(t *testing.T) {
	t.Run("Stop", func(t *testing.T) {
		r := threadRig(t)
		id := r.spawn(0)
		r.roles.Stop(id, "enough")
		r.endsWith(id + ": enough")
	})
	t.Run("StopExecution", func(t *testing.T) {
		r := threadRig(t)
		first := r.spawn(0)
		r.roles.Spawn(spec(1))
		second := r.starting()
		r.roles.StopExecution("exec_1", "over")
		r.endsWith(first+": over", second+": it did not get ready")
	})
	t.Run("Lost", func(t *testing.T) {
		r := threadRig(t)
		id := r.spawn(0)
		r.fake.tell(id, core.EventManagedStopped, map[string]any{"reason": "exited"})
		r.endsWith(id + ": it is gone, and its role has another agent")
	})
	t.Run("NotReady", func(t *testing.T) {
		r := threadRig(t)
		r.roles.Spawn(spec(0))
		id := r.starting()
		r.fake.tell(id, core.EventManagedStopped, map[string]any{"reason": "exited_at_start"})
		r.wait("the answer", func() bool { return len(r.born) == 1 && r.born[0].err != nil })
		coretest.WaitFor(t, "an end", func() bool { return len(r.ended()) == 1 })
		if !strings.HasPrefix(r.ended()[0], id+": ") {
			t.Errorf("ended %q", r.ended())
		}
	})
	t.Run("SpareType", func(t *testing.T) {
		r := threadRig(t)
		r.roles.Spawn(spec(0, "codex", "claude"))
		first := r.starting()
		r.fake.tell(first, core.EventManagedLogin, map[string]any{"loginUrl": "https://login.example/x"})
		r.step = time.Second
		r.pass("the next type", func() bool { return len(r.fake.spawned()) == 2 })
		r.fake.tell(r.starting(), core.EventManagedReady, nil)
		r.wait("the answer", func() bool { return len(r.born) == 1 && r.born[0].err == nil })
		r.endsWith(first + ": it wants a login")
	})
	t.Run("Sweep", func(t *testing.T) {
		r := threadRig(t)
		id := r.spawn(0)
		r.again()
		r.roles.Sweep(func(string) bool { return false })
		r.endsWith(id + ": its execution is over")
	})
	t.Run("LeftOver", func(t *testing.T) {
		r := threadRig(t)
		id := r.spawn(0)
		r.again()
		r.roles.StopExecution("exec_1", "cancelled")
		r.endsWith(id + ": cancelled")
	})
	t.Run("Refused", func(t *testing.T) {
		r := threadRig(t)
		r.refuse = func(core.ManagedAgentSpec) error { return core.Invalid("preparation.workspace.repo", "does not exist") }
		r.roles.Spawn(spec(0, "codex", "claude"))
		r.wait("the answer", func() bool { return len(r.born) == 1 })
		if b := r.born[0]; core.ErrorCode(b.err) != core.CodeValidation || len(r.threads.specs) != 1 {
			t.Errorf("got %+v after %d tries", b, len(r.threads.specs))
		}
		r.endsWith()
	})
}

// Threads bound the starts of agents themselves: those that prepare a workspace keep no other from being prepared.
func TestManyPrepareAtOnce(t *testing.T) {
	r := threadRig(t)
	const many = 12
	gate := make(chan struct{})
	r.refuse = func(core.ManagedAgentSpec) error {
		<-gate
		return nil
	}
	for i := range many {
		r.roles.Spawn(spec(i))
	}
	coretest.WaitFor(t, "all to be prepared", func() bool {
		r.threads.mu.Lock()
		defer r.threads.mu.Unlock()
		return len(r.specs) == many
	})
	close(gate)
	coretest.WaitFor(t, "the agents", func() bool { return len(r.fake.spawned()) == many })
}
