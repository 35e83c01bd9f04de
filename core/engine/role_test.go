package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	stdtime "time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/engine"
)

// finishAll answers until the execution is over.
func (r *rig) finishAll(id string) *core.Execution {
	r.tb.Helper()
	answered := map[string]bool{}
	coretest.WaitFor(r.tb, "the end of "+id, func() bool {
		list := r.agents.held()
		if r.roles != nil {
			list = append(list, r.roles.held()...)
		}
		for _, h := range list {
			if key := fmt.Sprint(h.task.ID, h.task.Attempt); !answered[key] {
				answered[key] = true
				result, failure := r.chartSay(h.task)
				r.agents.report(h.agent, h.task, result, failure)
			}
		}
		e, err := r.store.FindExecution(r.tb.Context(), id)
		return err == nil && e.Status.Terminal()
	})
	return r.wait(id)
}

// The slots of all roles are taken before the first step, and given back at the end.
func TestRolesAreHeld(t *testing.T) {
	r := newRig(t).open()
	r.chart("p", []core.Role{{Key: "a", Min: 2, Max: 3}, {Key: "b", Min: 1}}, parallel(many(8, "a")...), assign("b"))
	for i := range 5 {
		r.agents.add(fmt.Sprint("x", i), 1)
	}
	exec := r.start("p")
	if held := r.agents.await(t, 3); len(held) != 3 {
		t.Errorf("%d tasks, want as many as the role may have instances", len(held))
	}
	free := 0
	for i := range 5 {
		free += r.agents.free(fmt.Sprint("x", i))
	}
	if free != 1 {
		t.Errorf("%d slots are free, want 1 of 5", free)
	}
	if got := r.finishAll(exec.ID); got.Status != core.ExecutionCompleted {
		t.Errorf("got %+v", got.Error)
	}
	coretest.WaitFor(t, "free slots", func() bool {
		for i := range 5 {
			if r.agents.free(fmt.Sprint("x", i)) != 1 {
				return false
			}
		}
		return true
	})
}

// A singleton stays one instance under load.
func TestSingleton(t *testing.T) {
	r := newRig(t).open()
	r.chart("p", []core.Role{{Key: "a", Min: 1, Singleton: true}}, parallel(many(4, "a")...))
	r.agents.add("x", 1)
	r.agents.add("y", 1)
	exec := r.start("p")
	r.agents.await(t, 1)
	if got := r.finishAll(exec.ID); got.Status != core.ExecutionCompleted || got.Workflow.AgentsUsed != 1 {
		t.Errorf("got %s with %d agents", got.Status, got.Workflow.AgentsUsed)
	}
}

// Executions that need two agents each never hold one each of two, and each gets its turn.
func TestRolesAllOrNothing(t *testing.T) {
	r := newRig(t).open()
	r.chart("p", crew("a", "b"), assign("a"), assign("b"))
	r.chart("q", crew("b", "a", "c"), assign("a"), assign("b"))
	for i := range 3 {
		r.agents.add(fmt.Sprint("x", i), 1)
	}
	r.autoChart()
	var ids []string
	for range 50 {
		ids = append(ids, r.start("p").ID, r.start("q").ID)
	}
	for _, id := range ids {
		over := false
		coretest.WaitFor(t, "the end of "+id, func() bool {
			e, err := r.store.FindExecution(t.Context(), id)
			over = err == nil && e.Status.Terminal()
			if !over {
				r.clock.Advance(10 * stdtime.Millisecond)
			}
			return over
		})
		if got := r.wait(id); got.Status != core.ExecutionCompleted {
			t.Fatalf("got %s %+v", got.Status, got.Error)
		}
	}
	coretest.WaitFor(t, "nothing left", func() bool {
		s := r.Stats()
		return s.Active == 0 && s.Running == 0 && s.Waiting == 0 && r.clock.Pending() == 0 && r.agents.free("x0")+r.agents.free("x1")+r.agents.free("x2") == 3
	})
}

