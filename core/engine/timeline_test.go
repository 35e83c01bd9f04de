package engine_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	stdtime "time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

// A timeline of an execution that runs ends at now, and one of an execution that is over at its end.
func TestTimeline(t *testing.T) {
	r := newRig(t).open()
	r.pattern("p", core.Step{ID: "draft"}, core.Step{ID: "edit"})
	r.agents.add("a", 1)
	if _, err := r.Timeline(t.Context(), "exec_none"); core.ErrorCode(err) != core.CodeNotFound {
		t.Errorf("got %v for an unknown execution, want NOT_FOUND", err)
	}
	exec := r.start("p")
	first := r.agents.await(t, 1)[0]
	r.clock.Advance(3 * stdtime.Second)
	got, err := r.Timeline(t.Context(), exec.ID)
	if err != nil {
		t.Fatal(err)
	}
	if got.Status != core.ExecutionRunning || got.Duration != 3000 || len(got.Entries) != 2 || got.LastSequence == 0 ||
		got.Pattern.Name != "p" || got.ExecutionID != exec.ID || got.StartedAt == nil || got.CompletedAt != nil {
		t.Fatalf("got %+v", got)
	}
	step, task := got.Entries[0], got.Entries[1]
	if step.Kind != core.TimelineStep || step.ID != "draft" || step.Status != "running" || step.Duration != 3000 || step.EndedAt != nil {
		t.Errorf("the step is %+v", step)
	}
	if task.Kind != core.TimelineTask || task.ID != first.task.ID || task.Step != "draft" || task.AgentID != "a" || task.Attempt != 1 {
		t.Errorf("the task is %+v", task)
	}
	r.agents.report("a", first.task, `1`, nil)
	coretest.WaitFor(t, "the second task", func() bool {
		held := r.agents.held()
		return len(held) == 1 && held[0].task.ID != first.task.ID
	})
	second := r.agents.held()[0]
	r.clock.Advance(2 * stdtime.Second)
	r.agents.report("a", second.task, `2`, nil)
	r.wait(exec.ID)
	r.clock.Advance(stdtime.Hour)
	over, err := r.Timeline(t.Context(), exec.ID)
	if err != nil || over.Status != core.ExecutionCompleted || over.Duration != 5000 || len(over.Entries) != 4 || over.LastSequence <= got.LastSequence {
		t.Fatalf("got %+v, %v", over, err)
	}
	for i, want := range []string{"step draft completed 3000", "task draft completed 3000", "step edit completed 2000", "task edit completed 2000"} {
		e := over.Entries[i]
		where := e.Step
		if e.Kind == core.TimelineStep {
			where = e.ID
		}
		if line := fmt.Sprintf("%s %s %s %d", e.Kind, where, e.Status, e.Duration); line != want {
			t.Errorf("entry %d is %s, want %s", i, line, want)
		}
	}
	if _, err := json.Marshal(over); err != nil {
		t.Error(err)
	}
}

// A journal of more than one page is read to its end.
func TestTimelineOfManyTasks(t *testing.T) {
	r := newRig(t).open()
	const n = 1200
	r.pattern("p", core.Step{Min: n})
	for i := range n {
		r.agents.add(fmt.Sprint("a", i), 1)
	}
	r.agents.echo()
	exec := r.wait(r.start("p").ID)
	got, err := r.Timeline(t.Context(), exec.ID)
	if err != nil || len(got.Entries) != n {
		t.Fatalf("%d entries, %v, want %d", len(got.Entries), err, n)
	}
	for _, e := range got.Entries {
		if e.Status != "completed" {
			t.Fatalf("got %+v", e)
		}
	}
}

