package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	stdtime "time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

// errBroken is the error of a store for a record that it cannot decode.
var errBroken = core.Errorf(core.CodeInternal, "internal error").WithCause(errors.New("exceeded max depth"))

// alarms collects what the engine alerts.
type alarms struct {
	mu   sync.Mutex
	list []string
}

func (a *alarms) raise(subject, _ string, _ map[string]any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.list = append(a.list, subject)
}

func (a *alarms) has(subject string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Contains(a.list, subject)
}

// One execution whose journal cannot be read neither keeps the engine from opening nor others from going on: it ends,
// with an alert.
func TestOpenSetsAsideWhatItCannotRead(t *testing.T) {
	for _, chart := range []bool{false, true} {
		r := newRig(t)
		var seen alarms
		r.alert = seen.raise
		r.agents.add("a", 2)
		r.open()
		r.pattern("p", core.Step{})
		if chart {
			r.chart("p", crew("a"), many(1, "a")...)
		}
		broken, well := r.start("p"), r.start("p")
		r.agents.await(t, 2)
		r.Close()
		r.agents.mu.Lock()
		r.agents.inbox = nil
		r.agents.mu.Unlock()
		r.store.setUnreadable(func(id string) error {
			if id == broken.ID {
				return errBroken
			}
			return nil
		})
		r.agents.echo()
		r.open() // fails the test if it does not open
		if got := r.wait(well.ID); got.Status != core.ExecutionCompleted {
			t.Errorf("chart %t: the other execution is %s: %+v", chart, got.Status, got.Error)
		}
		r.store.setUnreadable(nil)
		coretest.WaitFor(t, "the broken one to end", func() bool {
			got, _ := r.FindExecution(t.Context(), broken.ID)
			return got.Status == core.ExecutionFailed && got.Error.Code == core.CodeInterrupted
		})
		if !seen.has(broken.ID) {
			t.Errorf("chart %t: no alert names it", chart)
		}
	}
}

func TestOpenWithoutBatchesItCannotRead(t *testing.T) {
	r := newRig(t)
	var seen alarms
	r.alert = seen.raise
	r.open()
	r.pattern("p", core.Step{})
	b, err := r.StartBatch(t.Context(), core.BatchRequest{Pattern: "p", Inputs: []json.RawMessage{[]byte(`{}`)}})
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	r.store.setUnreadable(func(id string) error {
		if id == b.ID {
			return errBroken
		}
		return nil
	})
	r.open()
	if !seen.has("batch") {
		t.Error("no alert")
	}
}

// tick moves the clock while a condition does not hold: what pauses goes on.
func (r *rig) tick(what string, ok func() bool) {
	r.tb.Helper()
	coretest.WaitFor(r.tb, what, func() bool {
		r.clock.Advance(100 * stdtime.Millisecond)
		return ok()
	})
}

// A batch reads its items again when a read fails for the moment, and counts one that never can be read as failed.
func TestBatchOutlivesFailedReads(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		reads  int // that fail
		failed int
	}{
		"store opened again": {core.Unavailable("store_failed", "the store is being opened again"), 20, 0},
		"read error once":    {errBroken, 2, 0},
		"undecodable":        {errBroken, 1 << 30, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			var seen alarms
			r.alert = seen.raise
			r.agents.add("a", 1)
			r.open()
			r.pattern("p", core.Step{})
			b, err := r.StartBatch(t.Context(), core.BatchRequest{Pattern: "p", Inputs: []json.RawMessage{[]byte(`{"text":"x"}`)}})
			if err != nil {
				t.Fatal(err)
			}
			item := r.agents.await(t, 1)[0]
			// The item ends while the engine is down, so that the batch must read it when it comes up.
			r.Close()
			exec, _ := r.store.FindExecution(t.Context(), item.task.ExecutionID)
			done := *exec
			done.Status, done.Result = core.ExecutionCompleted, json.RawMessage(`1`)
			if err := r.store.Update(t.Context(), func(tx core.Tx) error { return tx.PutExecution(&done) }); err != nil {
				t.Fatal(err)
			}
			left := c.reads
			r.store.setUnreadable(func(id string) error {
				if id == exec.ID && left > 0 {
					left--
					return c.err
				}
				return nil
			})
			r.open()
			r.tick("the batch to end", func() bool {
				got, err := r.FindBatch(t.Context(), b.ID)
				return err == nil && got.Status.Terminal()
			})
			got, _ := r.FindBatch(t.Context(), b.ID)
			if got.Failed != c.failed || got.Completed != 1-c.failed {
				t.Errorf("got %d completed and %d failed", got.Completed, got.Failed)
			}
			if c.failed > 0 && !seen.has(exec.ID) {
				t.Error("no alert")
			}
		})
	}
}