// Roles whose capabilities overlap find the one way in which all get an agent.
func TestRolesShareAgents(t *testing.T) {
	r := newRig(t).open()
	roles := []core.Role{
		{Key: "a", Min: 1, Capabilities: []string{"code"}},
		{Key: "b", Min: 1, Capabilities: []string{"test"}},
		{Key: "c", Min: 1, Capabilities: []string{"plan"}},
	}
	r.chart("p", roles, assign("a"), assign("b"), assign("c"))
	r.agents.offers["x"] = []string{"code", "test"}
	r.agents.offers["y"] = []string{"test", "plan"}
	r.agents.offers["z"] = []string{"plan", "code"}
	for _, id := range []string{"x", "y", "z"} {
		r.agents.add(id, 1)
	}
	r.autoChart()
	if got := r.wait(r.start("p").ID); got.Status != core.ExecutionCompleted || got.Workflow.AgentsUsed != 3 {
		t.Errorf("got %s %+v", got.Status, got.Error)
	}
}

// Too few agents: at once with RequireAgents, and at the deadline without.
func TestRolesLack(t *testing.T) {
	r := newRig(t).open()
	r.chart("p", []core.Role{{Key: "a", Min: 1}, {Key: "b", Min: 3, Capabilities: []string{"test"}}}, assign("a"))
	r.agents.add("x", 2)
	_, err := r.Start(t.Context(), core.ExecuteRequest{Pattern: "p", Input: json.RawMessage(`{}`), RequireAgents: true})
	if e := core.AsError(err); e.Code != core.CodeNoAgents || e.Details["required"] != 3 || e.Details["available"] != 1 {
		t.Fatalf("got %v", err)
	}
	if n := r.agents.free("x"); n != 2 {
		t.Errorf("%d slots are free", n)
	}
	exec := r.start("p")
	if exec.Status != core.ExecutionPending {
		t.Errorf("it is %s", exec.Status)
	}
	r.clock.Advance(2 * stdtime.Hour)
	if got := r.wait(exec.ID); got.Error == nil || got.Error.Code != core.CodeNoAgents || got.StartedAt != nil {
		t.Errorf("got %s %+v", got.Status, got.Error)
	}
	if s := r.agents.free("x"); s != 2 {
		t.Errorf("%d slots are free", s)
	}
}

// A lost agent's task goes to another; the last one of a role is waited for.
func TestRoleLost(t *testing.T) {
	r := newRig(t).open()
	r.chart("p", crew("a", "b"), assign("a"), assign("a"), assign("b"))
	for _, id := range []string{"x", "y", "z"} {
		r.agents.add(id, 1)
	}
	exec := r.start("p")
	first := r.agents.await(t, 1)[0]
	r.agents.lose(first.agent)
	coretest.WaitFor(t, "the task at another agent", func() bool {
		held := r.agents.held()
		return len(held) == 1 && held[0].agent != first.agent && held[0].task.ID == first.task.ID && held[0].task.Attempt == 2
	})
	for _, id := range []string{"x", "y", "z"} { // b's too, which has no task
		if id != first.agent {
			r.agents.lose(id)
		}
	}
	coretest.WaitFor(t, "the losses", func() bool { return r.store.count(exec.ID, core.EventRoleReleased) == 3 })
	if e, _ := r.FindExecution(t.Context(), exec.ID); e.Status != core.ExecutionRunning {
		t.Fatalf("it is %s", e.Status)
	}
	r.agents.add("u", 1)
	r.agents.add("v", 1)
	if got := r.finishAll(exec.ID); got.Status != core.ExecutionCompleted {
		t.Errorf("got %s %+v", got.Status, got.Error)
	}
}

// An agent that gives no answer loses its task to another, and its clock stands still for nobody else.
func TestLeafTimeout(t *testing.T) {
	r := newRig(t).open()
	step := assign("a")
	step.Timeout = stdtime.Minute
	r.chart("p", crew("a"), step)
	r.agents.add("x", 1)
	r.agents.add("y", 1)
	exec := r.start("p")
	first := r.agents.await(t, 1)[0]
	if first.task.Timeout != stdtime.Minute {
		t.Errorf("the task has %v", first.task.Timeout)
	}
	r.clock.Advance(stdtime.Minute)
	coretest.WaitFor(t, "the task at another agent", func() bool {
		held := r.agents.held()
		return len(held) == 1 && held[0].agent != first.agent
	})
	r.clock.Advance(stdtime.Minute)
	coretest.WaitFor(t, "a third attempt", func() bool {
		held := r.agents.held()
		return len(held) == 1 && held[0].task.Attempt == 3
	})
	r.clock.Advance(stdtime.Minute)
	if got := r.wait(exec.ID); got.Error == nil || got.Error.Code != core.CodeAgentError {
		t.Errorf("got %s %+v", got.Status, got.Error)
	}
	coretest.WaitFor(t, "free slots", func() bool { return r.agents.free("x")+r.agents.free("y") == 2 })
}

