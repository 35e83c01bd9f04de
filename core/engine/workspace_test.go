package engine_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	stdtime "time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

// What the execution is about, and where its agents work, goes with each agent that is spawned.
func TestSpawnObjectiveAndWorkspace(t *testing.T) {
	long := strings.Repeat("ü", 4<<10)
	for input, objective := range map[string]string{
		`{"repo":"web","task":"fix \"it\""}`:             `fix "it"`,
		`{ "repo": "web", "task": {"a": [1, 2]} }`:       `{"repo":"web","task":{"a":[1,2]}}`,
		`{"repo":"web"}`:                                 `{"repo":"web"}`,
		`{"repo":"web","task":"` + long + `"}`:           long[:4<<10] + "…",
		`{"repo":"web","words":["` + long[:6000] + `"]}`: (`{"repo":"web","words":["` + long)[:4<<10] + "…",
	} {
		r := newRig(t)
		s := r.spawns()
		s.auto = true
		r.open()
		r.chart("p", []core.Role{
			{Key: "placed", Min: 1, Managed: true, AgentTypes: []string{"claude"}},
			{Key: "other", Min: 1, Managed: true, AgentTypes: []string{"claude"}},
		}, assign("placed"), assign("other"))
		exec := r.startWith(core.ExecuteRequest{Pattern: "p", Input: json.RawMessage(input)})
		if got := r.finishAll(exec.ID); got.Status != core.ExecutionCompleted {
			t.Fatalf("got %+v", got.Error)
		}
		for _, spec := range s.specs() {
			if spec.Objective != objective {
				t.Errorf("the objective of %.60s is %.60q, %d bytes, want %.60q, %d bytes", input, spec.Objective, len(spec.Objective), objective, len(objective))
			}
			if placed := spec.Role == "placed"; placed != (spec.Workspace != nil) || placed && *spec.Workspace != (core.WorkspaceSpec{Repo: "web", Branch: "main"}) {
				t.Errorf("%s works in %+v", spec.Role, spec.Workspace)
			}
		}
	}
}

// An execution that leaves open where its agents work fails before any is spawned, and gives back what it took.
func TestSpawnWorkspaceUnresolved(t *testing.T) {
	r := newRig(t)
	s := r.spawns()
	s.auto = true
	r.open()
	r.chart("p", []core.Role{
		{Key: "first", Min: 1, Capabilities: []string{"plan"}},
		{Key: "placed", Min: 1, Managed: true, AgentTypes: []string{"claude"}},
		{Key: "last", Min: 1, Capabilities: []string{"plan"}},
		{Key: "spawned", Min: 1, Managed: true, AgentTypes: []string{"claude"}},
	}, assign("first"), assign("placed"), assign("last"), assign("spawned"))
	r.agents.offer("x", 2, "plan")
	for _, late := range []bool{false, true} {
		if late { // bound from the queue, when a runtime is there
			s.roleMu.Lock()
			s.cannot = "no runtime is ready"
			s.roleMu.Unlock()
		}
		exec := r.start("p")
		if late {
			s.roleMu.Lock()
			s.cannot = ""
			s.roleMu.Unlock()
			r.RolesChanged()
		}
		got := r.wait(exec.ID)
		if got.Error == nil || got.Error.Code != core.CodeValidation || !strings.Contains(got.Error.Message, "role placed, workspace.repo") {
			t.Errorf("late %t: got %s %+v", late, got.Status, got.Error)
		}
		coretest.WaitFor(t, "what it took", func() bool { return r.agents.free("x") == 2 })
		bound, released := r.store.count(exec.ID, core.EventRoleBound), r.store.count(exec.ID, core.EventRoleReleased)
		if bound != released || len(s.specs()) != 0 {
			t.Errorf("late %t: %d bound, %d released, %d spawned", late, bound, released, len(s.specs()))
		}
	}
	coretest.WaitFor(t, "nothing that is left", func() bool {
		stats := r.Stats()
		return stats.Active+stats.Running+stats.Waiting == 0
	})
}

// Workspaces beyond the quota are waited for, as runtimes without room are.
func TestSpawnWaitsForWorkspaces(t *testing.T) {
	r := newRig(t)
	s := r.spawns()
	r.open()
	r.chart("p", []core.Role{{Key: "a", Min: 1, Managed: true, AgentTypes: []string{"claude"}}}, assign("a"))
	exec := r.start("p")
	for i := range 5 { // more often than attempts that count
		coretest.WaitFor(t, "a spawn", func() bool { return len(s.specs()) == i+1 })
		s.fail(s.specs()[i], core.Errorf(core.CodeRateLimited, "there are as many workspaces as there may be"))
		coretest.WaitFor(t, "the next spawn", func() bool {
			r.clock.Advance(stdtime.Second)
			return len(s.specs()) > i+1
		})
	}
	s.ready(s.specs()[5])
	if got := r.finishAll(exec.ID); got.Status != core.ExecutionCompleted {
		t.Errorf("got %+v", got.Error)
	}
}

// The entry of a role in the timeline names the thread of its agent; other threads are entries.
func TestTimelineOfRoleThreads(t *testing.T) {
	r := newRig(t)
	s := r.spawns()
	s.auto = true
	r.open()
	r.chart("p", []core.Role{{Key: "a", Min: 1, Managed: true, AgentTypes: []string{"claude"}}}, assign("a"))
	exec := r.start("p")
	r.finishAll(exec.ID)
	now := r.clock.Now()
	r.store.threads = []core.ThreadRecord{
		{Kind: core.ThreadKindRole, Thread: core.Thread{ID: "thread_1", ExecutionID: exec.ID, ManagedAgentID: "a-0", CreatedAt: now}},
		{Kind: core.ThreadKindRole, Thread: core.Thread{ID: "thread_2", ExecutionID: exec.ID, CreatedAt: now}},
		{Thread: core.Thread{ID: "thread_3", ExecutionID: exec.ID, Status: core.ThreadReady, CreatedAt: now.Add(-stdtime.Hour)}},
		{Thread: core.Thread{ID: "thread_4", ExecutionID: "exec_other", CreatedAt: now}},
	}
	line, err := r.Timeline(t.Context(), exec.ID)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []core.TimelineKind
	for _, e := range line.Entries {
		kinds = append(kinds, e.Kind)
		if (e.Kind == core.TimelineRole) != (e.ThreadID == "thread_1") {
			t.Errorf("entry %+v", e)
		}
	}
	if want := []core.TimelineKind{core.TimelineThread, core.TimelineRole, core.TimelineStep, core.TimelineTask}; !slices.Equal(kinds, want) {
		t.Errorf("entries %v, want %v", kinds, want)
	}
}
