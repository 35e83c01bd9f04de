package engine_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	stdtime "time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

// chartLives are executions of org charts whose outcome does not hang on who answers when.
var chartLives = []struct {
	name   string
	roles  []core.Role
	steps  func() []*core.ChartStep
	status core.ExecutionStatus
	code   core.Code
	result string
	tasks  int // answers
}{
	{name: "one", roles: crew("a"), tasks: 1, result: `{"step":"0","again":false}`,
		steps: func() []*core.ChartStep { return many(1, "a") }},
	{name: "line", roles: crew("a", "b"), tasks: 3, result: `{"step":"2","again":false}`,
		steps: func() []*core.ChartStep { return []*core.ChartStep{assign("a"), assign("b"), assign("a")} }},
	{name: "parallel", roles: []core.Role{{Key: "a", Min: 2}}, tasks: 5,
		result: `[{"step":"0.0","again":false},{"step":"0.1","again":false},{"step":"0.2","again":false},{"step":"0.3","again":false},{"step":"0.4","again":false}]`,
		steps:  func() []*core.ChartStep { return []*core.ChartStep{parallel(many(5, "a")...)} }},
	{name: "sequential", roles: crew("a", "b"), tasks: 4, result: `[{"step":"1.0","again":false},[{"step":"1.1.0","again":false},{"step":"1.1.1","again":false}]]`,
		steps: func() []*core.ChartStep {
			return []*core.ChartStep{assign("a"), sequential(assign("b"), parallel(many(2, "a")...))}
		}},
	{name: "review", roles: crew("a", "b"), tasks: 2, result: `{"approved":true,"verdict":"approve","confidence":0.9,"feedback":"good","reviewer":"b","agentId":"*"}`,
		steps: func() []*core.ChartStep { return []*core.ChartStep{assign("a"), review("b")} }},
	{name: "once more", roles: crew("a", "mumbler"), tasks: 3, result: `{"approved":true,"verdict":"approve","confidence":0.9,"feedback":"good","reviewer":"mumbler","agentId":"*"}`,
		steps: func() []*core.ChartStep { return []*core.ChartStep{assign("a"), review("mumbler")} }},
	{name: "unreadable", roles: crew("a", "mute"), tasks: 3,
		result: `{"approved":false,"verdict":"revise","confidence":0,"feedback":"the answer could not be read as a verdict, though it was asked for twice","reviewer":"mute","agentId":"*"}`,
		steps:  func() []*core.ChartStep { return []*core.ChartStep{assign("a"), review("mute")} }},
	{name: "approve", roles: crew("a", "severe"), tasks: 3, result: `{"step":"2","again":false}`,
		steps: func() []*core.ChartStep {
			return []*core.ChartStep{assign("a"), approve("severe", core.OnRejectContinue, 0), assign("a")}
		}},
	{name: "gate", roles: crew("a", "severe"), status: core.ExecutionFailed, code: core.CodeApprovalRejected, tasks: 2,
		steps: func() []*core.ChartStep {
			return []*core.ChartStep{assign("a"), approve("severe", core.OnRejectFail, 0), assign("a")}
		}},
	{name: "retry", roles: crew("a", "strict"), tasks: 4, result: `{"approved":true,"verdict":"approve","confidence":0.9,"feedback":"good","reviewer":"strict","agentId":"*"}`,
		steps: func() []*core.ChartStep {
			return []*core.ChartStep{assign("a"), approve("strict", core.OnRejectRetry, 2)}
		}},
	{name: "retry whole", roles: crew("a", "strict"), tasks: 10, result: `{"step":"3","again":false}`,
		steps: func() []*core.ChartStep {
			return []*core.ChartStep{assign("a"), sequential(parallel(many(2, "a")...), review("a")), approve("strict", core.OnRejectRetry, 2), assign("a")}
		}},
	{name: "retries used up", roles: crew("a", "severe"), status: core.ExecutionFailed, code: core.CodeApprovalRejected, tasks: 6,
		steps: func() []*core.ChartStep {
			return []*core.ChartStep{assign("a"), approve("severe", core.OnRejectRetry, 2)}
		}},
	{name: "aggregate", roles: crew("a"), tasks: 3, result: `{"count":3}`,
		steps: func() []*core.ChartStep { return []*core.ChartStep{parallel(many(3, "a")...), aggregate()} }},
	{name: "then", roles: crew("a"), tasks: 2, result: `{"step":"1.0","again":false}`,
		steps: func() []*core.ChartStep {
			return []*core.ChartStep{assign("a"), condition("yes", assign("a"), assign("a"))}
		}},
	{name: "else", roles: crew("a"), tasks: 2, result: `{"step":"1.1","again":false}`,
		steps: func() []*core.ChartStep {
			return []*core.ChartStep{assign("a"), condition("no", assign("a"), assign("a"))}
		}},
	{name: "neither", roles: crew("a"), tasks: 1, result: `null`,
		steps: func() []*core.ChartStep {
			return []*core.ChartStep{assign("a"), condition("no", assign("a"), nil)}
		}},
	{name: "no task", roles: crew("a"), result: `null`,
		steps: func() []*core.ChartStep { return []*core.ChartStep{condition("no", assign("a"), nil)} }},
	{name: "flaky", roles: crew("a", "flaky"), tasks: 3, result: `{"step":"2","again":false}`,
		steps: func() []*core.ChartStep { return []*core.ChartStep{assign("a"), assign("flaky"), assign("a")} }},
	{name: "broken", roles: crew("a", "broken"), status: core.ExecutionFailed, code: core.CodeAgentError, tasks: 1,
		steps: func() []*core.ChartStep { return []*core.ChartStep{assign("a"), assign("broken"), assign("a")} }},
	{name: "unresolvable", roles: crew("a"), status: core.ExecutionFailed, code: core.CodeValidation, tasks: 1,
		steps: func() []*core.ChartStep {
			step := assign("a")
			step.Name = "unresolvable"
			return []*core.ChartStep{assign("a"), step}
		}},
	{name: "bad check", roles: crew("a"), status: core.ExecutionFailed, code: core.CodeValidation, tasks: 1,
		steps: func() []*core.ChartStep {
			return []*core.ChartStep{assign("a"), condition("unresolvable", assign("a"), nil)}
		}},
}