// While the store is read-only, a cancel is refused and does not hang, for executions and batches.
func TestCancelWhileReadOnly(t *testing.T) {
	r := newRig(t)
	r.agents.add("a", 4)
	r.open()
	r.pattern("p", core.Step{})
	exec := r.start("p")
	b, err := r.StartBatch(t.Context(), core.BatchRequest{Pattern: "p", Inputs: []json.RawMessage{[]byte(`{"text":"x"}`)}})
	if err != nil {
		t.Fatal(err)
	}
	r.agents.await(t, 2)
	coretest.WaitFor(t, "the item to be stored", func() bool {
		got, _ := r.FindBatch(t.Context(), b.ID)
		return len(got.Results) == 1
	})
	r.store.setRefuse(errReadOnly)
	for range 2 { // the second is refused before it changes anything
		if _, err := r.Cancel(t.Context(), exec.ID, "because"); !core.AsError(err).Unavailable {
			t.Fatalf("the cancel of the execution: %v", err)
		}
		if _, err := r.CancelBatch(t.Context(), b.ID); !core.AsError(err).Unavailable {
			t.Fatalf("the cancel of the batch: %v", err)
		}
	}
	r.store.setRefuse(nil)
	r.tick("the cancel to be done", func() bool {
		got, err := r.Cancel(t.Context(), exec.ID, "because")
		return err == nil && got.Status == core.ExecutionCancelled
	})
	r.tick("the batch to be cancelled", func() bool {
		got, err := r.CancelBatch(t.Context(), b.ID)
		return err == nil && got.Status == core.BatchCancelled
	})
}

// waitedOn is a context that closes waits once its end is waited for.
type waitedOn struct {
	context.Context
	once  sync.Once
	waits chan struct{}
}

func (c *waitedOn) Done() <-chan struct{} {
	c.once.Do(func() { close(c.waits) })
	return c.Context.Done()
}

// An execution whose end cannot be stored in any form gives back what it holds, and nobody waits for it.
func TestUnstorableEndIsSetAside(t *testing.T) {
	r := newRig(t)
	var seen alarms
	r.alert = seen.raise
	r.config.MaxActive = 1
	r.agents.add("a", 1)
	r.open()
	r.pattern("p", core.Step{})
	exec := r.start("p")
	held := r.agents.await(t, 1)[0]
	r.store.mu.Lock()
	r.store.unstorable = func(e *core.Execution) bool { return e.ID == exec.ID }
	r.store.mu.Unlock()
	r.agents.echo()
	ctx := &waitedOn{Context: t.Context(), waits: make(chan struct{})}
	ended := make(chan *core.Execution, 1)
	go func() {
		got, err := r.Wait(ctx, exec.ID)
		if err != nil {
			t.Error(err)
		}
		ended <- got
	}()
	<-ctx.waits // else the execution may be set aside before the wait begins
	r.agents.report(held.agent, held.task, `1`, nil)
	if got := <-ended; got == nil || got.Status != core.ExecutionFailed || got.Error.Code != core.CodeInternal {
		t.Errorf("who waited got %+v", got)
	}
	if next := r.wait(r.start("p").ID); next.Status != core.ExecutionCompleted {
		t.Errorf("the next execution is %s: %+v", next.Status, next.Error)
	}
	if !seen.has(exec.ID) {
		t.Error("no alert")
	}
	if _, err := r.Cancel(t.Context(), exec.ID, ""); core.ErrorCode(err) != core.CodeConflict || !strings.Contains(err.Error(), "set aside") {
		t.Errorf("a cancel later: %v", err)
	}
	if stats := r.Stats(); stats.Active != 0 || stats.Running != 0 {
		t.Errorf("%+v", stats)
	}
}