// A task tells what its agent was asked, as it was sent, and what came of each attempt.
func TestFindTask(t *testing.T) {
	r := newRig(t).open()
	r.pattern("p", core.Step{ID: "draft"}, core.Step{ID: "edit"})
	r.agents.add("a", 1)
	exec := r.start("p")
	first := r.agents.await(t, 1)[0]
	if _, err := r.FindTask(t.Context(), exec.ID, "task_none"); core.ErrorCode(err) != core.CodeNotFound {
		t.Errorf("got %v for an unknown task, want NOT_FOUND", err)
	}
	got, err := r.FindTask(t.Context(), exec.ID, first.task.ID)
	if err != nil || got.Status != "running" || got.Step != "draft" || len(got.Attempts) != 1 || got.Asked == nil || string(got.Asked.Input) != string(first.task.Input) {
		t.Fatalf("got %+v, %v", got, err)
	}
	before, err := r.Timeline(t.Context(), exec.ID)
	if err != nil {
		t.Fatal(err)
	}
	r.agents.report("a", first.task, `{"text":"one"}`, nil)
	coretest.WaitFor(t, "the second task", func() bool {
		held := r.agents.held()
		return len(held) == 1 && held[0].task.ID != first.task.ID
	})
	second := r.agents.held()[0]
	if got, err = r.FindTask(t.Context(), exec.ID, first.task.ID); err != nil || got.Status != "completed" || string(got.Result) != `{"text":"one"}` {
		t.Fatalf("got %+v, %v", got, err)
	}
	got, err = r.FindTask(t.Context(), exec.ID, second.task.ID)
	if err != nil || got.Asked == nil || string(got.Asked.Input) != string(second.task.Input) || string(got.Asked.Context) != string(second.task.Context) {
		t.Fatalf("got %+v, %v; sent %s with %s", got.Asked, err, second.task.Input, second.task.Context)
	}
	after, err := r.Timeline(t.Context(), exec.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range after.Entries {
		if changed := e.Sequence > before.LastSequence; e.FirstSequence == 0 || !changed {
			t.Errorf("%+v is as it was at %d", e, before.LastSequence)
		}
	}
	r.agents.report("a", second.task, `{"text":"two"}`, nil)
	r.wait(exec.ID)
}

// A step of an org chart has its runs, its result and its tasks, as the engine journals them.
func TestFindStep(t *testing.T) {
	r := chartRig(t, nil)
	r.chart("revised", crew("a", "strict"), parallel(assign("a"), assign("a")), approve("strict", core.OnRejectRetry, 2))
	r.open()
	r.autoChart()
	exec := r.wait(r.start("revised").ID)
	if exec.Status != core.ExecutionCompleted {
		t.Fatalf("got %+v", exec)
	}
	for path, want := range map[string]string{
		"0":   `completed, 2 runs, [0.0 0.1], [a], 0 tasks, [{"step":"0.0","again":true},{"step":"0.1","again":true}]`,
		"0.1": `completed, 2 runs, [], [a], 2 tasks, {"step":"0.1","again":true}`,
		"1":   `completed, 2 runs, [], [strict], 2 tasks, {"approved":true,"verdict":"approve","confidence":0.9,"feedback":"good","reviewer":"strict","agentId":"*"}`,
	} {
		step, err := r.FindStep(t.Context(), exec.ID, path)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%s, %d runs, %v, %v, %d tasks, %s", step.Status, len(step.Runs), step.Steps, step.Roles, len(step.Tasks), sameAgent(string(step.Result))); got != want {
			t.Errorf("step %s is %s, want %s", path, got, want)
		}
		for i := range step.Tasks {
			task, err := r.FindTask(t.Context(), exec.ID, step.Tasks[i].TaskID)
			if err != nil || task.Asked == nil || !reflect.DeepEqual(*task, step.Tasks[i]) {
				t.Errorf("the task is %+v among those of its step, and %+v by itself, %v", step.Tasks[i], task, err)
			}
		}
	}
}

// What is over is deleted, and told of; nothing else is.
func TestDelete(t *testing.T) {
	r := newRig(t).open()
	r.pattern("p", core.Step{ID: "draft"})
	r.agents.add("a", 1)
	exec := r.start("p")
	task := r.agents.await(t, 1)[0]
	if err := r.Delete(t.Context(), exec.ID); core.ErrorCode(err) != core.CodeConflict {
		t.Errorf("got %v for one that runs", err)
	}
	if err := r.Delete(t.Context(), "exec_none"); core.ErrorCode(err) != core.CodeNotFound {
		t.Errorf("got %v for an unknown one", err)
	}
	r.agents.report("a", task.task, `{}`, nil)
	r.wait(exec.ID)
	if err := r.Delete(t.Context(), exec.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := r.FindExecution(t.Context(), exec.ID); core.ErrorCode(err) != core.CodeNotFound {
		t.Errorf("got %v", err)
	}
	r.store.mu.Lock()
	defer r.store.mu.Unlock()
	if len(r.store.deleted) != 1 || r.store.deleted[0].Type != core.EventExecutionDeleted || r.store.deleted[0].Subject != exec.ID {
		t.Errorf("told %+v", r.store.deleted)
	}
}
