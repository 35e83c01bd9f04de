package schedule_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/schedule"
	"github.com/wardroom/wardroom/sdk/wire"
)

// rewrite changes the stored record of a schedule behind the service's back.
func (r *rig) rewrite(id string, change func(next *core.ScheduleRecord)) {
	r.tb.Helper()
	err := r.store.Update(ctx, func(tx core.Tx) error {
		stored, err := tx.FindScheduleRecord(id)
		if err != nil {
			return err
		}
		next := *stored
		change(&next)
		return tx.PutSchedule(&next)
	})
	if err != nil {
		r.tb.Fatal(err)
	}
}

// A schedule whose times another version took, and this one does not, starts nothing by itself, and can be seen, changed and
// deleted.
func TestUnreadableTimes(t *testing.T) {
	for name, damage := range map[string]func(next *core.ScheduleRecord){
		"Cron":  func(next *core.ScheduleRecord) { next.Cron = "every other day" },
		"Zone":  func(next *core.ScheduleRecord) { next.TimeZone = "Atlantis/Main" },
		"Empty": func(next *core.ScheduleRecord) { next.Cron, next.TimeZone = "", "" },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			by := core.WithPrincipal(ctx, ann)
			id := r.create(nil).ID
			r.Close()
			r.rewrite(id, func(next *core.ScheduleRecord) {
				damage(next)
				next.Queue = []time.Time{r.clock.Now()}
			})
			r.restart(time.Hour)
			r.pass(10 * time.Minute)

			is := func(s *core.Schedule, err error, want core.ScheduleStatus) {
				t.Helper()
				if err != nil || s.Status != want || (want == wire.ScheduleBlocked) != strings.Contains(s.StatusReason, "its times cannot be read") || s.NextAt != nil {
					t.Fatalf("%+v, %v; want it %s", s, err, want)
				}
			}
			s, err := r.FindSchedule(ctx, id)
			is(s, err, wire.ScheduleBlocked)
			if list, _, err := r.FindSchedules(ctx, core.ScheduleFilter{Status: wire.ScheduleBlocked}); err != nil || len(list) != 1 {
				t.Errorf("the list of those that are blocked has %d, %v", len(list), err)
			}
			r.wants(id, "")
			if ticks, err := r.NextTicks(ctx, id, 3); err != nil || len(ticks.Ticks) != 0 {
				t.Errorf("its next ticks are %v, %v", ticks, err)
			}
			s, err = r.PauseSchedule(by, id, "")
			is(s, err, wire.SchedulePaused)
			s, err = r.ResumeSchedule(by, id)
			is(s, err, wire.ScheduleBlocked)
			if _, err := r.RunSchedule(by, id); err != nil {
				t.Errorf("it cannot be run by hand: %v", err)
			}
			other := "other"
			if _, err := r.UpdateSchedule(by, id, core.SchedulePatch{Name: &other}); core.ErrorCode(err) != core.CodeValidation {
				t.Errorf("it was changed and keeps its times: %v", err)
			}
			if _, err := r.CreateSchedule(by, core.ScheduleSpec{Name: "test", Cron: "* * * * *", Target: s.Target}); core.ErrorCode(err) != core.CodeConflict {
				t.Errorf("its name was free: %v", err)
			}

			cron, zone := "* * * * *", "UTC"
			s, err = r.UpdateSchedule(by, id, core.SchedulePatch{Cron: &cron, TimeZone: &zone})
			if err != nil || s.Status != wire.ScheduleActive || s.StatusReason != "" || s.NextAt == nil {
				t.Fatalf("with other times it is %+v, %v", s, err)
			}
			r.Close()
			r.rewrite(id, damage)
			r.restart(0)
			if err := r.DeleteSchedule(by, id); err != nil {
				t.Fatalf("it cannot be deleted: %v", err)
			}
			r.create(nil)
		})
	}
}

// lossy is a store that may report a failure of what it wrote.
type lossy struct {
	schedule.Store
	lose bool
}

func (l *lossy) Update(ctx context.Context, fn func(tx core.Tx) error) error {
	err := l.Store.Update(ctx, fn)
	if err == nil && l.lose {
		l.lose = false
		return errGone
	}
	return err
}

func lossyRig(t *testing.T) (*rig, *lossy) {
	r := newRig(t)
	r.Close()
	store := &lossy{Store: r.store}
	r.opts.Store = store
	r.open()
	return r, store
}

// A change that was written though its outcome was not known takes effect once the schedule is read again: its times and its
// name are those of the record.
func TestReloadAfterUnknownOutcome(t *testing.T) {
	r, store := lossyRig(t)
	by := core.WithPrincipal(ctx, ann)
	id := r.create(nil).ID
	r.settle()

	store.lose = true
	name, cron := "renamed", "30 5 * * *"
	if _, err := r.UpdateSchedule(by, id, core.SchedulePatch{Name: &name, Cron: &cron}); !errors.Is(err, errGone) {
		t.Fatal(err)
	}
	if _, err := r.PauseSchedule(by, id, ""); core.ErrorCode(err) != core.CodeConflict { // it is noticed, and read again
		t.Fatal(err)
	}
	s := r.get(id)
	if s.Name != name || s.Cron != cron || s.NextAt == nil || s.NextAt.UTC().Format("15:04") != "05:30" {
		t.Errorf("it is %q at %q, next at %v", s.Name, s.Cron, s.NextAt)
	}
	if _, err := r.CreateSchedule(by, core.ScheduleSpec{Name: name, Cron: cron, Target: s.Target}); core.ErrorCode(err) != core.CodeConflict {
		t.Errorf("its name is free: %v", err)
	}
	r.create(nil) // the former name is
}

// A name that another schedule took while it was not known whose it is stays with that one, whatever becomes of the first.
func TestNameTakenDuringUnknownOutcome(t *testing.T) {
	for _, renamed := range []bool{false, true} {
		r, store := lossyRig(t)
		by := core.WithPrincipal(ctx, ann)
		id := r.create(nil).ID
		r.settle()

		store.lose = true
		name, last := "wanted", "last"
		if _, err := r.UpdateSchedule(by, id, core.SchedulePatch{Name: &name}); !errors.Is(err, errGone) {
			t.Fatal(err)
		}
		target := r.get(id).Target
		create := func() error {
			_, err := r.CreateSchedule(by, core.ScheduleSpec{Name: name, Cron: "* * * * *", Target: target})
			return err
		}
		if err := create(); err != nil {
			t.Fatal(err)
		}
		if _, err := r.PauseSchedule(by, id, ""); core.ErrorCode(err) != core.CodeConflict { // it is noticed, and read again
			t.Fatal(err)
		}
		var err error
		if renamed {
			_, err = r.UpdateSchedule(by, id, core.SchedulePatch{Name: &last})
		} else {
			err = r.DeleteSchedule(by, id)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := create(); core.ErrorCode(err) != core.CodeConflict {
			t.Errorf("renamed %t: its name is free: %v", renamed, err)
		}
	}
}