// Results of a batch that come all at once are stored in pieces, and ones that cannot be stored are left out.
func TestBatchRecordsInPieces(t *testing.T) {
	r := newRig(t)
	r.agents.add("a", 100)
	r.open()
	r.pattern("p", core.Step{})
	inputs := make([]json.RawMessage, 20)
	for i := range inputs {
		inputs[i] = json.RawMessage(fmt.Sprintf(`{"n":%d}`, i))
	}
	most := 0
	r.store.mu.Lock()
	r.store.weigh = func(size int) error {
		if most = max(most, size); size > 6<<20 {
			return core.Errorf(core.CodeInternal, "too large")
		}
		return nil
	}
	r.store.mu.Unlock()
	b, err := r.StartBatch(t.Context(), core.BatchRequest{Pattern: "p", Inputs: inputs, Concurrency: 20})
	if err != nil {
		t.Fatal(err)
	}
	answer := `"` + strings.Repeat("x", 1<<20) + `"`
	for _, h := range r.agents.await(t, 20) {
		r.agents.report(h.agent, h.task, answer, nil)
	}
	r.tick("the batch to end", func() bool {
		got, _ := r.FindBatch(t.Context(), b.ID)
		return got.Status.Terminal()
	})
	if got, _ := r.FindBatch(t.Context(), b.ID); got.Completed != 20 || len(got.Results[19].Result) < 1<<20 {
		t.Errorf("got %d completed, the last result of %d bytes", got.Completed, len(got.Results[19].Result))
	}
}

// A result that cannot be stored with its batch is left out, and its row says so; it takes no other with it, is not tried
// for ever, and the batch ends.
func TestBatchResultTooLarge(t *testing.T) {
	for _, concurrency := range []int{1, 3} {
		t.Run(fmt.Sprint("concurrency=", concurrency), func(t *testing.T) {
			r := newRig(t)
			r.agents.add("a", 100)
			r.open()
			r.pattern("p", core.Step{})
			r.store.mu.Lock()
			r.store.weigh = func(size int) error {
				if size > 1000 {
					return core.Invalid("body", "is too large: one request may store up to 1000 bytes")
				}
				return nil
			}
			r.store.mu.Unlock()
			b, err := r.StartBatch(t.Context(), core.BatchRequest{Pattern: "p", Inputs: []json.RawMessage{rawText(`{"n":0}`), rawText(`{"n":1}`), rawText(`{"n":2}`)}, Concurrency: concurrency})
			if err != nil {
				t.Fatal(err)
			}
			r.agents.mu.Lock()
			r.agents.answer = func(_ string, task core.Task) (string, *core.TaskError) {
				if string(task.Input) == `{"n":1}` {
					return `"` + strings.Repeat("x", 2000) + `"`, nil
				}
				return `"small"`, nil
			}
			r.agents.mu.Unlock()
			for _, h := range r.agents.held() { // handed out before
				result, _ := r.agents.answer(h.agent, h.task)
				r.agents.report(h.agent, h.task, result, nil)
			}
			r.tick("the batch to end", func() bool {
				got, _ := r.FindBatch(t.Context(), b.ID)
				return got.Status.Terminal()
			})
			got, err := r.FindBatch(t.Context(), b.ID)
			if err != nil || got.Status != core.BatchCompleted || got.Completed != 3 || got.Failed != 0 {
				t.Fatalf("%+v, %v", got, err)
			}
			for _, row := range got.Results {
				whole, err := r.FindExecution(t.Context(), row.ExecutionID)
				if err != nil || whole.Status != core.ExecutionCompleted {
					t.Errorf("%+v, %v", whole, err)
				}
				if large := string(whole.Input) == `{"n":1}`; large != (row.Result == nil) || large != (row.Error != nil) {
					t.Errorf("row %d: result of %d bytes, error %v", row.Index, len(row.Result), row.Error)
				}
			}
		})
	}
}
