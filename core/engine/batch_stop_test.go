package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	stdtime "time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

func (r *rig) batch(n, concurrency int, stop bool, bad int) *core.Batch {
	r.tb.Helper()
	req := core.BatchRequest{Pattern: "p", Concurrency: concurrency, StopOnError: stop}
	for i := range n {
		text := fmt.Sprint("item ", i)
		if i == bad {
			text = "bad"
		}
		req.Inputs = append(req.Inputs, json.RawMessage(fmt.Sprintf(`{"text":%q}`, text)))
	}
	b, err := r.StartBatch(r.tb.Context(), req)
	if err != nil {
		r.tb.Fatal(err)
	}
	return b
}

func (r *rig) batchEnd(id string, pass stdtime.Duration) *core.Batch {
	r.tb.Helper()
	var b *core.Batch
	coretest.WaitFor(r.tb, "the batch to end", func() bool {
		r.passTime(pass)
		b, _ = r.FindBatch(r.tb.Context(), id)
		return b != nil && b.Status.Terminal()
	})
	return b
}

// A batch that stops on errors cancels what runs, whether the item failed at work or was refused at once,
// and also when the service restarts in between.
func TestBatchStopsWhatRuns(t *testing.T) {
	t.Run("at a refused item", func(t *testing.T) {
		r := newRig(t)
		r.agents.add("a", 9)
		r.pattern("p", core.Step{})
		r.open()
		b := r.batchEnd(r.batch(9, 5, true, 2).ID, 0) // no agent ever answers
		if b.Status != core.BatchFailed || b.Failed != 1 || b.Cancelled != 8 || b.Completed != 0 || b.Results[0].Status != core.ExecutionCancelled {
			t.Errorf("got %s %d/%d, first item %+v", b.Status, b.Completed, b.Failed, b.Results[0])
		}
	})
	t.Run("after a restart", func(t *testing.T) {
		r := newRig(t)
		r.agents.add("a", 9)
		r.pattern("p", core.Step{})
		r.open()
		id := r.batch(6, 3, true, -1).ID
		held := r.agents.await(t, 3)
		r.Close()
		// The crash came when the first failure was stored and nothing was cancelled yet.
		stored := r.store.batches[id]
		stored.Failed = 1
		r.store.batches[id] = stored
		first := r.store.results[id+"/000000"]
		first.Status = core.ExecutionFailed
		r.store.results[id+"/000000"] = first
		e := r.store.executions[first.ExecutionID]
		e.Status = core.ExecutionFailed
		r.store.executions[first.ExecutionID] = e
		r.open()
		b := r.batchEnd(id, 0)
		if b.Status != core.BatchFailed || b.Failed != 1 || b.Cancelled != 5 || b.Results[1].Status != core.ExecutionCancelled {
			t.Errorf("got %s %d/%d, second item %+v, %d tasks", b.Status, b.Completed, b.Failed, b.Results[1], len(held))
		}
	})
}

// TestBatchEveryCommit restarts the service after every commit of a batch, and lets the store refuse at
// every commit, and checks that each item is counted once and has one execution.
func TestBatchEveryCommit(t *testing.T) {
	check := func(t *testing.T, r *rig, b *core.Batch, what string) {
		t.Helper()
		if b.Status != core.BatchCompleted || b.Completed != 5 || b.Failed != 1 || len(b.Results) != 6 {
			t.Errorf("%s: %s, %d completed, %d failed, %d results", what, b.Status, b.Completed, b.Failed, len(b.Results))
		}
		if n := len(r.store.executions); n != 5 {
			t.Errorf("%s: %d executions for 5 good items", what, n)
		}
	}
	fresh := func(t *testing.T) *rig {
		r := newRig(t)
		r.agents.add("a", 2)
		r.agents.echo()
		r.pattern("p", core.Step{ID: "one"}, core.Step{ID: "two"})
		return r
	}
	r := fresh(t).open()
	var crashes []*memory
	var id string
	r.store.onCommit = func(int) {
		r.store.mu.Lock()
		for id = range r.store.batches {
		}
		running := id != "" && !r.store.batches[id].Status.Terminal()
		r.store.mu.Unlock()
		if running {
			left := r.store.upTo("", 0)
			r.store.mu.Lock()
			crashes = append(crashes, left)
			r.store.mu.Unlock()
		}
	}
	started := r.batch(6, 2, false, 3)
	check(t, r, r.batchEnd(started.ID, 0), "undisturbed")
	r.Close()
	commits := r.store.commits
	for i, left := range crashes {
		again := fresh(t)
		again.store = left
		again.open()
		check(t, again, again.batchEnd(started.ID, 0), fmt.Sprint("crash ", i))
		again.Close()
	}
	for n := 3; n <= commits; n++ {
		again := fresh(t).open()
		again.store.refuseAt = n
		check(t, again, again.batchEnd(again.batch(6, 2, false, 3).ID, stdtime.Second), fmt.Sprint("refusal ", n))
		again.Close()
	}
}

// A batch whose items are all refused at once is stored as it gets on, and is cancelled between.
func TestCancelOfRefusedItems(t *testing.T) {
	r := newRig(t)
	r.pattern("p", core.Step{})
	r.open()
	req := core.BatchRequest{Pattern: "p"}
	for range 1000 {
		req.Inputs = append(req.Inputs, json.RawMessage(`{"text":"bad"}`))
	}
	stored := 0 // commits so far: of the inputs, and of the batch
	r.store.onCommit = func(int) {
		if stored++; stored != 3 {
			return
		}
		r.store.mu.Lock()
		ids := slices.Collect(maps.Keys(r.store.batches))
		r.store.mu.Unlock()
		ctx, over := context.WithCancel(t.Context())
		over() // it is not waited for
		if _, err := r.CancelBatch(ctx, ids[0]); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	b, err := r.StartBatch(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	b = r.batchEnd(b.ID, 0)
	if b.Status != core.BatchCancelled || b.Failed == 0 || b.Failed == b.Total || b.Failed+b.Cancelled != b.Total {
		t.Errorf("got %s, %d of %d failed, %d were cancelled", b.Status, b.Failed, b.Total, b.Cancelled)
	}
}

// A batch whose inputs cannot be read at the moment can be cancelled: it does not wait until they can.
func TestCancelBatchOfUnreadableInputs(t *testing.T) {
	for _, running := range []int{0, 1} {
		r := newRig(t)
		r.agents.add("a", 2)
		r.open()
		r.pattern("p", core.Step{})
		var reads atomic.Int32
		r.store.setUnreadable(func(id string) error {
			if strings.HasPrefix(id, "input of ") && int(reads.Add(1)) > running {
				return core.Unavailable("store_failed", "the disk does not answer")
			}
			return nil
		})
		b := r.batch(running+1, 2, false, -1)
		r.agents.await(t, running)
		coretest.WaitFor(t, "the input to be read", func() bool { return int(reads.Load()) > running })
		ctx, cancel := context.WithTimeout(t.Context(), 10*stdtime.Second)
		got, err := r.CancelBatch(ctx, b.ID)
		cancel()
		if err != nil || got.Status != core.BatchCancelled || got.Cancelled != running+1 {
			t.Errorf("with %d that run: %+v, %v", running, got, err)
		}
	}
}