// Cancel and the deadline end an org chart in the middle of each kind of step, and nothing is left of it.
func TestChartEnds(t *testing.T) {
	for _, life := range chartLives {
		if life.tasks == 0 {
			continue
		}
		for after := range min(life.tasks, 3) {
			for _, how := range []string{"cancel", "deadline"} {
				t.Run(fmt.Sprint(life.name, after, how), func(t *testing.T) {
					r := chartRig(t, nil)
					r.config.TaskTimeout = 10 * stdtime.Hour
					r.open()
					exec := r.start(life.name)
					for n := range after {
						coretest.WaitFor(t, "a task", func() bool { return len(r.agents.held()) > 0 })
						h := r.agents.held()[0]
						result, failure := r.chartSay(h.task)
						r.agents.report(h.agent, h.task, result, failure)
						coretest.WaitFor(t, "the answer", func() bool { return r.agents.settledCount() == n+1 })
					}
					if how == "cancel" {
						if _, err := r.Cancel(t.Context(), exec.ID, "enough"); err != nil && core.ErrorCode(err) != core.CodeConflict {
							t.Fatal(err)
						}
					} else {
						r.clock.Advance(2 * stdtime.Hour)
					}
					got := r.wait(exec.ID)
					if got.Status == core.ExecutionCompleted && after < life.tasks-1 {
						t.Errorf("it is %s", got.Status)
					}
					if b, l := r.store.count(got.ID, core.EventRoleBound), r.store.count(got.ID, core.EventRoleReleased); b != l {
						t.Errorf("%d instances bound and %d released", b, l)
					}
					coretest.WaitFor(t, "nothing left: "+r.left(), func() bool { return r.left() == "" && len(r.agents.held()) == 0 })
				})
			}
		}
	}
}

// An execution of an org chart ends at the timeout of its options, with the step that it was at.
func TestChartOptionsTimeout(t *testing.T) {
	r := chartRig(t, nil)
	r.config.TaskTimeout = 10 * stdtime.Hour
	r.open()
	exec := r.startWith(core.ExecuteRequest{Pattern: "one", Input: json.RawMessage(`{}`), Options: core.ExecuteOptions{TimeoutMs: 1000}})
	r.agents.await(t, 1)
	r.clock.Advance(stdtime.Second)
	if got := r.wait(exec.ID); got.Error == nil || got.Error.Code != core.CodeTimeout || got.Workflow == nil || len(got.Workflow.Steps) != 1 || got.Workflow.Steps[0].Duration != 1000 {
		t.Errorf("got %+v %+v", got.Error, got.Workflow)
	}
}

// What the task of an agent says.
func TestLeafInput(t *testing.T) {
	r := newRig(t).open()
	roles := []core.Role{{Key: "a", Min: 1, Capabilities: []string{"code", "go"}}, {Key: "strict", Min: 1}}
	r.chart("p", roles, assign("a"), assign("a"), approve("strict", core.OnRejectRetry, 1))
	r.agents.add("x", 2)
	exec := r.startWith(core.ExecuteRequest{Pattern: "p", Input: json.RawMessage(`{}`), Options: core.ExecuteOptions{Metadata: map[string]any{"team": "blue"}}})
	type input struct {
		Task, Role, Step, Type      string
		Subject, Feedback, Results  json.RawMessage
		ResultsTruncated            bool
		PreviousAnswer, NotExpected json.RawMessage
	}
	next := func(before string) (core.Task, input) {
		t.Helper()
		var h handed
		coretest.WaitFor(t, "the next task", func() bool {
			held := r.agents.held()
			if len(held) != 1 || held[0].task.ID == before {
				return false
			}
			h = held[0]
			return true
		})
		var in input
		if err := json.Unmarshal(h.task.Input, &in); err != nil {
			t.Fatal(err)
		}
		result, failure := r.chartSay(h.task)
		if h.task.Step == "0" {
			result = `"` + strings.Repeat("x", 40<<10) + `"`
		}
		r.agents.report(h.agent, h.task, result, failure)
		return h.task, in
	}
	task, in := next("")
	if task.Role != "a" || task.Capability != "code" || string(task.Context) != `{"metadata":{"team":"blue"}}` || task.Step != "0" ||
		in.Task != "do 0" || in.Type != "assign" || in.Role != "a" || in.Step != "0" || in.Results != nil || in.ResultsTruncated {
		t.Errorf("got %+v %+v", task, in)
	}
	task, in = next(task.ID)
	if in.Results != nil || !in.ResultsTruncated {
		t.Errorf("got %+v", in)
	}
	task, in = next(task.ID)
	if in.Type != "approve" || string(in.Subject) != `{"step":"1","again":false}` || !strings.HasPrefix(string(in.Results), `{"1":`) || !in.ResultsTruncated || !strings.Contains(in.Task, "verdict") {
		t.Errorf("got %+v", in)
	}
	task, in = next(task.ID)
	if task.Step != "1" || !strings.Contains(string(in.Feedback), "again") {
		t.Errorf("got %+v", in)
	}
	next(task.ID)
	if got := r.wait(exec.ID); got.Status != core.ExecutionCompleted {
		t.Errorf("got %+v", got.Error)
	}
}

