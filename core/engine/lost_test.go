package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	stdtime "time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

// TestEveryLostAnswer has the store answer each commit of an execution in turn as one that failed, though it is stored: the execution
// ends as undisturbed, its journal has nothing twice, and it is taken up from any place of it.
func TestEveryLostAnswer(t *testing.T) {
	for _, life := range lives {
		t.Run(life.name, func(t *testing.T) {
			t.Parallel()
			r := lifeRig(t, nil).open()
			want := r.oneByOne(r.start(life.name).ID, 0)
			for n := 2; n <= r.store.commits; n++ {
				again := lifeRig(t, nil).open()
				again.store.loseAt = n
				got := again.oneByOne(again.start(life.name).ID, stdtime.Second)
				if x, y := outcome(got), outcome(want); x != y {
					t.Errorf("lost answer %d: got  %s\nwant %s", n, x, y)
				}
				if x, y := again.store.types(got.ID), r.store.types(want.ID); !slices.Equal(x, y) {
					t.Errorf("lost answer %d: journal %v\nwant %v", n, x, y)
				}
				coretest.WaitFor(t, "the end: "+again.disturbed(), func() bool { return again.disturbed() == "" })
				again.Close()
			}
		})
	}
}

// TestChartEveryLostAnswer is TestEveryLostAnswer for org charts.
func TestChartEveryLostAnswer(t *testing.T) {
	for seed := range int64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := randomRig(t, nil, seed).open()
			want := r.oneChart(r.start("random").ID)
			for n := 2; n <= r.store.commits; n++ {
				again := randomRig(t, nil, seed).open()
				again.store.loseAt = n
				got := again.oneChart(again.start("random").ID)
				if x, y := sameAgent(string(got.Result)), sameAgent(string(want.Result)); got.Status != want.Status || x != y {
					t.Errorf("lost answer %d: got  %s %s\nwant %s %s", n, got.Status, x, want.Status, y)
				}
				if x, y := again.store.types(got.ID), r.store.types(want.ID); !slices.Equal(x, y) {
					t.Errorf("lost answer %d: journal %v\nwant %v", n, x, y)
				}
				coretest.WaitFor(t, "nothing left", func() bool {
					s := again.Stats()
					return s.Active+s.Running+s.Waiting == 0 && again.clock.Pending() == 0
				})
				again.Close()
			}
		})
	}
}

// oneChart answers the tasks of an org chart, one after the other.
func (r *rig) oneChart(id string) *core.Execution {
	r.tb.Helper()
	answered := map[string]bool{}
	over := func() bool {
		e, err := r.store.FindExecution(r.tb.Context(), id)
		return err == nil && e.Status.Terminal()
	}
	for !over() {
		held := r.agents.held()
		slices.SortFunc(held, func(a, b handed) int {
			return slices.Compare([]string{a.task.Step, a.task.ID}, []string{b.task.Step, b.task.ID})
		})
		settled := r.agents.settledCount()
		for _, h := range held {
			if key := fmt.Sprint(h.task.ID, h.task.Attempt); !answered[key] {
				answered[key] = true
				result, failure := r.chartSay(h.task)
				r.agents.report(h.agent, h.task, result, failure)
				settled++
				break
			}
		}
		coretest.WaitFor(r.tb, "the next task or the end of "+id, func() bool {
			r.passTime(stdtime.Second)
			return over() || r.agents.settledCount() >= settled && slices.ContainsFunc(r.agents.held(), func(h handed) bool {
				return !answered[fmt.Sprint(h.task.ID, h.task.Attempt)]
			})
		})
	}
	return r.wait(id)
}

// An execution whose first commit was answered as failed, though it is stored, is run, once, also for who asks again by its
// Idempotency-Key; one that is not stored leaves nothing behind.
func TestStartInDoubt(t *testing.T) {
	for _, kept := range []bool{true, false} {
		r := lifeRig(t, nil).open()
		r.auto()
		if kept {
			r.store.loseAt = 1
		} else {
			r.store.setRefuse(errLost)
		}
		ctx := core.WithIdempotency(t.Context(), &core.IdempotencyClaim{Key: "k"})
		req := core.ExecuteRequest{Pattern: "steps", Input: json.RawMessage(`{"text":"hello"}`)}
		if _, err := r.Start(ctx, req); !errors.Is(err, core.ErrInDoubt) {
			t.Fatal(err)
		}
		r.store.setRefuse(nil)
		if !kept {
			coretest.WaitFor(t, "nothing left", func() bool {
				r.passTime(stdtime.Second)
				return r.disturbed() == ""
			})
			if _, err := r.Start(ctx, req); err != nil {
				t.Fatal(err)
			}
		}
		r.store.mu.Lock()
		id := r.store.claims["k"]
		r.store.mu.Unlock()
		coretest.WaitFor(t, "the end", func() bool {
			r.passTime(stdtime.Second)
			e, err := r.store.FindExecution(t.Context(), id)
			return err == nil && e.Status == core.ExecutionCompleted && r.disturbed() == ""
		})
		r.Close()
		if n := len(r.store.executions); n != 1 {
			t.Errorf("kept %t: %d executions", kept, n)
		}
	}
}

