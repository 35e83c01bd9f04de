package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	stdtime "time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/engine"
	"github.com/wardroom/wardroom/sdk/wire"
)

// adHocs is an engine.AdHoc that remembers, and ends executions in the store.
type adHocs struct {
	rig   *rig
	calls []string
}

func (a *adHocs) CancelAdHoc(_ context.Context, id, reason string) (*core.Execution, error) {
	a.calls = append(a.calls, id+" "+reason)
	a.rig.endAdHoc(id, core.ExecutionCancelled, core.EventExecutionCancelled)
	return a.rig.store.FindExecution(context.Background(), id)
}

// storedStreams yields what the store has, and waits for more. The first failures of reading are fails.
type storedStreams struct {
	rig   *rig
	wake  chan struct{} // gets a value for each event that is written
	fails []error
	opens atomic.Int32 // streams that were opened
}

func (s *storedStreams) Publish([]core.Event) {}

func (s *storedStreams) Stream(_ context.Context, subject string, after uint64, last func(core.Event) bool) (core.EventStream, error) {
	s.opens.Add(1)
	return &storedStream{s, subject, after, last, false}, nil
}

type storedStream struct {
	*storedStreams
	subject string
	after   uint64
	last    func(core.Event) bool
	ended   bool
}

func (s *storedStream) Close() {}

func (s *storedStream) Next(ctx context.Context) (core.Event, error) {
	for !s.ended {
		page, _, err := s.rig.store.Events(ctx, s.subject, s.after, 1)
		if err != nil {
			return core.Event{}, err
		}
		if len(page) > 0 {
			s.after, s.ended = page[0].Seq, s.last(page[0])
			return page[0], nil
		}
		if len(s.fails) > 0 {
			err := s.fails[0]
			s.fails = s.fails[1:]
			return core.Event{}, err
		}
		select {
		case <-s.wake:
		case <-ctx.Done():
			return core.Event{}, ctx.Err()
		}
	}
	return core.Event{}, io.EOF
}

// adHoc stores an ad-hoc execution as core/threads does.
func (r *rig) startAdHoc(id string) {
	r.tb.Helper()
	now := r.clock.Now()
	exec := &core.Execution{ID: id, Pattern: core.AdHocPattern, Status: core.ExecutionRunning, AdHoc: true, CreatedAt: now, StartedAt: &now}
	r.putAdHoc(exec, core.EventExecutionStarted)
}

func (r *rig) endAdHoc(id string, status core.ExecutionStatus, kind core.EventType) {
	exec, err := r.store.FindExecution(context.Background(), id)
	if err != nil {
		panic(err)
	}
	now := r.clock.Now()
	exec.Status, exec.CompletedAt = status, &now
	r.putAdHoc(exec, kind)
}

func (r *rig) putAdHoc(exec *core.Execution, kind core.EventType) {
	err := r.store.Update(context.Background(), func(tx core.Tx) error {
		if err := tx.PutExecution(exec); err != nil {
			return err
		}
		return tx.Append(core.Event{Type: kind, Time: r.clock.Now(), Subject: exec.ID, Data: json.RawMessage("{}")})
	})
	if err != nil {
		panic(err)
	}
	if s, ok := r.streams.(*storedStreams); ok {
		s.wake <- struct{}{}
	}
}

func adHocRig(t *testing.T) (*rig, *storedStreams, *adHocs) {
	t.Helper()
	r := newRig(t)
	streams, ends := &storedStreams{rig: r, wake: make(chan struct{}, 100)}, &adHocs{rig: r}
	r.streams, r.adHoc = streams, ends
	r.startAdHoc("exec_adhoc")
	return r.open(), streams, ends
}

// An ad-hoc execution is none of the engine's: it is not resumed, retried or rerun.
func TestAdHocIsLeftAlone(t *testing.T) {
	r, _, _ := adHocRig(t)
	if s := r.Stats(); s.Active != 0 || s.Running != 0 {
		t.Errorf("the engine runs it: %+v", s)
	}
	if n := r.store.count("exec_adhoc", core.EventExecutionFailed); n != 0 {
		t.Errorf("the engine failed it")
	}
	for _, over := range []bool{false, true} {
		if over {
			r.endAdHoc("exec_adhoc", core.ExecutionCompleted, core.EventExecutionCompleted)
		}
		_, retry := r.Retry(t.Context(), "exec_adhoc")
		_, rerun := r.Rerun(t.Context(), "exec_adhoc", "")
		for _, err := range []error{retry, rerun} {
			if core.ErrorCode(err) != core.CodeConflict || !strings.Contains(err.Error(), "runs no pattern") {
				t.Errorf("over %t: %v", over, err)
			}
		}
	}
}

