package roles_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/roles"
)

func TestSpawn(t *testing.T) {
	r := newRig(t)
	id := r.spawn(0)
	got := r.fake.spawned()
	want := map[string]string{roles.LabelExecution: "exec_1", roles.LabelRole: "coder", roles.LabelInstance: "0"}
	if len(got) != 1 || got[0].Name != "coder-0" || got[0].Type != "claude" || got[0].Approval != "standard" ||
		!slices.Equal(got[0].Capabilities, []string{"code"}) || len(got[0].Labels) != 3 {
		t.Fatalf("spawned %+v", got)
	}
	for name, value := range want {
		if got[0].Labels[name] != value {
			t.Errorf("label %s is %q, want %q", name, got[0].Labels[name], value)
		}
	}
	if b := r.born[0]; b.kind != "claude" || b.spec.Role != "coder" {
		t.Errorf("told of %+v", b)
	}
	r.roles.Spawn(spec(0)) // the same one again is that agent
	r.wait("the answer", func() bool { return len(r.born) == 2 })
	if r.born[1].id != id || len(r.fake.spawned()) != 1 {
		t.Errorf("a second spawn of the same instance gave %+v", r.born[1])
	}
}

func TestSpawnTriesTypes(t *testing.T) {
	missing := failure(core.CodeValidation, "CLI_NOT_FOUND", false)
	for _, tt := range []struct {
		name   string
		types  []string
		errs   map[string]error
		tried  []string
		kind   string
		failed string // runtimeCode, "-" for an error without one
	}{
		{"First", []string{"codex", "claude"}, nil, []string{"codex"}, "codex", ""},
		{"NotInstalled", []string{"codex", "claude"}, map[string]error{"codex": missing}, []string{"codex", "claude"}, "claude", ""},
		{"NotOffered", []string{"aider", "claude"}, nil, []string{"claude"}, "claude", ""},
		{"NoneInstalled", []string{"codex", "claude"}, map[string]error{"codex": missing, "claude": missing}, []string{"codex", "claude"}, "", "CLI_NOT_FOUND"},
		{"NoneOffered", []string{"aider"}, nil, nil, "", "-"},
		{
			"Full", []string{"codex", "claude"}, map[string]error{"codex": failure(core.CodeInternal, "RESOURCE_LIMIT", true)},
			[]string{"codex"}, "", "RESOURCE_LIMIT",
		},
		{
			"BadRequest", []string{"codex", "claude"}, map[string]error{"codex": failure(core.CodeValidation, "INVALID_SPEC", false)},
			[]string{"codex"}, "", "INVALID_SPEC",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			r.fake.spawn = func(s core.ManagedAgentSpec) error { return tt.errs[s.Type] }
			r.roles.Spawn(spec(0, tt.types...))
			if tt.kind != "" {
				r.fake.tell(r.starting(), core.EventManagedReady, nil)
			}
			r.wait("the answer", func() bool { return len(r.born) == 1 })
			b := r.born[0]
			var tried []string
			for _, s := range r.fake.spawned() {
				tried = append(tried, s.Type)
			}
			if !slices.Equal(tried, tt.tried) || b.kind != tt.kind || (b.err != nil) != (tt.failed != "") {
				t.Fatalf("tried %v, got %+v", tried, b)
			}
			if tt.failed != "" && tt.failed != "-" && runtimeCode(b.err) != tt.failed {
				t.Errorf("error %v, want %s", b.err, tt.failed)
			}
		})
	}
}

func TestSpawnNotReady(t *testing.T) {
	for _, tt := range []struct {
		name  string
		event core.EventType
		data  map[string]any
		pass  time.Duration
		code  string
		says  string
	}{
		{"Ends", core.EventManagedStopped, map[string]any{"reason": "exited_at_start: no such model"}, 0, "SPAWN_FAILED", "no such model"},
		{"Late", core.EventManagedError, map[string]any{"reason": "not_ready"}, 3 * time.Minute, "SPAWN_FAILED", "not_ready"},
		{"Login", core.EventManagedLogin, map[string]any{"loginUrl": "https://login.example/x"}, time.Minute, "AUTH_REQUIRED", "wants a login"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			r.roles.Spawn(spec(0))
			id := r.starting()
			r.fake.tell(id, tt.event, tt.data)
			if tt.pass > 0 {
				r.step = 10 * time.Second
				r.pass("the answer", func() bool { return len(r.born) == 1 })
			}
			r.wait("the answer", func() bool { return len(r.born) == 1 })
			if b := r.born[0]; runtimeCode(b.err) != tt.code || !strings.Contains(b.err.Error(), tt.says) {
				t.Errorf("error %v, want %s with %q", b.err, tt.code, tt.says)
			}
			coretest.WaitFor(t, "the end of the agent", func() bool { return slices.Contains(r.fake.stops(), id) })
			if len(r.lost) > 0 {
				t.Errorf("an agent that never served was told as lost: %+v", r.lost)
			}
		})
	}
}