// Spawned agents serve roles that are managed, or that have nobody connected; all are stopped at the end.
func TestRolesSpawned(t *testing.T) {
	r := newRig(t)
	s := r.spawns()
	r.open()
	roles := []core.Role{
		{Key: "a", Min: 2, Max: 3, Managed: true, AgentTypes: []string{"claude"}},
		{Key: "b", Min: 1, AgentTypes: []string{"codex"}, Capabilities: []string{"test"}},
		{Key: "c", Min: 1, Capabilities: []string{"plan"}},
	}
	r.chart("p", roles, parallel(many(5, "a")...), assign("b"), assign("c"))
	r.agents.offer("x", 1, "plan")
	exec := r.start("p")
	coretest.WaitFor(t, "spawns", func() bool { return len(s.specs()) == 3 })
	if exec.Status != core.ExecutionPending {
		t.Errorf("it is %s before there are agents", exec.Status)
	}
	for _, spec := range s.specs() {
		s.ready(spec)
	}
	coretest.WaitFor(t, "tasks and one more agent", func() bool { return len(s.held()) == 2 && len(s.specs()) == 4 })
	if task := s.held()[0].task; task.Timeout != 0 {
		t.Errorf("the task of a spawned agent has %v", task.Timeout)
	}
	s.ready(s.specs()[3])
	coretest.WaitFor(t, "three tasks", func() bool { return len(s.held()) == 3 })
	got := r.finishAll(exec.ID)
	if got.Status != core.ExecutionCompleted || len(s.specs()) != 4 {
		t.Errorf("got %s %+v, %d spawned", got.Status, got.Error, len(s.specs()))
	}
	coretest.WaitFor(t, "all stopped", func() bool { return slices.Equal(s.stoppedExecutions(), []string{exec.ID}) && r.agents.free("x") == 1 })
}

// Agents that cannot be spawned fail the execution, after some attempts, with the reason.
func TestRolesNotSpawned(t *testing.T) {
	r := newRig(t)
	s := r.spawns()
	r.open()
	r.chart("p", []core.Role{{Key: "a", Min: 1, Managed: true, AgentTypes: []string{"claude"}}}, assign("a"))
	exec := r.start("p")
	for i := range 3 {
		coretest.WaitFor(t, "a spawn", func() bool { return len(s.specs()) == i+1 })
		s.fail(s.specs()[i], errors.New("no such command"))
	}
	if got := r.wait(exec.ID); got.Error == nil || got.Error.Code != core.CodeAgentError {
		t.Errorf("got %s %+v", got.Status, got.Error)
	}

	s.roleMu.Lock()
	s.cannot, s.auto = "no runtime is ready", true
	s.roleMu.Unlock()
	_, err := r.Start(t.Context(), core.ExecuteRequest{Pattern: "p", Input: json.RawMessage(`{}`), RequireAgents: true})
	if core.ErrorCode(err) != core.CodeNoAgents || !strings.Contains(err.Error(), "no runtime is ready") {
		t.Errorf("got %v", err)
	}
	second := r.start("p")
	s.roleMu.Lock()
	s.cannot = ""
	s.roleMu.Unlock()
	r.RolesChanged()
	if got := r.finishAll(second.ID); got.Status != core.ExecutionCompleted {
		t.Errorf("got %+v", got.Error)
	}
}