func TestAdHocCancel(t *testing.T) {
	r, _, ends := adHocRig(t)
	exec, err := r.Cancel(t.Context(), "exec_adhoc", "enough")
	if err != nil || exec.Status != core.ExecutionCancelled || !slices.Equal(ends.calls, []string{"exec_adhoc enough"}) {
		t.Fatalf("got %+v, %v, calls %v", exec, err, ends.calls)
	}
	if exec, err = r.Cancel(t.Context(), "exec_adhoc", "again"); err != nil || exec.Status != core.ExecutionCancelled || len(ends.calls) != 1 {
		t.Errorf("a second cancel: %+v, %v, calls %v", exec, err, ends.calls)
	}
	r.startAdHoc("exec_done")
	r.endAdHoc("exec_done", core.ExecutionFailed, core.EventExecutionFailed)
	if _, err := r.Cancel(t.Context(), "exec_done", ""); core.ErrorCode(err) != core.CodeConflict {
		t.Errorf("a cancel of a failed one: %v", err)
	}
	r.Close()
	r.adHoc = nil
	r.startAdHoc("exec_other")
	r.open()
	if _, err := r.Cancel(t.Context(), "exec_other", ""); !core.AsError(err).Unavailable {
		t.Errorf("a cancel without threads: %v", err)
	}
}

func TestAdHocWait(t *testing.T) {
	r, streams, _ := adHocRig(t)
	type outcome struct {
		exec *core.Execution
		err  error
	}
	wait := func(ctx context.Context) <-chan outcome {
		done := make(chan outcome, 1)
		go func() {
			exec, err := r.Wait(ctx, "exec_adhoc")
			done <- outcome{exec, err}
		}()
		return done
	}
	ctx, cancel := context.WithCancel(t.Context())
	left := wait(ctx)
	cancel()
	if got := <-left; !errors.Is(got.err, context.Canceled) {
		t.Errorf("who does not wait any more gets %+v, %v", got.exec, got.err)
	}
	streams.fails = []error{core.Unavailable("slow_reader", "come back")}
	before := streams.opens.Load()
	done := wait(t.Context())
	// The first look fails, and the second one comes after a pause: nothing but the second shows that the pause is over.
	coretest.WaitFor(t, "the second look", func() bool {
		r.clock.Advance(stdtime.Second)
		return streams.opens.Load() >= before+2
	})
	if len(done) != 0 {
		t.Error("a stream that fails once ends the wait")
	}
	r.endAdHoc("exec_adhoc", core.ExecutionCompleted, core.EventExecutionCompleted)
	if got := <-done; got.err != nil || got.exec.Status != core.ExecutionCompleted {
		t.Errorf("got %+v, %v", got.exec, got.err)
	}
	if got := <-wait(t.Context()); got.err != nil || got.exec.Status != core.ExecutionCompleted {
		t.Errorf("got %+v, %v of one that is over", got.exec, got.err)
	}
	r.startAdHoc("exec_adhoc")
	done = wait(t.Context())
	r.Close()
	if got := <-done; !core.AsError(got.err).Unavailable {
		t.Errorf("the end of the engine gives %+v, %v", got.exec, got.err)
	}
}

// The timeline of an ad-hoc execution tells of its threads.
func TestAdHocTimeline(t *testing.T) {
	r, _, _ := adHocRig(t)
	begin := r.clock.Now()
	end := begin.Add(stdtime.Minute)
	for i := range 150 {
		r.store.threads = append(r.store.threads, core.ThreadRecord{Thread: core.Thread{
			ID: fmt.Sprintf("thread_%d", i), ExecutionID: "exec_adhoc", Status: core.ThreadRunning,
			CreatedAt: begin.Add(stdtime.Duration(i) * stdtime.Millisecond),
		}})
	}
	first := &r.store.threads[0]
	first.Name, first.AgentType, first.Role, first.ManagedAgentID = "fix it", "claude", "coder", "magent_1"
	first.Usage = &wire.Usage{InputTokens: 3}
	first.Status, first.Error, first.EndedAt = core.ThreadFailed, &core.ThreadError{Code: core.CodeAgentError, Message: "it crashed"}, &end
	r.store.threads[1].AgentID, r.store.threads[1].StatusReason = "agent_1", core.ThreadReasonHostAway
	line, err := r.Timeline(t.Context(), "exec_adhoc")
	if err != nil || line.Pattern != core.AdHocPattern || len(line.Entries) != 150 {
		t.Fatalf("timeline %+v, %v", line, err)
	}
	want := core.TimelineEntry{
		Kind: core.TimelineThread, ID: "thread_0", Type: "claude", Name: "fix it", Role: "coder", AgentID: "magent_1",
		Status: "failed", Detail: "it crashed", StartedAt: begin, EndedAt: &end, Duration: 60_000,
		Usage: first.Usage,
	}
	if got := line.Entries[0]; got != want {
		t.Errorf("first %+v, want %+v", got, want)
	}
	if e := line.Entries[1]; e.ID != "thread_1" || e.AgentID != "agent_1" || e.Status != "running" || e.Detail != core.ThreadReasonHostAway || e.EndedAt != nil {
		t.Errorf("second %+v", e)
	}
}

var _ engine.AdHoc = (*adHocs)(nil)
