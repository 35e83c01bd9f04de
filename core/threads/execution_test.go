package threads_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

func TestCancelAdHoc(t *testing.T) {
	r := newRig(t, core.SystemClock{}).open()
	a := r.readied(spec())
	s := spec()
	s.ExecutionID = r.record(a).ExecutionID
	b := r.readied(s)
	e, err := r.CancelAdHoc(r.ctx, s.ExecutionID, "enough")
	if err != nil || e.Status != core.ExecutionCancelled || e.CancelledAt == nil || e.CancelReason != "enough" {
		t.Fatalf("cancelled %+v, %v", e, err)
	}
	for _, id := range []string{a, b} {
		if rec := r.untilStatus(id, core.ThreadStopped); rec.StatusReason != core.ThreadReasonExecution {
			t.Errorf("reason %q", rec.StatusReason)
		}
	}
	if again, err := r.CancelAdHoc(r.ctx, s.ExecutionID, "more"); err != nil || again.CancelReason != "enough" {
		t.Errorf("cancelled again %+v, %v", again, err)
	}
	if got := r.store.execution(s.ExecutionID).Status; got != core.ExecutionCancelled {
		t.Errorf("it is %s", got)
	}
	if _, err := r.SpawnThread(r.ctx, s); core.ErrorCode(err) != core.CodeConflict {
		t.Errorf("a thread in a cancelled execution: %v", err)
	}
	var kinds []string
	page, _, _ := r.store.Events(r.ctx, s.ExecutionID, 0, 100)
	for _, ev := range page {
		kinds = append(kinds, string(ev.Type))
		if !strings.HasPrefix(ev.ID, core.PrefixEvent) {
			t.Errorf("%s has the id %q", ev.Type, ev.ID)
		}
	}
	if got := strings.Join(kinds, " "); got != "execution.started execution.cancelled" {
		t.Errorf("events %s", got)
	}
	if _, err := r.CancelAdHoc(r.ctx, "exec_nobody", ""); core.ErrorCode(err) != core.CodeNotFound {
		t.Errorf("nobody: %v", err)
	}
}

func TestAdHocEndsWithTheLast(t *testing.T) {
	r := newRig(t, core.SystemClock{}).open()
	a := r.readied(spec())
	s := spec()
	s.ExecutionID = r.record(a).ExecutionID
	b := r.readied(s)
	if _, err := r.CloseThread(r.ctx, a, core.ThreadClose{}); err != nil {
		t.Fatal(err)
	}
	r.untilStatus(a, core.ThreadCompleted)
	r.reopen()
	if got := r.store.execution(s.ExecutionID).Status; got != core.ExecutionRunning {
		t.Errorf("it is %s while a thread runs", got)
	}
	r.agents.do("", func(x *scripted) { x.exit("exited", 1) })
	r.untilStatus(b, core.ThreadFailed)
	e := r.store.execution(s.ExecutionID)
	var result struct {
		Threads []struct{ ThreadID, Status, State string } `json:"threads"`
	}
	if err := json.Unmarshal(e.Result, &result); err != nil || e.Status != core.ExecutionFailed || e.Error == nil ||
		len(result.Threads) != 2 || result.Threads[0].ThreadID != a || result.Threads[1].Status != "failed" {
		t.Errorf("execution %+v %s", e, e.Result)
	}
}

// Nothing is kept of executions whose threads are over: one that was cancelled after a thread of it had ended, and, over a restart,
// one of a pattern.
func TestNothingIsKept(t *testing.T) {
	r := newRig(t, core.SystemClock{}).open()
	r.pattern("exec_1", false)
	for _, execution := range []string{core.NewExecution, "exec_1"} {
		s := spec()
		s.ExecutionID = execution
		first := r.readied(s)
		s.ExecutionID = r.record(first).ExecutionID
		second := r.readied(s)
		if _, err := r.CloseThread(r.ctx, first, core.ThreadClose{}); err != nil {
			t.Fatal(err)
		}
		r.untilStatus(first, core.ThreadCompleted)
		if execution == core.NewExecution {
			if _, err := r.CancelAdHoc(r.ctx, s.ExecutionID, "enough"); err != nil {
				t.Fatal(err)
			}
		} else {
			r.reopen()
			r.untilStatus(second, core.ThreadReady)
			if err := r.StopThread(r.ctx, second, core.ThreadStop{}); err != nil {
				t.Fatal(err)
			}
		}
		r.untilStatus(second, core.ThreadStopped)
		coretest.WaitFor(t, "nothing to be kept of "+execution, func() bool { return r.Kept() == 0 })
	}
}

