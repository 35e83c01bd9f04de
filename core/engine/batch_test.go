package engine_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

func TestBatch(t *testing.T) {
	inputs := func(n int, bad ...int) []json.RawMessage {
		list := make([]json.RawMessage, n)
		for i := range list {
			list[i] = json.RawMessage(fmt.Sprintf(`{"text":"item %d"}`, i))
			if slices.Contains(bad, i) {
				list[i] = json.RawMessage(`{"text":"bad"}`)
			}
		}
		return list
	}
	await := func(t *testing.T, r *rig, id string) *core.Batch {
		var b *core.Batch
		coretest.WaitFor(t, "the batch to end", func() bool {
			b, _ = r.FindBatch(t.Context(), id)
			return b.Status.Terminal()
		})
		return b
	}
	t.Run("a bad item fails alone", func(t *testing.T) {
		r := newRig(t)
		r.agents.add("a", 3)
		r.agents.echo()
		r.open()
		r.pattern("p", core.Step{})
		b, err := r.StartBatch(t.Context(), core.BatchRequest{Pattern: "p", Inputs: inputs(20, 7)})
		if err != nil {
			t.Fatal(err)
		}
		got := await(t, r, b.ID)
		if got.Status != core.BatchCompleted || got.Completed != 19 || got.Failed != 1 || len(got.Results) != 20 {
			t.Errorf("got %s %d/%d with %d results", got.Status, got.Completed, got.Failed, len(got.Results))
		}
		if bad := got.Results[7]; bad.Index != 7 || bad.Error == nil || bad.Error.Code != core.CodeValidation {
			t.Errorf("item 7 is %+v", bad)
		}
	})
	t.Run("stopOnError", func(t *testing.T) {
		r := newRig(t)
		r.agents.add("a", 1)
		r.agents.echo()
		r.open()
		r.pattern("p", core.Step{})
		b, err := r.StartBatch(t.Context(), core.BatchRequest{Pattern: "p", Inputs: inputs(20, 3), StopOnError: true, Concurrency: 1})
		if err != nil {
			t.Fatal(err)
		}
		got := await(t, r, b.ID)
		if got.Status != core.BatchFailed || got.Completed != 3 || got.Results[19].Status != core.ExecutionCancelled {
			t.Errorf("got %s, %d completed, last item %+v", got.Status, got.Completed, got.Results[len(got.Results)-1])
		}
	})
	t.Run("cancel", func(t *testing.T) {
		r := newRig(t)
		r.agents.add("a", 2)
		r.open()
		r.pattern("p", core.Step{})
		b, err := r.StartBatch(t.Context(), core.BatchRequest{Pattern: "p", Inputs: inputs(9)})
		if err != nil {
			t.Fatal(err)
		}
		r.agents.await(t, 2)
		got, err := r.CancelBatch(t.Context(), b.ID)
		if err != nil || got.Status != core.BatchCancelled || len(r.store.batchResults(b.ID)) != 9 {
			t.Fatalf("got %+v, %v", got, err)
		}
		if again, err := r.CancelBatch(t.Context(), b.ID); err != nil || again.Status != core.BatchCancelled {
			t.Errorf("the second cancel gave %v", err)
		}
	})
	t.Run("goes on after a restart", func(t *testing.T) {
		r := newRig(t)
		r.agents.add("a", 2)
		r.open()
		r.pattern("p", core.Step{})
		b, err := r.StartBatch(t.Context(), core.BatchRequest{Pattern: "p", Inputs: inputs(30)})
		if err != nil {
			t.Fatal(err)
		}
		for range 7 {
			held := r.agents.await(t, 2)[0]
			r.agents.report(held.agent, held.task, `1`, nil)
			coretest.WaitFor(t, "the task to leave", func() bool {
				return !slices.ContainsFunc(r.agents.held(), func(h handed) bool { return h.task.ID == held.task.ID })
			})
		}
		r.Close()
		held := r.agents.held()
		r.agents.mu.Lock()
		r.agents.inbox = nil
		r.agents.mu.Unlock()
		r.open()
		coretest.WaitFor(t, "the tasks that were out to be out again", func() bool {
			now := r.agents.held() // and perhaps one that follows
			return !slices.ContainsFunc(held, func(was handed) bool {
				return !slices.ContainsFunc(now, func(h handed) bool { return h.task.ID == was.task.ID })
			})
		})
		for _, h := range r.agents.echo() {
			r.agents.report(h.agent, h.task, `1`, nil)
		}
		if got := await(t, r, b.ID); got.Completed != 30 {
			t.Errorf("%d of 30 completed", got.Completed)
		}
		for id, n := range r.agents.handled {
			if n != 1 {
				t.Errorf("task %s was worked on %d times", id, n)
			}
		}
	})
	t.Run("refused whole", func(t *testing.T) {
		r := newRig(t).open()
		r.pattern("p", core.Step{})
		for _, req := range []core.BatchRequest{
			{Pattern: "p"}, {Pattern: "p", Inputs: inputs(1001)}, {Pattern: "p", Inputs: inputs(1), Concurrency: 51},
			{Pattern: "p", Inputs: []json.RawMessage{json.RawMessage("3")}},
		} {
			if _, err := r.StartBatch(t.Context(), req); core.ErrorCode(err) != core.CodeValidation {
				t.Errorf("got %v, want VALIDATION_ERROR", err)
			}
		}
	})
}