const chartAgents = 6

func chartRig(tb testing.TB, store *memory) *rig {
	r := newRig(tb)
	if store != nil {
		r.store = store
	}
	for _, life := range chartLives {
		r.chart(life.name, slices.Clone(life.roles), life.steps()...)
	}
	for i := range chartAgents {
		r.agents.add(fmt.Sprintf("agent%d", i), 1)
	}
	return r
}

// sameAgent makes results equal whoever gave them.
func sameAgent(text string) string {
	for i := range chartAgents {
		text = strings.ReplaceAll(text, fmt.Sprintf(`"agentId":"agent%d"`, i), `"agentId":"*"`)
	}
	return text
}

func chartOutcome(e *core.Execution) string {
	results := []string{}
	for _, a := range e.Agents {
		if a.Status == "completed" {
			results = append(results, fmt.Sprintf("%s %s", a.Step, sameAgent(string(a.Result))))
		}
	}
	slices.SortFunc(results, cmp.Compare)
	code := core.Code("")
	if e.Error != nil {
		code = e.Error.Code
	}
	return fmt.Sprintf("%s %s %s %d %q", e.Status, sameAgent(string(e.Result)), code, e.Workflow.StepsExecuted, results)
}

// idle says what is left behind of executions that are over, or "".
func (r *rig) left() string {
	if s := r.Stats(); s.Active != 0 || s.Running != 0 || s.Waiting != 0 {
		return fmt.Sprintf("the engine keeps %+v", s)
	}
	for i := range chartAgents {
		if n := r.agents.free(fmt.Sprintf("agent%d", i)); n != 1 {
			return fmt.Sprintf("agent%d has %d free slots of 1", i, n)
		}
	}
	if n := r.clock.Pending(); n != 0 {
		return fmt.Sprintf("%d timers run", n)
	}
	return ""
}

