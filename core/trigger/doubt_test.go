package trigger_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/wire"
)

// lose makes a change whose commit fails though it is stored, and has the clock move on by so much a millisecond until its caller is
// answered and the store takes writes again.
func (r *rig) lose(by time.Duration, change func() error) error {
	r.tb.Helper()
	return r.store.Losing(r.clock, by, change)
}

// A trigger that is made, changed, asked or deleted by a commit whose answer is lost is known as it is stored and as the next service
// finds it, whether the caller waits for that or not.
func TestLostAnswers(t *testing.T) {
	for _, patient := range []bool{true, false} {
		t.Run(fmt.Sprint(patient), func(t *testing.T) {
			r := newRig(t)
			change := func(what string, change func() error) {
				t.Helper()
				by := time.Millisecond
				if !patient {
					by = time.Minute
				}
				if err := r.lose(by, change); err != nil && (patient || !errors.Is(err, core.ErrInDoubt)) {
					t.Fatalf("it is %s, and its caller gets %v", what, err)
				}
			}
			spec := core.TriggerSpec{Name: "ci", Secret: "0123456789abcdef", Target: core.Target{Execution: &core.ExecutionTarget{Pattern: "p"}}}
			change("made", func() error { _, err := r.CreateTrigger(ann, spec); return err })
			list, _, err := r.FindTriggers(ctx, core.TriggerFilter{})
			if err != nil || len(list) != 1 {
				t.Fatalf("it is made, and the list has %d, %v", len(list), err)
			}
			id := list[0].ID
			if _, err := r.CreateTrigger(ann, spec); core.ErrorCode(err) != core.CodeConflict {
				t.Errorf("its name is taken: %v", err)
			}
			name := "deploy"
			change("renamed", func() error { _, err := r.UpdateTrigger(ann, id, core.TriggerPatch{Name: &name}); return err })
			change("given a secret", func() error { _, err := r.RotateTrigger(ann, id, "fedcba9876543210", 0); return err })
			if _, err := r.CreateTrigger(ann, spec); err != nil {
				t.Errorf("its former name is free: %v", err)
			}
			q := r.signed("fedcba9876543210", `{"a":1}`, r.clock.Now())
			send := func() (*core.TriggerReceipt, error) { return r.send(id, q) }
			_ = r.lose(time.Millisecond, func() error { _, err := send(); return err }) // who sends does so again
			if got, err := send(); err != nil || got.Outcome != wire.TriggerDuplicate || got.ExecutionID == "" {
				t.Errorf("the request came twice: %+v, %v", got, err)
			}
			r.wants(id, r.signed("fedcba9876543210", `{"a":2}`, r.clock.Now()), wire.TriggerStarted)
			for range 2 {
				got, err := r.FindTrigger(ctx, id)
				if err != nil || got.Name != name || got.Counts.Started != 2 || len(got.Runs) != 2 {
					t.Errorf("it is %+v, %v", got, err)
				}
				r.open()
			}
			change("deleted", func() error { return r.DeleteTrigger(ann, id) })
			if _, err := r.FindTrigger(ctx, id); core.ErrorCode(err) != core.CodeNotFound {
				t.Errorf("it is deleted, and found: %v", err)
			}
			spec.Name = name
			if _, err := r.CreateTrigger(ann, spec); err != nil {
				t.Errorf("the name of one that is deleted is free: %v", err)
			}
		})
	}
}

// People hear of a trigger that is blocked though the answer of the commit which noted that was lost.
func TestAlertInDoubt(t *testing.T) {
	r := newRig(t)
	tr := r.create(nil)
	r.launch.set(func() { r.launch.revoked = true })
	r.store.Lose(1)
	_, _ = r.send(tr.ID, r.signed(hookSecret, `{"a":1}`, r.clock.Now()))
	coretest.WaitFor(t, "the store to take writes", func() bool { return core.TakesWrites(ctx, r.store) == nil })
	for range 2 {
		_, _ = r.send(tr.ID, r.signed(hookSecret, `{"a":2}`, r.clock.Now()))
		if len(r.alerts) != 1 {
			t.Errorf("alerts %q", r.alerts)
		}
	}
}

// A change that is in doubt is answered at once when the service closes.
func TestCloseInDoubt(t *testing.T) {
	r := newRig(t)
	target := core.Target{Execution: &core.ExecutionTarget{Pattern: "p"}}
	answer := r.store.Unknown(func() error {
		_, err := r.CreateTrigger(ann, core.TriggerSpec{Name: "ci", Secret: hookSecret, Target: target})
		return err
	})
	r.Close()
	if err := <-answer; !errors.Is(err, core.ErrInDoubt) {
		t.Error(err)
	}
}
