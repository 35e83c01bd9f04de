package engine_test

import (
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

// TestRerunFromEveryStep runs every life again from each of its steps, and again from there: the outcome is
// the same, and nobody works on a step that is kept.
func TestRerunFromEveryStep(t *testing.T) {
	for _, life := range lives {
		t.Run(life.name, func(t *testing.T) {
			r := lifeRig(t, nil)
			r.auto()
			r.open()
			want := r.wait(r.start(life.name).ID)
			if want.Status != core.ExecutionCompleted || len(life.steps) < 2 {
				t.Skip("has no steps to run again from")
			}
			from := want
			for i := len(life.steps) - 1; i >= 0; i-- {
				again, err := r.Rerun(t.Context(), from.ID, life.steps[i].ID)
				if err != nil {
					t.Fatal(err)
				}
				got := r.wait(again.ID)
				if x, y := outcome(got), outcome(want); x != y {
					t.Errorf("rerun from %q: got  %s\nwant %s", life.steps[i].ID, x, y)
				}
				steps := r.store.count(again.ID, core.EventStepCompleted)
				if n := r.store.count(want.ID, core.EventStepCompleted); steps != n {
					t.Errorf("rerun from %q: %d steps in the journal, want %d", life.steps[i].ID, steps, n)
				}
				from = got
			}
		})
	}
}

// A rerun of an execution whose answers were not good enough asks the agents anew.
func TestRerunAfterInvalidAnswers(t *testing.T) {
	r := newRig(t)
	r.agents.add("a", 2)
	r.agents.echo() // with little confidence
	r.pattern("p", core.Step{ID: "one"}, core.Step{ID: "two", MinConfidence: 0.8})
	r.open()
	failed := r.wait(r.start("p").ID)
	if failed.Error == nil || failed.Error.Code != core.CodeValidation {
		t.Fatalf("got %s, %v", failed.Status, failed.Error)
	}
	r.agents.mu.Lock()
	r.agents.answer = func(string, core.Task) (string, *core.TaskError) { return `{"confidence":0.9}`, nil }
	r.agents.mu.Unlock()
	again, err := r.Rerun(t.Context(), failed.ID, "")
	if err != nil {
		t.Fatal(err)
	}
	if got := r.wait(again.ID); got.Status != core.ExecutionCompleted || r.store.count(got.ID, core.EventTaskAssigned) != 1 {
		t.Errorf("got %s, %v with the journal %v", got.Status, got.Error, r.store.types(got.ID))
	}
}

// A rerun that goes on in a step that was refused tells its agent why.
func TestRerunOfRefusedStepHasFeedback(t *testing.T) {
	r := newRig(t)
	r.agents.add("a", 1)
	r.agents.add("b", 1)
	r.open()
	r.chart("p", crew("a", "b"), assign("a"), approve("b", core.OnRejectRetry, 1))
	exec := r.start("p")
	answer := func(result string, failure *core.TaskError) core.Task {
		t.Helper()
		h := r.agents.await(t, 1)[0]
		r.agents.report(h.agent, h.task, result, failure)
		coretest.WaitFor(t, "it to be taken", func() bool {
			for _, o := range r.agents.held() {
				if o.task.ID == h.task.ID {
					return false
				}
			}
			return true
		})
		return h.task
	}
	answer(`"draft"`, nil)
	answer(`{"verdict":"revise","confidence":0.9,"feedback":"too short"}`, nil)
	if task := answer("", &core.TaskError{Message: "out of paper"}); !strings.Contains(string(task.Input), "too short") {
		t.Fatalf("before the rerun: %s", task.Input)
	}
	r.wait(exec.ID)
	again, err := r.Rerun(t.Context(), exec.ID, "")
	if err != nil {
		t.Fatal(err)
	}
	if task := answer(`"long"`, nil); task.Step != "0" || !strings.Contains(string(task.Input), "too short") {
		t.Errorf("step %s got %s", task.Step, task.Input)
	}
	answer(`{"verdict":"approve","confidence":0.9,"feedback":"fine"}`, nil)
	if got := r.wait(again.ID); got.Status != core.ExecutionCompleted {
		t.Errorf("got %s %+v", got.Status, got.Error)
	}
}