func TestChartSteps(t *testing.T) {
	for _, life := range chartLives {
		t.Run(life.name, func(t *testing.T) {
			r := chartRig(t, nil).open()
			r.autoChart()
			got := r.wait(r.start(life.name).ID)
			if want := cmp.Or(life.status, core.ExecutionCompleted); got.Status != want || (life.code != "" && got.Error.Code != life.code) {
				t.Fatalf("got %s, %+v, want %s %s", got.Status, got.Error, want, life.code)
			}
			if life.result != "" && sameAgent(string(got.Result)) != life.result {
				t.Errorf("got  %s\nwant %s", got.Result, life.result)
			}
			if n := r.store.count(got.ID, core.EventTaskCompleted); n != life.tasks {
				t.Errorf("%d answers, want %d: %v", n, life.tasks, r.store.types(got.ID))
			}
			if n := r.store.count(got.ID, core.EventExecutionStarted); n != 1 {
				t.Errorf("started %d times", n)
			}
			if types := r.store.types(got.ID); types[0] != core.EventExecutionStarted {
				t.Errorf("streams do not begin with started: %v", types)
			}
			if b, l := r.store.count(got.ID, core.EventRoleBound), r.store.count(got.ID, core.EventRoleReleased); b == 0 || b != l {
				t.Errorf("%d instances bound and %d released", b, l)
			}
			if got.Workflow == nil || got.Status == core.ExecutionCompleted && (got.Workflow.StepsExecuted != len(life.steps()) || len(got.Workflow.Steps) != len(life.steps())) {
				t.Errorf("the report is %+v", got.Workflow)
			}
			coretest.WaitFor(t, "nothing left: "+r.left(), func() bool { return r.left() == "" })
		})
	}
}

// TestChartEveryPrefix crashes org charts after every single event, takes them up from what is stored then, and
// compares how they end with an execution that nobody disturbed. Finished steps are not repeated.
func TestChartEveryPrefix(t *testing.T) {
	for _, life := range chartLives {
		t.Run(life.name, func(t *testing.T) {
			r := chartRig(t, nil).open()
			var id string
			var crashes []*memory
			r.store.onCommit = func(int) {
				r.store.mu.Lock()
				for id = range r.store.executions {
				}
				n, before := len(r.store.events[id]), 0
				over := r.store.executions[id].Status.Terminal()
				r.store.mu.Unlock()
				if len(crashes) > 0 {
					before = len(crashes[len(crashes)-1].events[id])
				}
				if over {
					return
				}
				for i := before + 1; i <= n; i++ {
					crashes = append(crashes, r.store.upTo(id, i))
				}
			}
			want := r.chartOneByOne(r.start(life.name).ID)
			r.Close()
			for i, left := range crashes {
				again := chartRig(t, left)
				done := again.finishedSteps(id)
				again.autoChart()
				again.open()
				got := again.wait(id)
				if x, y := chartOutcome(got), chartOutcome(want); x != y {
					t.Errorf("crash %d: got  %s\nwant %s\njournal %v", i, x, y, again.store.types(id))
				}
				after := again.finishedSteps(id)
				for step, n := range after {
					if n > 1 {
						t.Errorf("crash %d: step %s was finished %d times", i, step, n)
					}
				}
				if x, y := after, r.finishedSteps(id); len(x) != len(y) || len(done) > len(after) {
					t.Errorf("crash %d: finished %v, want %v", i, x, y)
				}
				coretest.WaitFor(t, "an engine that keeps nothing", func() bool {
					s := again.Stats()
					return s.Active == 0 && s.Running == 0 && s.Waiting == 0 && again.clock.Pending() == 0
				})
				again.Close()
			}
		})
	}
}

