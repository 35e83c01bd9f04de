package threads_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/threads"
	"github.com/wardroom/wardroom/sdk/wire"
)

// A message that two people withdraw at once is withdrawn once: those behind it are still counted, and given to the agent.
func TestWithdrawAtOnce(t *testing.T) {
	for _, over := range []bool{false, true} {
		t.Run(fmt.Sprint("over=", over), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, core.SystemClock{})
			r.agents.script = func(a *scripted, _ string) { a.busy() }
			r.open()
			id := r.spawn(shellSpec("one")).ID
			r.until(id, "the first to be taken", func(rec *core.ThreadRecord) bool { return rec.SentSeq == 1 && rec.Work != nil && rec.Work.Begun })
			var inputs []string
			for _, text := range []string{"two", "three"} {
				receipt, err := r.SendThread(r.ctx, id, core.ThreadInput{Message: text})
				if err != nil {
					t.Fatal(err)
				}
				inputs = append(inputs, receipt.InputID)
			}
			want := 1
			if over {
				r.agents.do("", func(a *scripted) { a.fail(wire.TurnModelError, false) })
				r.untilStatus(id, core.ThreadFailed)
				want = 2 // the first waits as well
			}
			at := context.WithValue(r.ctx, behindQueue{}, sync.OnceFunc(func() {
				if err := r.WithdrawThreadInput(r.ctx, id, inputs[0]); err != nil {
					t.Error(err)
				}
			}))
			if err := r.WithdrawThreadInput(at, id, inputs[0]); core.ErrorCode(err) != core.CodeNotFound {
				t.Errorf("withdrawn again: %v", err)
			}
			if rec := r.record(id); rec.QueuedInputs != want || rec.Withdrawals != 1 {
				t.Errorf("%d wait, want %d; %d were withdrawn", rec.QueuedInputs, want, rec.Withdrawals)
			}
			if over {
				return
			}
			r.agents.do("", func(a *scripted) { a.end(block("complete", "All of it")) })
			coretest.WaitFor(t, "the other message", func() bool { return r.agents.count() == 2 })
			if got := r.agents.messages(); got[1] != "three" {
				t.Errorf("the agent got %q", got)
			}
		})
	}
}

// However many messages of a thread were withdrawn, another one that goes on with it has all others, or is refused.
func TestContinueLongQueue(t *testing.T) {
	for _, tt := range []struct {
		waiting int
		code    core.Code
	}{{1000, ""}, {1001, core.CodeConflict}} {
		t.Run(fmt.Sprint(tt.waiting), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, core.SystemClock{})
			r.agents.script = func(a *scripted, _ string) {
				a.busy()
				a.fail(wire.TurnModelError, false)
			}
			r.open()
			none := 0
			s := shellSpec("m1")
			s.Policy.TurnRetries = &none
			id := r.spawn(s).ID
			r.untilStatus(id, core.ThreadFailed)
			const withdrawn = 3
			r.store.Put(func(tx core.Tx) error {
				latest, err := tx.FindThread(id)
				if err != nil {
					return err
				}
				next := *latest
				for next.InputSeq < uint64(tt.waiting+withdrawn) {
					next.InputSeq++
					in := &core.QueuedInput{ID: fmt.Sprint("in_", next.InputSeq), ThreadID: id, Number: next.InputSeq, Message: fmt.Sprint("m", next.InputSeq)}
					if in.Withdrawn = next.InputSeq < 2+withdrawn; in.Withdrawn {
						in.Message = ""
					}
					if err := tx.PutInput(in); err != nil {
						return err
					}
				}
				next.Withdrawn, next.Withdrawals, next.QueuedInputs = withdrawn, withdrawn, tt.waiting
				return tx.PutThread(&next)
			})
			r.agents.script = func(a *scripted, _ string) { a.busy() }
			next, err := r.ContinueThread(r.ctx, id, core.ThreadContinue{})
			if core.ErrorCode(err) != tt.code {
				t.Fatalf("goes on: %v, want %q", err, tt.code)
			}
			if err != nil {
				if rec := r.record(id); rec.QueuedInputs != tt.waiting || rec.ContinuedBy != "" {
					t.Errorf("%d wait; it is gone on with by %q", rec.QueuedInputs, rec.ContinuedBy)
				}
				return
			}
			if rec := r.record(next.ID); rec.InputSeq != uint64(tt.waiting) {
				t.Errorf("it has %d messages, want %d", rec.InputSeq, tt.waiting)
			}
		})
	}
}

// An agent whose session could not be resumed gets what it goes on with before its first message: those ahead of that may be
// withdrawn by then, however many there are, and stay without their texts.
func TestContinueLostSessionWithdrawn(t *testing.T) {
	for _, more := range []int{0, 100} {
		t.Run(fmt.Sprint(more+1), func(t *testing.T) { continueLostSession(t, more) })
	}
}

// continueLostSession withdraws the first message of a thread that goes on, and more after it.
func continueLostSession(t *testing.T, more int) {
	r := newRig(t, core.SystemClock{})
	r.agents.script = func(a *scripted, _ string) {
		a.busy()
		a.end(block("partial", "Half of it"))
	}
	r.open()
	old := r.spawn(spec()).ID
	r.untilStatus(old, core.ThreadCompleted)
	r.agents.do("", func(*scripted) {
		r.agents.begin = func(a *scripted) {
			if a.r.Spec.Resume == "" {
				queue, err := r.store.QueuedInputs(r.ctx, a.r.Spec.Labels[threads.LabelThread], 0, more+10)
				if err != nil || len(queue) != more+2 || slices.ContainsFunc(queue, func(in *core.QueuedInput) bool { return in.Withdrawn == (in.Message != "") }) {
					t.Errorf("the queue has %d messages: %+v, %v", len(queue), queue, err)
				}
				a.tell(core.EventManagedReady, core.AgentSignal{})
			}
		}
	})
	next, err := r.ContinueThread(r.ctx, old, core.ThreadContinue{Message: "the rest"})
	if err != nil {
		t.Fatal(err)
	}
	r.until(next.ID, "its agent", func(rec *core.ThreadRecord) bool { return rec.ManagedAgentID != "" })
	gone := []string{r.record(next.ID).AskedInput}
	send := func(text string) (inputID string) {
		receipt, err := r.SendThread(r.ctx, next.ID, core.ThreadInput{Message: text})
		if err != nil {
			t.Fatal(err)
		}
		return receipt.InputID
	}
	for range more {
		gone = append(gone, send("no more"))
	}
	send("something else")
	for _, id := range gone {
		if err := r.WithdrawThreadInput(r.ctx, next.ID, id); err != nil {
			t.Fatal(err)
		}
	}
	r.agents.do("", func(a *scripted) { a.exit("exited_at_start: no such session", 1) })
	coretest.WaitFor(t, "its message", func() bool { return r.agents.count() == 2 })
	if got := r.agents.messages()[1]; !strings.Contains(got, "What came of it: Half of it)\n\nsomething else") {
		t.Errorf("message %q", got)
	}
}