// What is wrong with the request fails it at once; a runtime without room is asked again after a pause.
// TestSeveralRolesLack names all roles that lack agents, and what each of them lacks.
func TestSeveralRolesLack(t *testing.T) {
	r := newRig(t).open()
	r.chart("p", []core.Role{
		{Key: "a", Min: 1, Capabilities: []string{"plan"}}, {Key: "b", Min: 3, Capabilities: []string{"test"}}, {Key: "c", Min: 1},
	}, assign("a"))
	r.agents.add("x", 1)
	_, err := r.Start(t.Context(), core.ExecuteRequest{Pattern: "p", Input: json.RawMessage(`{}`), RequireAgents: true})
	e := core.AsError(err)
	if err == nil || e.Code != core.CodeNoAgents || e.Details["role"] != "b" {
		t.Fatalf("got %v %v", err, e)
	}
	r.agents.lose("x")
	_, err = r.Start(t.Context(), core.ExecuteRequest{Pattern: "p", Input: json.RawMessage(`{}`), RequireAgents: true})
	e = core.AsError(err)
	for _, want := range []string{`role "a" with the capabilities [plan]: 1 needed`, `role "b" with the capabilities [test]: 3 needed`, `role "c"`} {
		if err == nil || e.Code != core.CodeNoAgents || !strings.Contains(e.Message, want) {
			t.Errorf("got %v, which does not say %q", err, want)
		}
	}
	if roles, _ := e.Details["roles"].([]map[string]any); len(roles) != 3 || roles[1]["required"] != 3 {
		t.Errorf("roles are %v", e.Details["roles"])
	}
}

// TestLackingCommands names every role whose command is missing, not only the one whose agent was asked for first.
func TestLackingCommands(t *testing.T) {
	r := newRig(t)
	s := r.spawns()
	s.lacks = "codex"
	r.open()
	r.chart("p", []core.Role{
		{Key: "a", Min: 1, Managed: true, AgentTypes: []string{"codex"}},
		{Key: "b", Min: 2, Managed: true, AgentTypes: []string{"codex"}},
		{Key: "c", Min: 1, Managed: true, AgentTypes: []string{"bash"}},
	}, assign("a"))
	exec := r.start("p")
	coretest.WaitFor(t, "the spawns", func() bool { return len(s.specs()) == 4 })
	s.fail(s.specs()[0], core.Invalid("type", `the command "codex" was not found`))
	got := r.wait(exec.ID)
	if got.Error == nil || got.Error.Code != core.CodeAgentError ||
		!strings.HasSuffix(got.Error.Message, `was not found; nor for role "b", of the types [codex]: none of their commands was found`) {
		t.Fatalf("got %s %+v", got.Status, got.Error)
	}
	roles, err := json.Marshal(got.Error.Details["roles"])
	if want := `[{"agentTypes":["codex"],"role":"a"},{"agentTypes":["codex"],"role":"b"}]`; err != nil || string(roles) != want {
		t.Errorf("roles are %s, %v", roles, err)
	}
}

func TestRolesNotSpawnedNow(t *testing.T) {
	r := newRig(t)
	s := r.spawns()
	r.open()
	r.chart("p", []core.Role{{Key: "a", Min: 1, Managed: true, AgentTypes: []string{"claude"}}}, assign("a"))
	exec := r.start("p")
	coretest.WaitFor(t, "a spawn", func() bool { return len(s.specs()) == 1 })
	s.fail(s.specs()[0], core.Errorf(core.CodeConflict, "claude needs a login"))
	if got := r.wait(exec.ID); got.Error == nil || !strings.Contains(got.Error.Message, "claude needs a login") || len(s.specs()) != 1 {
		t.Errorf("got %s %+v after %d spawns", got.Status, got.Error, len(s.specs()))
	}

	exec = r.start("p")
	for i := range 5 { // more often than attempts that count
		coretest.WaitFor(t, "a spawn", func() bool { return len(s.specs()) == i+2 })
		full := core.Errorf(core.CodeInternal, "the runtime is full")
		full.Unavailable = true
		s.fail(s.specs()[i+1], full)
		coretest.WaitFor(t, "the next spawn", func() bool {
			r.clock.Advance(stdtime.Second)
			return len(s.specs()) > i+2
		})
	}
	s.ready(s.specs()[len(s.specs())-1])
	if got := r.finishAll(exec.ID); got.Status != core.ExecutionCompleted {
		t.Errorf("got %+v", got.Error)
	}
}

