package engine_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	stdtime "time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

// lives are executions whose outcome does not hang on who answers when: agents answer by step, round and
// attempt alone.
var lives = []struct {
	name    string
	steps   []core.Step
	timeout int64
}{
	{name: "steps", steps: []core.Step{{ID: "one", Min: 2, WaitForAll: true}, {ID: "two", Min: 3, WaitForAll: true}, {ID: "three"}}},
	{name: "single", steps: []core.Step{{Min: 3, WaitForAll: true}}},
	{name: "sequential", steps: []core.Step{{ID: "one", Min: 3, WaitForAll: true, Strategy: core.StepSequential}, {ID: "two"}}},
	{name: "race", steps: []core.Step{{ID: "one", Min: 1, Max: 3, Strategy: core.StepRace}, {ID: "two"}}},
	{name: "lost race", steps: []core.Step{{ID: "never", Min: 1, Max: 3, Strategy: core.StepRace, MinConfidence: 0.7,
		OnInvalid: core.OnInvalidFallback, Fallback: json.RawMessage(`"plan b"`)}, {ID: "two"}}},
	{name: "rounds", steps: []core.Step{{ID: "low", Min: 2, WaitForAll: true, MinConfidence: 0.7, OnInvalid: core.OnInvalidRetry, MaxRetries: 3}, {ID: "two"}}},
	{name: "fallback", steps: []core.Step{
		{ID: "never", Min: 2, WaitForAll: true, MinConfidence: 0.7, OnInvalid: core.OnInvalidFallback, Fallback: json.RawMessage(`"plan b"`)}, {ID: "two"}}},
	{name: "invalid", steps: []core.Step{{ID: "one"}, {ID: "never", Min: 2, WaitForAll: true, MinConfidence: 0.7}}},
	{name: "composed", steps: []core.Step{{ID: "one"}, {ID: "inner", Compose: &core.Composition{Name: "steps"}}, {ID: "last", Min: 2, WaitForAll: true}}},
	{name: "nested", steps: []core.Step{{ID: "outer", Compose: &core.Composition{Name: "composed"}}, {ID: "r", Compose: &core.Composition{Name: "rounds"}}}},
	{name: "attempts", steps: []core.Step{{ID: "flaky", Min: 2, WaitForAll: true}, {ID: "two"}}},
	{name: "broken", steps: []core.Step{{ID: "one", Min: 2, WaitForAll: true}, {ID: "broken", Min: 2, WaitForAll: true}}},
}

func lifeRig(tb testing.TB, store *memory) *rig {
	r := newRig(tb)
	if store != nil {
		r.store = store
	}
	for _, life := range lives {
		r.pattern(life.name, slices.Clone(life.steps)...)
	}
	for _, id := range []string{"a", "b", "c", "d"} {
		r.agents.add(id, 2)
	}
	return r
}

// say is what every agent answers to a task.
func (r *rig) say(task core.Task) (string, *core.TaskError) {
	switch last := task.Step[max(0, lastSlash(task.Step)):]; {
	case last == "flaky" && task.Attempt == 1, last == "broken":
		return "", &core.TaskError{Code: "TRY_AGAIN", Message: "not today", Retryable: true}
	case last == "never", last == "low" && r.store.round(task) < 2:
		return fmt.Sprintf(`{"step":%q,"confidence":0.2}`, task.Step), nil
	}
	return fmt.Sprintf(`{"step":%q,"confidence":0.9}`, task.Step), nil
}

func lastSlash(path string) int {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '/' {
			return i + 1
		}
	}
	return 0
}

// round reads from the journal in which round of its step a task was handed out.
func (m *memory) round(task core.Task) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, ev := range m.events[task.ExecutionID] {
		var d struct {
			Round int
			Tasks []struct{ TaskID string }
		}
		if ev.Type != core.EventTaskAssigned || json.Unmarshal(ev.Data, &d) != nil {
			continue
		}
		for _, t := range d.Tasks {
			if t.TaskID == task.ID {
				return d.Round
			}
		}
	}
	return -1
}

// auto makes all agents answer at once.
func (r *rig) auto() {
	r.agents.mu.Lock()
	r.agents.answer = func(_ string, task core.Task) (string, *core.TaskError) { return r.say(task) }
	r.agents.mu.Unlock()
}

// oneByOne answers tasks one after the other until the execution is over, so that each answer is a commit.
// While the store refuses, time goes on in steps of pass.
func (r *rig) oneByOne(id string, pass stdtime.Duration) *core.Execution {
	r.tb.Helper()
	answered := map[string]bool{}
	for {
		settled := r.agents.settledCount()
		sent, over := false, false
		coretest.WaitFor(r.tb, "a task or the end of "+id, func() bool {
			r.passTime(pass)
			for _, h := range r.agents.held() {
				key := fmt.Sprint(h.task.ID, h.task.Attempt)
				if answered[key] || sent {
					continue
				}
				answered[key], sent = true, true
				result, failure := r.say(h.task)
				r.agents.report(h.agent, h.task, result, failure)
			}
			e, err := r.store.FindExecution(r.tb.Context(), id)
			over = err == nil && e.Status.Terminal()
			return sent || over
		})
		if over {
			return r.wait(id)
		}
		coretest.WaitFor(r.tb, "the answer to be settled", func() bool {
			r.passTime(pass)
			return r.agents.settledCount() > settled
		})
	}
}