// An engine that ends before the store takes writes again leaves what is in doubt to the next start.
func TestCloseInDoubt(t *testing.T) {
	r := lifeRig(t, nil).open()
	r.store.onCommit = func(int) { r.store.setRefuse(errReadOnly) }
	r.store.loseAt = 1
	if _, err := r.Start(t.Context(), core.ExecuteRequest{Pattern: "steps"}); !errors.Is(err, core.ErrInDoubt) {
		t.Fatal(err)
	}
	r.Close()
	r.store.onCommit = nil
	r.store.setRefuse(nil)
	r.auto()
	r.open()
	all := r.store.all()
	if len(all) != 1 {
		t.Fatalf("%d executions are stored", len(all))
	}
	for id := range all {
		if e := r.wait(id); e.Status != core.ExecutionCompleted {
			t.Errorf("it is %s: %+v", e.Status, e.Error)
		}
	}
}

// Whatever commit of a batch is answered as failed though it is stored: each item has one execution and counts once, and there is one
// event of its end.
func TestBatchEveryLostAnswer(t *testing.T) {
	for _, cancelled := range []bool{false, true} {
		for n := 2; ; n++ {
			r := newRig(t)
			r.agents.add("a", 2)
			r.pattern("p", core.Step{ID: "one"}, core.Step{ID: "two"})
			if !cancelled {
				r.agents.echo()
			}
			r.open()
			r.store.loseAt = n
			req := core.BatchRequest{Pattern: "p", Concurrency: 2}
			for i := range 6 {
				req.Inputs = append(req.Inputs, json.RawMessage(fmt.Sprintf(`{"text":"%d"}`, i)))
			}
			if _, err := r.StartBatch(t.Context(), req); (err != nil) != (n == 2) {
				t.Fatalf("lost answer %d: %v", n, err)
			}
			r.store.mu.Lock()
			ids := slices.Collect(maps.Keys(r.store.batches))
			r.store.mu.Unlock()
			id := ids[0]
			if cancelled {
				r.cancelBatch(id)
			}
			b := r.batchEnd(id, stdtime.Second)
			if cancelled && b.Cancelled != 6 || !cancelled && b.Completed != 6 {
				t.Errorf("lost answer %d: %s, %d completed, %d cancelled, %d failed", n, b.Status, b.Completed, b.Cancelled, b.Failed)
			}
			coretest.WaitFor(t, "nothing left", func() bool { s := r.Stats(); return s.Active+s.Running+s.Waiting == 0 })
			items := map[string]bool{}
			for _, item := range b.Results {
				items[item.ExecutionID] = true
			}
			for id, e := range r.store.all() {
				if !e.Status.Terminal() || !items[id] {
					t.Errorf("lost answer %d: %s, of an item %t, is %s", n, id, items[id], e.Status)
				}
			}
			if started, ended := r.store.count(id, core.EventBatchStarted), r.store.count(id, core.EventBatchCompleted)+r.store.count(id, core.EventBatchCancelled); started != 1 || ended != 1 {
				t.Errorf("lost answer %d: it began %d times and ended %d times", n, started, ended)
			}
			r.Close()
			if r.store.commits < n { // all were met
				break
			}
		}
	}
}

// all returns all executions.
func (m *memory) all() map[string]core.Execution {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.executions)
}

// cancelBatch cancels a batch whose items wait for answers of agents.
func (r *rig) cancelBatch(id string) {
	r.tb.Helper()
	coretest.WaitFor(r.tb, "an item", func() bool {
		r.passTime(stdtime.Second)
		return len(r.agents.held()) > 0
	})
	done := make(chan error, 1)
	go func() {
		for {
			_, err := r.CancelBatch(r.tb.Context(), id)
			if err == nil || !core.AsError(err).Unavailable {
				done <- err
				return
			}
		}
	}()
	coretest.WaitFor(r.tb, "the cancel", func() bool {
		r.passTime(stdtime.Second)
		select {
		case err := <-done:
			if err != nil {
				r.tb.Error(err)
			}
			return true
		default:
			return false
		}
	})
}

// A batch of which it is not known yet whether it is stored is no batch that was set aside.
func TestCancelBatchInDoubt(t *testing.T) {
	r := newRig(t)
	r.agents.add("a", 2)
	r.pattern("p", core.Step{ID: "one"})
	r.open()
	r.store.onCommit = func(n int) {
		if n == r.store.loseAt {
			r.store.setRefuse(errReadOnly)
		}
	}
	r.store.loseAt = r.store.commits + 2 // behind its inputs
	_, err := r.StartBatch(t.Context(), core.BatchRequest{Pattern: "p", Inputs: []json.RawMessage{json.RawMessage(`{"text":"x"}`)}})
	if !errors.Is(err, core.ErrInDoubt) {
		t.Fatal(err)
	}
	r.store.mu.Lock()
	ids := slices.Collect(maps.Keys(r.store.batches))
	r.store.mu.Unlock()
	if _, err := r.CancelBatch(t.Context(), ids[0]); !core.AsError(err).Unavailable {
		t.Errorf("%v", err)
	}
	r.store.setRefuse(nil)
	r.cancelBatch(ids[0])
	if b := r.batchEnd(ids[0], stdtime.Second); b.Status != core.BatchCancelled {
		t.Errorf("it is %s", b.Status)
	}
}