// pattern is an execution that runs a pattern.
func (r *rig) pattern(id string, chart bool) {
	r.store.Put(func(tx core.Tx) error {
		return tx.PutExecution(&core.Execution{ID: id, Status: core.ExecutionRunning, Chart: chart})
	})
}

func (r *rig) endPattern(id string, status core.ExecutionStatus) {
	r.store.Put(func(tx core.Tx) error {
		e, err := tx.FindExecution(id)
		if err != nil {
			return err
		}
		e.Status = status
		if status == core.ExecutionFailed {
			e.Error = &core.ExecutionError{Code: core.CodeTimeout, Message: "too late"}
		}
		return errors.Join(tx.PutExecution(e),
			tx.Append(core.Event{Type: core.EventType("execution." + string(status)), Subject: id, Data: json.RawMessage("{}")}))
	})
}

func TestCancelledExecutionStopsThreads(t *testing.T) {
	for _, down := range []bool{false, true} {
		r := newRig(t, core.SystemClock{}).open()
		r.pattern("exec_1", false)
		s := spec()
		s.ExecutionID = "exec_1"
		id := r.readied(s)
		if down { // it is cancelled while we are not there
			r.Close()
			r.endPattern("exec_1", core.ExecutionCancelled)
			r.open()
		} else {
			r.endPattern("exec_1", core.ExecutionCancelled)
		}
		if rec := r.untilStatus(id, core.ThreadStopped); rec.StatusReason != core.ThreadReasonExecution {
			t.Errorf("reason %q", rec.StatusReason)
		}
		if got := r.store.execution("exec_1").Status; got != core.ExecutionCancelled {
			t.Errorf("the execution is %s", got)
		}
		r.Close()
	}
}

// onSpawn is an observer that has something happen once a thread is stored, before it is supervised.
type onSpawn func()

func (f onSpawn) ThreadSpawned(string)                                             { f() }
func (onSpawn) ThreadEnded(core.ThreadStatus, core.CompletionState, time.Duration) {}
func (onSpawn) ThreadRestarted()                                                   {}
func (onSpawn) TurnEnded(time.Duration)                                            {}
func (onSpawn) PromptBlocked(bool)                                                 {}

// TestCancelledWhileSpawned: the first thread's end shows that the event was told before the second was there.
func TestCancelledWhileSpawned(t *testing.T) {
	r := newRig(t, core.SystemClock{})
	first := ""
	r.observer = onSpawn(func() {
		if first != "" {
			r.endPattern("exec_1", core.ExecutionCancelled)
			r.untilStatus(first, core.ThreadStopped)
		}
	})
	r.open()
	r.pattern("exec_1", false)
	s := spec()
	s.ExecutionID = "exec_1"
	// A third one keeps the execution followed: its agent takes its time to end.
	slow := r.readied(s)
	agent := r.record(slow).ManagedAgentID
	r.agents.stop = func(id string) error {
		if id == agent {
			return core.Unavailable("runtime_unavailable", "it does not answer")
		}
		return nil
	}
	first = r.readied(s)
	second := r.spawn(s)
	if rec := r.untilStatus(second.ID, core.ThreadStopped); rec.StatusReason != core.ThreadReasonExecution {
		t.Errorf("reason %q", rec.StatusReason)
	}
}

func TestLists(t *testing.T) {
	r := newRig(t, core.SystemClock{}).open()
	id := r.readied(spec())
	if _, _, err := r.FindThreads(r.ctx, core.ThreadFilter{ExecutionID: "exec_nobody"}); core.ErrorCode(err) != core.CodeNotFound {
		t.Errorf("threads of nobody: %v", err)
	}
	list, info, err := r.FindThreads(r.ctx, core.ThreadFilter{ExecutionID: r.record(id).ExecutionID})
	if err != nil || len(list) != 1 || info.Total != 1 || list[0].ID != id {
		t.Errorf("list %v %+v %v", list, info, err)
	}
	if _, err := r.FindThread(r.ctx, "thread_nobody"); core.ErrorCode(err) != core.CodeNotFound {
		t.Errorf("nobody: %v", err)
	}
	if _, err := r.FollowThreads(r.ctx, "exec_nobody", 0, true); core.ErrorCode(err) != core.CodeNotFound {
		t.Errorf("events of nobody: %v", err)
	}
	stream, err := r.FollowThreads(r.ctx, r.record(id).ExecutionID, 0, false)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	if e, err := stream.Next(r.ctx); err != nil || e.Subject != id || e.Type != core.EventThreadInput {
		t.Errorf("event %+v, %v", e, err)
	}
	if got := r.Stats(); got.ByStatus[core.ThreadReady] != 1 {
		t.Errorf("stats %+v", got)
	}
}
