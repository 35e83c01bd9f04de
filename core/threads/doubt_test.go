package threads_test

import (
	"testing"

	"github.com/wardroom/wardroom/core"
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
	r, id, input := failedThread(t)
	r.store.Lose(1)
	if err := r.WithdrawThreadInput(r.ctx, id, input); err != nil {
		t.Error(err)
	}
}