// finishedSteps counts the ends of steps in a journal, by step and round.
func (r *rig) finishedSteps(id string) map[string]int {
	r.store.mu.Lock()
	defer r.store.mu.Unlock()
	list := map[string]int{}
	for _, ev := range r.store.events[id] {
		var d struct {
			Step  string
			Round int
		}
		if ev.Type == core.EventStepCompleted && json.Unmarshal(ev.Data, &d) == nil {
			list[fmt.Sprint(d.Step, "#", d.Round)]++
		}
	}
	return list
}

// chartOneByOne answers tasks one after the other, so that each answer is a commit.
func (r *rig) chartOneByOne(id string) *core.Execution {
	r.tb.Helper()
	answered := map[string]bool{}
	for {
		settled, sent, over := r.agents.settledCount(), false, false
		coretest.WaitFor(r.tb, "a task or the end of "+id, func() bool {
			for _, h := range r.agents.held() {
				key := fmt.Sprint(h.task.ID, h.task.Attempt)
				if answered[key] || sent {
					continue
				}
				answered[key], sent = true, true
				result, failure := r.chartSay(h.task)
				r.agents.report(h.agent, h.task, result, failure)
			}
			e, err := r.store.FindExecution(r.tb.Context(), id)
			over = err == nil && e.Status.Terminal()
			return sent || over
		})
		if over {
			return r.wait(id)
		}
		coretest.WaitFor(r.tb, "the answer to be settled", func() bool { return r.agents.settledCount() > settled })
	}
}

// A parallel of 200 goes out in one change when there are agents, and in line when there are not.
func TestChartWide(t *testing.T) {
	for _, slots := range []int{200, 7} {
		t.Run(fmt.Sprint(slots), func(t *testing.T) {
			r := newRig(t).open()
			r.chart("wide", crew("a"), parallel(many(200, "a")...), aggregate())
			r.agents.add("x", slots)
			exec := r.start("wide")
			commits := r.store.commits
			if held := r.agents.await(t, slots); commits > 1 || len(held) != slots {
				t.Errorf("%d tasks in %d changes", len(held), commits)
			}
			r.autoChart()
			for _, h := range r.agents.held() {
				result, failure := r.chartSay(h.task)
				r.agents.report(h.agent, h.task, result, failure)
			}
			if got := r.wait(exec.ID); string(got.Result) != `{"count":200}` {
				t.Errorf("got %s %s %+v", got.Status, got.Result, got.Error)
			}
			coretest.WaitFor(t, "free slots", func() bool { return r.agents.free("x") == slots })
		})
	}
}

// A workflow of 10,000 steps completes, and is resumed in its middle.
func TestChartLong(t *testing.T) {
	const n = 10000
	r := newRig(t).open()
	r.config.TaskTimeout = stdtime.Hour
	r.chart("long", crew("a", "b"), many(n, "a")...)
	r.agents.add("x", 1)
	r.agents.add("y", 1)
	r.autoChart()
	r.store.refuseAt = n / 2
	began := stdtime.Now()
	exec := r.start("long")
	coretest.WaitFor(t, "half of the steps", func() bool {
		r.store.mu.Lock()
		defer r.store.mu.Unlock()
		return r.store.refused > 0
	})
	r.Close()
	r.store.setRefuse(nil)
	r.open()
	got := r.wait(exec.ID)
	if got.Status != core.ExecutionCompleted || got.Workflow.StepsExecuted != n || len(got.Agents) != n {
		t.Errorf("got %s with %d steps and %d answers", got.Status, got.Workflow.StepsExecuted, len(got.Agents))
	}
	t.Logf("%v for %d steps", stdtime.Since(began), n)
}