// A login in time lets the agent serve.
func TestSpawnLogin(t *testing.T) {
	r := newRig(t)
	r.roles.Spawn(spec(0))
	id := r.starting()
	r.fake.tell(id, core.EventManagedLogin, map[string]any{"loginUrl": "https://login.example/x"})
	r.fake.tell(id, core.EventManagedReady, nil)
	r.wait("the answer", func() bool { return len(r.born) == 1 })
	if r.born[0].err != nil || len(r.messages) != 0 {
		t.Errorf("got %+v, messages %+v", r.born[0], r.messages)
	}
}

// An agent without a login makes room for one of the role's next type.
func TestSpawnSpareType(t *testing.T) {
	r := newRig(t)
	r.roles.Spawn(spec(0, "codex", "aider", "claude"))
	first := r.starting()
	r.fake.tell(first, core.EventManagedLogin, map[string]any{"loginUrl": "https://login.example/x"})
	r.step = time.Second
	r.pass("the next type", func() bool { return len(r.fake.spawned()) == 2 })
	r.fake.tell(r.starting(), core.EventManagedReady, nil)
	r.wait("the answer", func() bool { return len(r.born) == 1 })
	if b := r.born[0]; b.err != nil || b.kind != "claude" || !slices.Contains(r.fake.stops(), first) || len(r.born[0].spec.Types) != 3 {
		t.Errorf("got %+v, stopped %v", b, r.fake.stops())
	}
}

// A spawn whose answer was lost, and a crash before it was journaled, leave one agent.
func TestTakeOver(t *testing.T) {
	r := newRig(t)
	r.roles.Spawn(spec(0))
	id := r.starting()
	r.again()
	r.roles.Spawn(spec(0))
	r.fake.tell(id, core.EventManagedReady, nil)
	r.wait("the answer", func() bool { return len(r.born) == 1 })
	if b := r.born[0]; b.err != nil || b.id != id || len(r.fake.spawned()) != 1 {
		t.Fatalf("got %+v after %d spawns", b, len(r.fake.spawned()))
	}
	r.fake.spawn = func(s core.ManagedAgentSpec) error {
		r.fake.add(s)
		return failure(core.CodeInternal, "UNAVAILABLE", true)
	}
	r.roles.Spawn(spec(1))
	second := r.starting()
	r.fake.tell(second, core.EventManagedReady, nil)
	r.wait("the answer", func() bool { return len(r.born) == 2 })
	if b := r.born[1]; b.err != nil || b.id != second {
		t.Fatalf("an agent whose start was not answered: %+v", b)
	}
}

func TestCanSpawn(t *testing.T) {
	r := newRig(t)
	for _, tt := range []struct {
		types   []string
		runtime string
		ok      bool
		says    string
	}{
		{[]string{"claude"}, "", true, ""},
		{[]string{"aider", "codex"}, "local", true, ""},
		{[]string{"aider"}, "", false, "no runtime offers aider"},
		{[]string{"claude"}, "docker", false, `"docker" is not configured; there is local`},
		{nil, "", false, "names no agentType"},
	} {
		ok, reason := r.roles.CanSpawn(tt.types, tt.runtime)
		if ok != tt.ok || !strings.Contains(reason, tt.says) {
			t.Errorf("%v on %q: %t, %q", tt.types, tt.runtime, ok, reason)
		}
	}
	r.fake.do(func() { r.fake.runtimes[0].MissingTypes = []string{"claude"} })
	for types, want := range map[string]bool{"claude": true, "aider": false, "codex": false, "claude codex": false, "aider claude": true, "": false} {
		if got := r.roles.Lacking(strings.Fields(types), ""); got != want {
			t.Errorf("the commands of %q are missing: %t", types, got)
		}
	}
	if r.roles.Lacking([]string{"claude"}, "docker") {
		t.Error("the commands of a runtime that is not there are missing")
	}
	r.fake.do(func() { r.fake.runtimes[0].Ready, r.fake.runtimes[0].Reason = false, "it starts" })
	if ok, reason := r.roles.CanSpawn([]string{"claude"}, ""); ok || !strings.Contains(reason, "it starts") {
		t.Errorf("a runtime that is not ready: %t, %q", ok, reason)
	}
	r.pass("a word about the runtime", func() bool { return r.changes == 1 })
	r.fake.do(func() { r.fake.runtimes[0].Ready = true })
	r.pass("a word about the runtime", func() bool { return r.changes == 2 })
}

