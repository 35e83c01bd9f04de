package threads_test

import (
	"testing"

	"github.com/wardroom/wardroom/core"
)

func TestStopInEachState(t *testing.T) {
	never := make(chan struct{})
	for _, tt := range []struct {
		name   string
		status core.ThreadStatus
		setUp  func(r *rig)
		agent  bool // one was started
	}{
		{"preparing", core.ThreadPreparing, func(r *rig) { r.spaces.provision = blockUntil(never) }, false},
		{"starting", core.ThreadStarting, func(r *rig) {
			r.agents.spawn = func(core.ManagedAgentSpec) error { return core.Unavailable("full", "the runtime is full") }
		}, false},
		{"ready", core.ThreadReady, func(r *rig) {}, true},
		{"running", core.ThreadRunning, func(r *rig) { r.agents.script = func(a *scripted, _ string) { a.busy() } }, true},
		{"blocked", core.ThreadBlocked, func(r *rig) {
			r.agents.script = func(a *scripted, _ string) { a.busy(); a.ask("p-1", "question", "", "Which?") }
		}, true},
		{"restarting", core.ThreadStarting, func(r *rig) {
			r.agents.script = func(a *scripted, _ string) { a.busy(); a.end("x"); a.lose() }
			r.agents.restart = func() error { return core.Unavailable("away", "the runtime is away") }
		}, true},
	} {
		for _, crash := range []bool{false, true} {
			name := tt.name
			if crash {
				name += " with a crash"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				r := newRig(t, core.SystemClock{})
				tt.setUp(r)
				r.open()
				id := r.spawn(spec()).ID
				r.until(id, "its state", func(rec *core.ThreadRecord) bool {
					return rec.Status == tt.status && (tt.name != "restarting" || rec.StatusReason == core.ThreadReasonRestarting) &&
						(tt.name != "ready" || rec.TurnCount == 1)
				})
				if crash { // once the stop is stored
					r.store.failAfter(1)
					done := make(chan struct{})
					go func() {
						defer close(done)
						_ = r.StopThread(r.ctx, id, core.ThreadStop{})
					}()
					<-r.store.Failed()
					r.Close()
					<-done
					r.store.Heal()
					r.open()
				} else if err := r.StopThread(r.ctx, id, core.ThreadStop{}); err != nil {
					t.Fatal(err)
				}
				rec := r.untilStatus(id, core.ThreadStopped)
				if rec.StatusReason != core.ThreadReasonRequested {
					t.Errorf("reason %q", rec.StatusReason)
				}
				if got := len(r.agents.all()) > 0; got != tt.agent || r.agents.running() != 0 {
					t.Errorf("agents %v, running %d", got, r.agents.running())
				}
				kinds := r.kinds(id)
				if kinds[len(kinds)-1] != "thread_stopped" {
					t.Errorf("events %q", kinds)
				}
				if want := rec.TurnCount > 0; (len(r.store.lessons()) == 1) != want {
					t.Errorf("%d experiences after %d turns", len(r.store.lessons()), rec.TurnCount)
				}
				if err := r.StopThread(r.ctx, id, core.ThreadStop{}); err != nil {
					t.Errorf("stopping a stopped one: %v", err)
				}
				if err := r.StopThread(r.ctx, "thread_nobody", core.ThreadStop{}); core.ErrorCode(err) != core.CodeNotFound {
					t.Errorf("stopping nobody: %v", err)
				}
			})
		}
	}
}

// TestStopStoreRefuses: who stops a thread is told that this cannot be stored now, whatever the agent does meanwhile.
func TestStopStoreRefuses(t *testing.T) {
	r := newRig(t, core.SystemClock{}).open()
	id := r.readied(spec())
	r.store.failAfter(0)
	r.agents.do("", func(a *scripted) { a.busy() })
	if err := r.StopThread(r.ctx, id, core.ThreadStop{}); err == nil || !core.AsError(err).Unavailable {
		t.Errorf("stopped: %v", err)
	}
	if _, err := r.CloseThread(r.ctx, id, core.ThreadClose{}); err == nil || !core.AsError(err).Unavailable {
		t.Errorf("completed: %v", err)
	}
	if rec := r.record(id); rec.Status != core.ThreadReady {
		t.Errorf("it is %s", rec.Status)
	}
	r.store.Heal()
	if err := r.StopThread(r.ctx, id, core.ThreadStop{}); err != nil {
		t.Fatal(err)
	}
	r.untilStatus(id, core.ThreadStopped)
}

func TestClose(t *testing.T) {
	r := newRig(t, core.SystemClock{}).open()
	id := r.readied(spec())
	if _, err := r.CloseThread(r.ctx, id, core.ThreadClose{State: "fine"}); core.ErrorCode(err) != core.CodeValidation {
		t.Errorf("a state that is none: %v", err)
	}
	got, err := r.CloseThread(r.ctx, id, core.ThreadClose{State: core.CompletionPartial, Summary: "Half of it."})
	if err != nil || got.StatusReason != core.ThreadReasonFinishing && got.Status != core.ThreadCompleted {
		t.Errorf("closed %+v, %v", got, err)
	}
	rec := r.untilStatus(id, core.ThreadCompleted)
	if rec.Completion.State != core.CompletionPartial || rec.Completion.Summary != "Half of it." {
		t.Errorf("completion %+v", rec.Completion)
	}
	if _, err := r.CloseThread(r.ctx, id, core.ThreadClose{}); core.ErrorCode(err) != core.CodeConflict {
		t.Errorf("closing it again: %v", err)
	}
}

func TestFinishFails(t *testing.T) {
	r := newRig(t, core.SystemClock{})
	r.spaces.finish = func() error { return core.Invalid("policy.finish", "the remote refuses the push") }
	r.open()
	s := spec()
	s.Preparation.Workspace = &core.WorkspaceSpec{Repo: "app"}
	s.Policy.Finish = &core.ThreadFinish{Push: true}
	s.Policy.CompleteAfterTurns = 1
	rec := r.untilStatus(r.spawn(s).ID, core.ThreadCompleted)
	if rec.Completion.State != core.CompletionPartial {
		t.Errorf("completion %+v", rec.Completion)
	}
}
