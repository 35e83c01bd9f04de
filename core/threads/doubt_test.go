package threads_test

import (
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// The threads of an ad-hoc execution that is cancelled by a commit whose answer is lost stop.
func TestCancelAdHocInDoubt(t *testing.T) {
	r := newRig(t, core.SystemClock{}).open()
	a := r.readied(spec())
	r.store.Lose(1)
	if e, err := r.CancelAdHoc(r.ctx, r.record(a).ExecutionID, "enough"); err != nil || e.Status != core.ExecutionCancelled {
		t.Errorf("cancelled %+v, %v", e, err)
	}
	r.untilStatus(a, core.ThreadStopped)
}

// A message of a thread that is over is withdrawn though the answer of the commit is lost.
func TestWithdrawInDoubt(t *testing.T) {
	r := newRig(t, core.SystemClock{})
	r.agents.script = func(a *scripted, _ string) {
		a.busy()
		a.fail(wire.TurnModelError, false)
	}
	r.open()
	id := r.spawn(shellSpec("one")).ID
	r.untilStatus(id, core.ThreadFailed)
	q, err := r.QueuedThreadInputs(r.ctx, id, 0, 10)
	if err != nil || len(q.Inputs) != 1 {
		t.Fatalf("queue %+v, %v", q, err)
	}
	r.store.Lose(1)
	if err := r.WithdrawThreadInput(r.ctx, id, q.Inputs[0].InputID); err != nil {
		t.Error(err)
	}
}