func TestStop(t *testing.T) {
	r := newRig(t)
	first, second := r.spawn(0), r.spawn(1)
	away := true
	r.fake.do(func() {
		r.fake.stop = func(string) error {
			r.fake.mu.Lock()
			defer r.fake.mu.Unlock()
			if away {
				return failure(core.CodeInternal, "UNAVAILABLE", true)
			}
			return nil
		}
	})
	r.roles.Stop(first, "enough")
	if r.roles.Dispatch(first, task("task_1")) {
		t.Error("an agent that is being stopped takes a task")
	}
	r.pass("two tries", func() bool { return len(r.fake.stops()) >= 2 })
	r.fake.do(func() { away = false })
	r.pass("the end", func() bool { a, _ := r.fake.FindManagedAgent(t.Context(), first); return a.Gone() })
	r.roles.Spawn(spec(2))
	third := r.starting()
	r.roles.StopExecution("exec_2", "not this one")
	r.roles.StopExecution("exec_1", "over")
	r.wait("the answer for the one that was being spawned", func() bool { return len(r.born) == 3 })
	if r.born[2].err == nil {
		t.Error("an agent of an execution that is over serves")
	}
	for _, id := range []string{second, third} {
		coretest.WaitFor(t, "the end of "+id, func() bool { a, _ := r.fake.FindManagedAgent(t.Context(), id); return a.Gone() })
	}
	if len(r.lost) > 0 {
		t.Errorf("agents that were stopped are told as lost: %+v", r.lost)
	}
}

func TestSweep(t *testing.T) {
	r := newRig(t)
	mine := r.spawn(0)
	other := spec(0)
	other.ExecutionID = "exec_2"
	r.roles.Spawn(other)
	dead := r.starting()
	r.fake.tell(dead, core.EventManagedReady, nil)
	r.wait("the answer", func() bool { return len(r.born) == 2 })
	stranger := r.fake.add(core.ManagedAgentSpec{Type: "claude", Name: "by hand"}).ID
	r.again()
	for range 2 {
		if !r.roles.Hold(mine) {
			t.Fatal("an agent that runs is not held")
		}
	}
	if r.roles.Hold(stranger) || r.roles.Hold("magent_none") {
		t.Error("an agent that serves no role is held")
	}
	r.roles.Sweep(func(id string) bool { return id == "exec_1" })
	coretest.WaitFor(t, "the end of the other", func() bool { return len(r.fake.stops()) == 1 })
	r.roles.Close()
	if got := r.fake.stops(); !slices.Equal(got, []string{dead}) {
		t.Errorf("stopped %v, want %s", got, dead)
	}
}

// An agent whose start nobody answered is ended with its execution, which may end before the start fails.
func TestStopWhileAStartIsUnanswered(t *testing.T) {
	r := newRig(t)
	asked, answer := make(chan struct{}), make(chan struct{})
	r.fake.spawn = func(s core.ManagedAgentSpec) error {
		r.fake.add(s)
		close(asked)
		<-answer
		return failure(core.CodeInternal, "UNAVAILABLE", true)
	}
	r.roles.Spawn(spec(0))
	<-asked
	r.roles.StopExecution("exec_1", "the execution is over")
	close(answer)
	r.wait("the answer", func() bool { return len(r.born) == 1 })
	coretest.WaitFor(t, "the end of the agent", func() bool { return slices.Contains(r.fake.stops(), "magent_1") })
}