// A spawned agent that is gone is replaced, one from before a restart is taken up again.
func TestSpawnedLostAndResumed(t *testing.T) {
	r := newRig(t)
	s := r.spawns()
	s.auto = true
	r.open()
	r.chart("p", []core.Role{{Key: "a", Min: 2, Managed: true, AgentTypes: []string{"claude"}}}, parallel(many(2, "a")...))
	exec := r.start("p")
	coretest.WaitFor(t, "tasks", func() bool { return len(s.held()) == 2 })
	s.lose("a-0")
	coretest.WaitFor(t, "another", func() bool { return len(s.specs()) == 3 && len(s.held()) == 2 })
	if spec := s.specs()[2]; spec.Instance != 2 {
		t.Errorf("the third agent is number %d", spec.Instance)
	}
	r.Close()
	s.mu.Lock()
	s.inbox = nil
	s.mu.Unlock()
	r.open()
	coretest.WaitFor(t, "the tasks", func() bool { return len(s.held()) == 2 })
	if got := r.finishAll(exec.ID); got.Status != core.ExecutionCompleted || len(s.specs()) != 3 || s.swept != 2 {
		t.Errorf("got %s, %d spawned, %d sweeps", got.Status, len(s.specs()), s.swept)
	}
}

// The configuration says which agents serve roles.
func TestRoleBinding(t *testing.T) {
	for _, tt := range []struct {
		binding engine.RoleBinding
		managed bool
		spawned int
	}{{engine.BindAuto, false, 0}, {engine.BindConnected, false, 0}, {engine.BindManaged, false, 1}, {engine.BindConnected, true, 1}} {
		t.Run(fmt.Sprint(tt.binding, tt.managed), func(t *testing.T) {
			r := newRig(t)
			s := r.spawns()
			s.auto = true
			r.config.RoleBinding = tt.binding
			r.open()
			r.chart("p", []core.Role{{Key: "a", Min: 1, Managed: tt.managed, AgentTypes: []string{"claude"}}}, assign("a"))
			r.agents.add("x", 1)
			got := r.finishAll(r.start("p").ID)
			if got.Status != core.ExecutionCompleted || len(s.specs()) != tt.spawned {
				t.Errorf("got %s, %d spawned, want %d", got.Status, len(s.specs()), tt.spawned)
			}
		})
	}
}

// A rerun keeps what came before the step that it begins with.
func TestChartRerun(t *testing.T) {
	r := chartRig(t, nil).open()
	r.autoChart()
	line := r.wait(r.start("line").ID)
	for from, tasks := range map[string]int{"0": 3, "1": 2, "2": 1} {
		again, err := r.Rerun(t.Context(), line.ID, from)
		if err != nil {
			t.Fatal(err)
		}
		got := r.wait(again.ID)
		if got.Status != core.ExecutionCompleted || r.store.count(got.ID, core.EventTaskAssigned) != tasks || string(got.Result) != string(line.Result) || got.Workflow.StepsExecuted != 3 {
			t.Errorf("from %s: got %s %s with %d tasks, want %d", from, got.Status, got.Result, r.store.count(got.ID, core.EventTaskAssigned), tasks)
		}
	}
	for _, from := range []string{"3", "x", "1.0", ""} {
		if _, err := r.Rerun(t.Context(), line.ID, from); core.ErrorCode(err) != core.CodeValidation {
			t.Errorf("from %q: got %v", from, err)
		}
	}
	gate := r.wait(r.start("gate").ID)
	again, err := r.Rerun(t.Context(), gate.ID, "")
	if err != nil {
		t.Fatal(err)
	}
	if got := r.wait(again.ID); r.store.count(got.ID, core.EventTaskAssigned) != 1 || got.Error.Code != core.CodeApprovalRejected {
		t.Errorf("got %s with %d tasks", got.Status, r.store.count(got.ID, core.EventTaskAssigned))
	}
}
