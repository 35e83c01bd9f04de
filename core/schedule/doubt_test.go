package schedule_test

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

// A schedule that is made, changed, paused or deleted by a commit whose answer is lost is known as it is stored, whether the caller waits
// for that or not.
func TestChangesWhoseAnswerIsLost(t *testing.T) {
	for _, patient := range []bool{true, false} {
		t.Run(fmt.Sprint(patient), func(t *testing.T) {
			r, as := newRig(t), core.WithPrincipal(ctx, ann)
			change := func(what string, change func() error, done func() bool) {
				t.Helper()
				by := time.Millisecond
				if !patient {
					by = 6 * time.Second
				}
				if err := r.lose(by, change); err != nil && (patient || !errors.Is(err, core.ErrInDoubt)) {
					t.Fatalf("it is %s, and its caller gets %v", what, err)
				}
				coretest.WaitFor(t, "it to be "+what, func() bool {
					if !patient {
						r.clock.Advance(time.Second)
					}
					return done()
				})
			}
			spec := core.ScheduleSpec{Name: "nightly", Cron: "0 0 1 1 *", Target: core.Target{Execution: &core.ExecutionTarget{Pattern: "p"}}}
			all := func() int { _, info, _ := r.FindSchedules(ctx, core.ScheduleFilter{}); return info.Total }
			change("made", func() error { _, err := r.CreateSchedule(as, spec); return err }, func() bool { return all() == 1 })
			list, _, err := r.FindSchedules(ctx, core.ScheduleFilter{})
			if err != nil {
				t.Fatal(err)
			}
			id := list[0].ID
			if _, err := r.CreateSchedule(as, spec); core.ErrorCode(err) != core.CodeConflict {
				t.Errorf("its name is taken: %v", err)
			}
			name := "weekly"
			rename := func() error { _, err := r.UpdateSchedule(as, id, core.SchedulePatch{Name: &name}); return err }
			change("renamed", rename, func() bool { return r.get(id).Name == name })
			pause := func() error { _, err := r.PauseSchedule(as, id, "holidays"); return err }
			change("paused", pause, func() bool { return r.get(id).Status == wire.SchedulePaused })
			if _, err := r.CreateSchedule(as, spec); err != nil {
				t.Errorf("its former name is free: %v", err)
			}
			change("deleted", func() error { return r.DeleteSchedule(as, id) }, func() bool { return all() == 1 })
			spec.Name = name
			if _, err := r.CreateSchedule(as, spec); err != nil {
				t.Errorf("the name of one that is deleted is free: %v", err)
			}
		})
	}
}

// Whatever commit of a schedule at work fails, though it is stored or for want of room, each tick starts one run, which counts once.
func TestEveryTickOnce(t *testing.T) {
	for n := range 8 {
		for _, lost := range []bool{true, false} {
			t.Run(fmt.Sprint(n, lost), func(t *testing.T) {
				t.Parallel()
				r := newRig(t)
				s := r.create(func(s *core.ScheduleSpec) { s.Overlap, s.CatchUp = wire.OverlapQueue, wire.CatchUpAll })
				if lost {
					r.store.Lose(n + 1)
				} else {
					r.store.Break(n, errGone)
				}
				ticks := func() map[string]int {
					for _, ref := range r.get(s.ID).Running {
						_ = r.launch.end(ref.ExecutionID, core.ExecutionCompleted)
					}
					return r.executions()
				}
				for range 2 {
					for minute := range 3 {
						r.pass(70 * time.Second)
						if ticks(); minute == 1 {
							r.store.Heal()
						}
					}
					r.restart(3 * time.Minute)
				}
				coretest.WaitFor(t, "the queue to be empty", func() bool { r.pass(time.Second); ticks(); return r.get(s.ID).Queued == 0 })
				runs, got := ticks(), r.get(s.ID)
				for tick, count := range runs {
					if count != 1 {
						t.Errorf("tick %s was started %d times", tick, count)
					}
				}
				if int(got.Counts.Started) != len(runs) || len(runs) < 10 {
					t.Errorf("%d are counted, and %d were started: %v", got.Counts.Started, len(runs), got.Counts)
				}
			})
		}
	}
}

// A name that a change in doubt may have given a schedule is taken until that is known.
func TestNameInDoubt(t *testing.T) {
	r, as := newRig(t), core.WithPrincipal(ctx, ann)
	spec := core.ScheduleSpec{Name: "nightly", Cron: "0 0 1 1 *", Target: core.Target{Execution: &core.ExecutionTarget{Pattern: "p"}}}
	a, err := r.CreateSchedule(as, spec)
	if err != nil {
		t.Fatal(err)
	}
	name := "weekly"
	if err := r.lose(6*time.Second, func() error { _, err := r.UpdateSchedule(as, a.ID, core.SchedulePatch{Name: &name}); return err }); err != nil {
		t.Logf("the change: %v", err)
	}
	spec.Name = name
	if _, err := r.CreateSchedule(as, spec); core.ErrorCode(err) != core.CodeConflict {
		t.Errorf("another one of the name: %v", err)
	}
	spec.Name = "nightly"
	r.pass(2 * time.Minute)
	coretest.WaitFor(t, "the former name to be free", func() bool { _, err := r.CreateSchedule(as, spec); return err == nil })
}

// A change that is in doubt is answered at once when the service closes.
func TestCloseInDoubt(t *testing.T) {
	r := newRig(t)
	target := core.Target{Execution: &core.ExecutionTarget{Pattern: "p"}}
	answer := r.store.Unknown(func() error {
		_, err := r.CreateSchedule(core.WithPrincipal(ctx, ann), core.ScheduleSpec{Name: "nightly", Cron: "0 0 1 1 *", Target: target})
		return err
	})
	r.Close()
	if err := <-answer; !errors.Is(err, core.ErrInDoubt) {
		t.Error(err)
	}
}
