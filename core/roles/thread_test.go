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
	"github.com/wardroom/wardroom/sdk/wire"
)

// threads are the threads of roles, which remember. Like the fake of agents they outlive the service.
type threads struct {
	fake *fake

	mu     sync.Mutex // guards all below
	specs  []core.RoleSpec
	ends   []string // "id: reason", of agents that were not stopped yet
	late   []string // the same of those that were
	refuse func(agent core.ManagedAgentSpec) error
	work   map[string]note // by agent
}

// note records work that was about to be sent to an agent.
type note struct {
	key     string
	attempt int
	seq     uint64 // of the agents' last event then
}

func (th *threads) OpenWork(_ context.Context, agentID, key string, attempt int) (core.RoleWork, error) {
	th.mu.Lock()
	defer th.mu.Unlock()
	th.fake.mu.Lock()
	defer th.fake.mu.Unlock()
	if n := th.work[agentID]; n.key == key && n.attempt >= attempt {
		shown := slices.ContainsFunc(th.fake.events[agentID], func(e core.Event) bool {
			return e.Seq > n.seq && (e.Type == core.EventManagedBusy || e.Type == core.EventManagedTurnComplete)
		})
		return core.RoleWork{Attempt: n.attempt, Shown: shown}, nil
	}
	if th.work == nil {
		th.work = map[string]note{}
	}
	th.work[agentID] = note{key, attempt, th.fake.seq}
	return core.RoleWork{Attempt: attempt}, nil
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

// However an agent ends, its thread hears of it once, and before the agent is stopped.
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

// Work that the core and the runtime were killed over is not typed again when its turn was had meanwhile, under whichever
// key; its answer is that of the turn.
func TestTurnEndsWhileAway(t *testing.T) {
	unknown := failure(core.CodeConflict, "DELIVERY_UNKNOWN", false)
	loginError := wire.TurnOutcome{Error: &wire.TurnError{Code: wire.TurnLoginRequired, Message: "Invalid API key"}}
	for _, tt := range []struct {
		name  string
		typed int                // keys with which the first life types it
		end   func(*rig, string) // of the turn, while everything is down
		keys  []string           // behind the first, with which it is typed in all
		code  string             // of the report's error
	}{
		{name: "Completed", typed: 1, end: func(r *rig, id string) { r.fake.turn(id, "done") }, keys: []string{""}},
		{name: "TypedTwice", typed: 2, end: func(r *rig, id string) { r.fake.turn(id, "done") }, keys: []string{"", ".2"}},
		{name: "Running", typed: 1, end: func(r *rig, id string) { r.fake.tell(id, core.EventManagedBusy, nil) }, keys: []string{""}},
		{name: "Interrupted", typed: 1, end: func(r *rig, id string) {
			r.fake.tell(id, core.EventManagedTurnComplete, map[string]any{"turn": 1, "interrupted": true})
			r.fake.tell(id, core.EventManagedReady, nil)
		}, keys: []string{""}, code: "AGENT_ERROR"},
		{name: "LoggedInAgain", typed: 1, end: func(r *rig, id string) {
			r.fake.tell(id, core.EventManagedTurnComplete, map[string]any{"turn": 1, "error": loginError.Error})
			r.fake.tell(id, core.EventManagedLogin, nil)
			r.fake.tell(id, core.EventManagedReady, nil)
		}, keys: []string{"", ".2"}},
		{name: "Nothing", typed: 1, end: func(*rig, string) {}, keys: []string{"", ".2"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := threadRig(t)
			id := r.spawn(0)
			var mu sync.Mutex
			var keys []string
			second := false
			stuck := make(chan struct{})
			r.fake.send = func(ctx context.Context, id string, in core.ManagedAgentInput) (core.ManagedAgentReply, error) {
				mu.Lock()
				known := slices.Contains(keys, in.Key)
				if !known {
					keys = append(keys, in.Key)
				}
				types, later := len(keys) == tt.typed, second
				mu.Unlock()
				switch {
				case !later && types: // the runtime is killed while it types
					close(stuck)
					<-ctx.Done()
					return core.ManagedAgentReply{}, ctx.Err()
				case later && !known:
					return r.fake.turn(id, "done"), nil
				}
				return core.ManagedAgentReply{}, unknown
			}
			r.roles.Dispatch(id, task("task_1"))
			coretest.WaitFor(t, "the typing", func() bool {
				r.clock.Advance(r.step)
				select {
				case <-stuck:
					return true
				default:
					return false
				}
			})
			r.roles.Close()
			tt.end(r, id)
			mu.Lock()
			second = true
			mu.Unlock()
			r.open()
			if !r.roles.Hold(id) || !r.roles.Adopt(id, task("task_1")) {
				t.Fatal("the agent is not found again")
			}
			if tt.name == "Running" {
				r.pass("a question about it", func() bool { return len(r.fake.sentTo(id)) > 1 })
				for range 400 {
					r.clock.Advance(r.step)
				}
				r.fake.tell(id, core.EventManagedTurnComplete, map[string]any{"turn": 1, "text": "done"})
				r.fake.tell(id, core.EventManagedReady, nil)
			}
			r.pass("the report", func() bool { return len(r.reports) == 1 })
			report := r.reports[0]
			if code := ""; report.Err != nil {
				if code = report.Err.Code; code != tt.code {
					t.Errorf("reported %+v", report.Err)
				}
			} else if tt.code != "" || string(report.Result) != `"done"` {
				t.Errorf("the result is %s", report.Result)
			}
			for i := range keys {
				keys[i] = strings.TrimPrefix(keys[i], "task_1.1")
			}
			if !slices.Equal(keys, tt.keys) {
				t.Errorf("typed with the keys %q, want %q", keys, tt.keys)
			}
		})
	}
}

// A message that may have been taken is not typed a third time when its turn begins late, and asks something: what refuses the
// second typing does so because of the first.
func TestUnsureThenBlocked(t *testing.T) {
	r := threadRig(t)
	id := r.spawn(0)
	asked, first := make(chan struct{}), true
	r.fake.send = func(_ context.Context, id string, in core.ManagedAgentInput) (core.ManagedAgentReply, error) {
		switch {
		case in.Key == "task_1.1":
			return core.ManagedAgentReply{}, failure(core.CodeConflict, "DELIVERY_UNKNOWN", false)
		case first:
			first = false
			r.fake.tell(id, core.EventManagedBusy, nil)
			r.fake.tell(id, core.EventManagedBlocked, map[string]any{"prompt": map[string]any{"id": "p-1", "kind": "approval", "text": "Run make?"}})
			close(asked)
			return core.ManagedAgentReply{}, failure(core.CodeConflict, "BLOCKED", false)
		}
		t.Error("it was typed again")
		return r.fake.turn(id, "again"), nil
	}
	r.roles.Dispatch(id, task("task_1"))
	r.pass("the question", func() bool { return len(r.messages) == 1 })
	<-asked
	r.fake.tell(id, core.EventManagedUnblocked, nil)
	r.fake.tell(id, core.EventManagedTurnComplete, map[string]any{"turn": 1, "text": "done"})
	r.fake.tell(id, core.EventManagedReady, nil)
	r.pass("the report", func() bool { return len(r.reports) == 1 })
	if report := r.reports[0]; report.Err != nil || string(report.Result) != `"done"` {
		t.Errorf("reported %+v", report)
	}
}