// stillLooks is after how many looks without a commit everything counts as waiting for time to pass.
const stillLooks = 20

// passTime ends a refusal once somebody met it and waits, and lets time go on meanwhile.
func (r *rig) passTime(pass stdtime.Duration) {
	if pass == 0 {
		return
	}
	r.store.mu.Lock()
	met := r.store.refused > 0 && r.store.refuse != nil
	if r.still++; r.store.commits != r.seen {
		r.still, r.seen = 0, r.store.commits
	}
	// Who was refused waits, and so does all that follows from it; others may have gone on for a while.
	waiting := r.store.refused > 0 && (r.store.commits == r.store.refusedAt || r.still > stillLooks)
	if met {
		r.store.refuse = nil
	}
	r.store.mu.Unlock()
	if waiting {
		r.clock.Advance(pass)
	}
}

// outcome is what two lives of an execution must have in common.
func outcome(e *core.Execution) string {
	agents := []string{}
	for _, a := range e.Agents {
		if a.Status == "completed" { // who else was at work at a failure hangs on the moment
			agents = append(agents, fmt.Sprintf("%s %s %s", a.Step, a.Status, a.Result))
		}
	}
	slices.SortFunc(agents, cmp.Compare)
	code := core.Code("")
	if e.Error != nil {
		code = e.Error.Code
	}
	return fmt.Sprintf("%s %s %s %q", e.Status, e.Result, code, agents)
}

// disturbed says what a life that ended as it should left behind, or "".
func (r *rig) disturbed() string {
	if s := r.Stats(); s.Active != 0 || s.Running != 0 || s.Waiting != 0 {
		return fmt.Sprintf("the engine keeps %+v", s)
	}
	for _, id := range []string{"a", "b", "c", "d"} {
		if n := r.agents.free(id); n != 2 {
			return fmt.Sprintf("agent %s has %d free slots of 2", id, n)
		}
	}
	if n := r.clock.Pending(); n != 0 {
		return fmt.Sprintf("%d timers run", n)
	}
	return ""
}

// TestEveryRefusal lets the store refuse writes at every commit of an execution and
// compares how it ends, and its journal, with an execution that nobody disturbed.
func TestEveryRefusal(t *testing.T) {
	for _, life := range lives {
		t.Run(life.name, func(t *testing.T) {
			r := lifeRig(t, nil).open()
			want := r.oneByOne(r.start(life.name).ID, 0)
			commits := r.store.commits
			coretest.WaitFor(t, "the end", func() bool { return r.disturbed() == "" })
			for n := 1; n <= commits; n++ {
				again := lifeRig(t, nil).open()
				again.store.refuseAt = n
				exec, err := again.Start(t.Context(), core.ExecuteRequest{Pattern: life.name, Input: json.RawMessage(`{"text":"hello"}`)})
				if n == 1 {
					if err == nil || !core.AsError(err).Unavailable || again.disturbed() != "" {
						t.Fatalf("refused start: got %v, %s", err, again.disturbed())
					}
					again.store.setRefuse(nil)
					exec = again.start(life.name)
				} else if err != nil {
					t.Fatal(err)
				}
				got := again.oneByOne(exec.ID, stdtime.Second)
				if x, y := outcome(got), outcome(want); x != y {
					t.Errorf("refusal at %d: got  %s\nwant %s", n, x, y)
				}
				if x, y := again.store.types(exec.ID), r.store.types(want.ID); !slices.Equal(x, y) {
					t.Errorf("refusal at %d: journal %v\nwant %v", n, x, y)
				}
				coretest.WaitFor(t, "the end: "+again.disturbed(), func() bool { return again.disturbed() == "" })
				again.Close()
			}
		})
	}
}

// TestEveryPrefix crashes executions after every transaction and every single event, takes them up from what
// is stored then, and compares how they end with an execution that nobody disturbed.
func TestEveryPrefix(t *testing.T) {
	for _, life := range lives {
		t.Run(life.name, func(t *testing.T) {
			r := lifeRig(t, nil).open()
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
			want := r.oneByOne(r.start(life.name).ID, 0)
			r.Close()
			if len(crashes) < 3 {
				t.Fatalf("only %d places to crash", len(crashes))
			}
			for i, left := range crashes {
				again := lifeRig(t, left)
				finished := again.store.count(id, core.EventStepCompleted)
				again.auto()
				again.open()
				got := again.wait(id)
				if x, y := outcome(got), outcome(want); x != y {
					t.Errorf("crash %d: got  %s\nwant %s\njournal %v", i, x, y, again.store.types(id))
				}
				if n := again.store.count(id, core.EventStepCompleted); n < finished || n != r.store.count(id, core.EventStepCompleted) {
					t.Errorf("crash %d: %d steps in the journal", i, n)
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
