package schedule_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/schedule"
	"github.com/wardroom/wardroom/sdk/wire"
)

// The clock of a rig begins at 03:04:05.

func TestTicksOnTime(t *testing.T) {
	r := newRig(t)
	s := r.create(nil)
	if s.NextAt == nil || s.NextAt.Format("15:04:05") != "03:05:00" || s.RunsAs != "ann" {
		t.Errorf("%+v", s)
	}
	r.pass(3 * time.Minute)
	r.wants(s.ID, "03:05=started 03:06=started 03:07=started")
	if got := r.executions(); len(got) != 3 || got["2026-01-02T03:06:00Z"] != 1 {
		t.Errorf("executions %v", got)
	}
	got := r.get(s.ID)
	if got.Counts.Started != 3 || len(got.Running) != 3 || got.LastRun.ExecutionID != got.Running[2].ExecutionID {
		t.Errorf("%+v", got)
	}
	if by := r.launch.by; fmt.Sprint(by) != "[ann ann ann]" {
		t.Errorf("started by %v", by)
	}
}

func TestOverlap(t *testing.T) {
	for _, tt := range []struct {
		policy wire.OverlapPolicy
		want   string
		left   int // runs that go on
	}{
		{wire.OverlapSkip, "03:05=started 03:06=skipped 03:07=skipped", 1},
		{wire.OverlapAllow, "03:05=started 03:06=started 03:07=started", 3},
		{wire.OverlapQueue, "03:05=started 03:06=queued 03:07=queued", 1},
		{wire.OverlapCancel, "03:05=started 03:06=started 03:07=started", 1},
	} {
		t.Run(string(tt.policy), func(t *testing.T) {
			r := newRig(t)
			s := r.create(func(s *core.ScheduleSpec) { s.Overlap = tt.policy })
			r.pass(3 * time.Minute)
			r.wants(s.ID, tt.want)
			got := r.get(s.ID)
			if len(got.Running) != tt.left {
				t.Errorf("running %v", got.Running)
			}
			if tt.policy == wire.OverlapCancel && len(r.launch.canceled) != 2 {
				t.Errorf("cancelled %v", r.launch.canceled)
			}
			if tt.policy != wire.OverlapQueue {
				return
			}
			// One at a time, in order, and through a restart.
			r.restart(0)
			for _, want := range []string{"03:06", "03:07"} {
				if err := r.launch.end(r.get(s.ID).Running[0].ExecutionID, core.ExecutionCompleted); err != nil {
					t.Fatal(err)
				}
				r.pass(2 * time.Second)
				if last := r.get(s.ID).LastRun; last.Outcome != wire.TickStarted || last.Tick.Format("15:04") != want {
					t.Fatalf("%+v, want %s", last, want)
				}
			}
			if got := r.get(s.ID); got.Queued != 0 || len(r.executions()) != 3 {
				t.Errorf("%d wait, %v", got.Queued, r.executions())
			}
		})
	}
}

func TestCatchUp(t *testing.T) {
	for _, tt := range []struct {
		policy wire.CatchUpPolicy
		away   time.Duration
		want   string
	}{
		{wire.CatchUpNone, 5 * time.Minute, "03:08=missed4 03:09=started"},
		{wire.CatchUpLast, 5*time.Minute + 30*time.Second, "03:08=missed4 03:09=started"},
		{wire.CatchUpAll, 10*time.Minute + 25*time.Second, "03:10=missed6 03:11=late 03:12=late 03:13=late 03:14=started"},
		{wire.CatchUpNone, 30 * time.Second, ""},              // nothing was due
		{wire.CatchUpNone, 80 * time.Second, "03:05=started"}, // late, but not by much
	} {
		t.Run(fmt.Sprint(tt.policy, tt.away), func(t *testing.T) {
			r := newRig(t)
			s := r.create(func(s *core.ScheduleSpec) { s.CatchUp, s.CatchUpLimit = tt.policy, 3 })
			r.settle()
			r.restart(tt.away)
			r.settle()
			r.wants(s.ID, tt.want)
			r.restart(0)
			r.settle()
			r.wants(s.ID, tt.want)
		})
	}
}

// A long time away costs no long time to go over, and starts no more than the policy says.
func TestLongAway(t *testing.T) {
	r := newRig(t)
	s := r.create(func(s *core.ScheduleSpec) { s.CatchUp, s.CatchUpLimit = wire.CatchUpAll, 100 })
	r.restart(3 * 365 * 24 * time.Hour)
	r.settle()
	if got := r.get(s.ID); got.Counts.Started < 100 || got.Counts.Started > 102 || got.Counts.Missed != 10_000 {
		t.Errorf("%+v", got.Counts)
	}
}

// Whatever the clock does, no tick is started twice, and none of those that come at their own time is lost.
func TestClockSteps(t *testing.T) {
	t.Run("Back", func(t *testing.T) {
		r := newRig(t)
		s := r.create(nil)
		r.pass(3 * time.Minute) // 03:07:05
		r.step(-2 * time.Minute)
		if got := r.get(s.ID); got.NextAt.Format("15:04") != "03:08" {
			t.Errorf("next %s", got.NextAt)
		}
		r.pass(3 * time.Minute)
		r.wants(s.ID, "03:05=started 03:06=started 03:07=started 03:08=started")
	})
	t.Run("BackAndRestart", func(t *testing.T) {
		r := newRig(t)
		s := r.create(nil)
		r.pass(3 * time.Minute)
		r.Close()
		r.clock.Step(-10 * time.Minute) // before the schedule was made
		r.open()
		r.pass(3 * time.Minute) // 03:00:05
		if got := r.get(s.ID).Counts.Started; got != 6 {
			t.Errorf("%d started: %s", got, r.outcomes(s.ID))
		}
		r.pass(8 * time.Minute) // 03:08:05
		for tick, n := range r.executions() {
			if n != 1 {
				t.Errorf("%s was started %d times", tick, n)
			}
		}
		if got := len(r.executions()); got != 11 { // 02:58 to 03:08
			t.Errorf("%d executions: %v", got, r.executions())
		}
	})
	t.Run("Forward", func(t *testing.T) {
		r := newRig(t)
		s := r.create(func(s *core.ScheduleSpec) { s.CatchUp = wire.CatchUpNone })
		r.pass(time.Minute)
		r.step(time.Hour)
		r.wants(s.ID, "03:05=started 04:04=missed59 04:05=started")
		// It was wrong: what was passed over comes at its own time, what was started does not come again.
		r.step(-time.Hour)
		r.pass(61 * time.Minute)
		got := r.executions()
		if len(got) != 62 || r.get(s.ID).Counts.Started != 62 { // 03:05 to 04:06
			t.Errorf("%d executions, %d started", len(got), r.get(s.ID).Counts.Started)
		}
		for tick, n := range got {
			if n != 1 {
				t.Errorf("%s was started %d times", tick, n)
			}
		}
	})
	t.Run("YearAhead", func(t *testing.T) {
		r := newRig(t)
		s := r.create(func(s *core.ScheduleSpec) { s.CatchUp = wire.CatchUpNone })
		r.pass(time.Minute)
		r.step(365 * 24 * time.Hour)
		r.pass(2 * time.Minute)
		r.step(-365 * 24 * time.Hour)
		r.pass(2*time.Minute + 10*time.Second)
		if runs := r.get(s.ID).Runs; runs[0].Outcome != wire.TickStarted || runs[0].Tick.Year() != 2026 {
			t.Errorf("silent since the clock was set right: %s", r.outcomes(s.ID))
		}
	})
}

func TestPause(t *testing.T) {
	r := newRig(t)
	s := r.create(nil)
	r.pass(time.Minute)
	got, err := r.PauseSchedule(ctx, s.ID, "holidays")
	if err != nil || got.Status != wire.SchedulePaused || got.StatusReason != "holidays" || got.NextAt != nil {
		t.Fatalf("%+v, %v", got, err)
	}
	if again, err := r.PauseSchedule(ctx, s.ID, "other"); err != nil || again.StatusReason != "holidays" {
		t.Errorf("%+v, %v", again, err)
	}
	r.restart(10 * time.Minute)
	r.pass(2 * time.Minute)
	r.wants(s.ID, "03:05=started")
	if got, err = r.ResumeSchedule(ctx, s.ID); err != nil || got.Status != wire.ScheduleActive || got.StatusReason != "" {
		t.Fatalf("%+v, %v", got, err)
	}
	r.pass(time.Minute)
	r.wants(s.ID, "03:05=started 03:18=started")
}

func TestBounds(t *testing.T) {
	r := newRig(t)
	start, end := time.Date(2026, 1, 2, 3, 6, 30, 0, time.UTC), time.Date(2026, 1, 2, 3, 8, 0, 0, time.UTC)
	s := r.create(func(s *core.ScheduleSpec) { s.StartAt, s.EndAt = &start, &end })
	ticks, err := r.NextTicks(ctx, s.ID, 10)
	if err != nil || len(ticks.Ticks) != 2 || ticks.Ticks[0].Local != "2026-01-02T03:07:00Z" {
		t.Errorf("%+v, %v", ticks, err)
	}
	r.pass(6 * time.Minute)
	r.wants(s.ID, "03:07=started 03:08=started")
	if got := r.get(s.ID); got.Status != wire.ScheduleEnded || got.NextAt != nil {
		t.Errorf("%+v", got)
	}
	list, info, err := r.FindSchedules(ctx, core.ScheduleFilter{Status: wire.ScheduleEnded})
	if err != nil || len(list) != 1 || info.Total != 1 || list[0].Runs != nil {
		t.Errorf("%v, %+v, %v", list, info, err)
	}
	// Without its end it goes on.
	none := (*time.Time)(nil)
	if _, err := r.UpdateSchedule(core.WithPrincipal(ctx, ann), s.ID, core.SchedulePatch{EndAt: &none}); err != nil {
		t.Fatal(err)
	}
	r.pass(time.Minute)
	r.wants(s.ID, "03:07=started 03:08=started 03:11=started")
}

// A start in hundreds of years keeps the loop from nothing, and neither does one that a former version stored.
func TestFarStart(t *testing.T) {
	r := newRig(t)
	far := time.Date(2400, 1, 1, 0, 0, 0, 0, time.UTC)
	s := r.create(func(s *core.ScheduleSpec) { s.Cron, s.StartAt = "@every 90m", &far })
	if s.NextAt == nil || s.NextAt.Before(far) {
		t.Errorf("starts %s, next %s", far, s.NextAt)
	}
	list, err := r.store.AllSchedules(ctx)
	if err != nil {
		t.Fatal(err)
	}
	never := time.Date(9999, 12, 31, 23, 59, 0, 0, time.UTC)
	stored := *list[0]
	stored.ID, stored.Name, stored.StartAt = "sched_stored", "stored", &never
	if err := r.store.Update(ctx, func(tx core.Tx) error { return tx.PutSchedule(&stored) }); err != nil {
		t.Fatal(err)
	}
	r.restart(time.Minute)
	r.create(func(s *core.ScheduleSpec) { s.Name = "near" })
	r.pass(time.Minute)
	if got := r.executions(); len(got) != 1 {
		t.Errorf("executions %v", got)
	}
	if got := r.get(stored.ID); got.Status != wire.ScheduleEnded {
		t.Errorf("%+v", got)
	}
	for _, id := range []string{s.ID, stored.ID} {
		if err := r.DeleteSchedule(ctx, id); err != nil {
			t.Error(err)
		}
	}
}

// Rights are asked about at each tick. Without them the schedule is blocked, tells so once, and goes on when they are back.
func TestBlocked(t *testing.T) {
	r := newRig(t)
	s := r.create(nil)
	r.launch.set(func() { r.launch.revoked = true })
	r.pass(2 * time.Minute)
	r.wants(s.ID, "03:05=blocked 03:06=blocked")
	if got := r.get(s.ID); got.Status != wire.ScheduleBlocked || got.StatusReason != "the credential is revoked" || got.NextAt == nil {
		t.Errorf("%+v", got)
	}
	r.mu.Lock()
	if len(r.alerts) != 1 || !strings.Contains(r.alerts[0], "schedule test is blocked: the credential is revoked") {
		t.Errorf("alerts %q", r.alerts)
	}
	r.mu.Unlock()
	r.launch.set(func() {
		r.launch.revoked, r.launch.refuse = false, core.Forbidden("executions.create", "", "the pattern is not open to the caller")
	})
	r.pass(time.Minute)
	if _, err := r.RunSchedule(ctx, s.ID); core.ErrorCode(err) != core.CodeForbidden {
		t.Errorf("run by hand: %v", err)
	}
	r.launch.set(func() { r.launch.refuse = nil })
	r.pass(time.Minute)
	r.wants(s.ID, "03:05=blocked 03:06=blocked 03:07=blocked 03:08=started")
	if got := r.get(s.ID); got.Status != wire.ScheduleActive || got.StatusReason != "" {
		t.Errorf("%+v", got)
	}
}

// A start that may succeed later is tried again; one that cannot is reported once.
func TestFailures(t *testing.T) {
	r := newRig(t)
	s := r.create(func(s *core.ScheduleSpec) { s.Cron, s.CatchUp = "*/30 * * * *", wire.CatchUpNone })
	r.launch.set(func() { r.launch.refuse = errGone })
	r.pass(28 * time.Minute) // 03:32:05
	r.wants(s.ID, "")
	r.launch.set(func() { r.launch.refuse = nil })
	r.pass(time.Minute)
	r.wants(s.ID, "03:30=started")
	r.launch.set(func() { r.launch.refuse = errGone })
	r.pass(40 * time.Minute)
	r.wants(s.ID, "03:30=started 04:00=failed")
	r.launch.set(func() { r.launch.refuse = core.NotFound("pattern", "p") })
	r.pass(50 * time.Minute) // 05:03
	r.wants(s.ID, "03:30=started 04:00=failed 04:30=failed 05:00=failed")
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.alerts) != 1 || !strings.Contains(r.alerts[0], "could not start its run") {
		t.Errorf("alerts %q", r.alerts)
	}
	if run := r.get(s.ID).LastRun; run.Code != core.CodeNotFound || !strings.Contains(run.Reason, "does not exist") {
		t.Errorf("%+v", run)
	}
}

func TestRunByHand(t *testing.T) {
	r := newRig(t)
	s := r.create(func(s *core.ScheduleSpec) { s.Cron, s.Overlap = "0 0 * * *", wire.OverlapSkip })
	claim := &core.IdempotencyClaim{Scope: "ben POST x", Key: "k", BodyHash: "h"}
	ben := core.WithPrincipal(ctx, core.Principal{Kind: core.PrincipalAPIKey, ID: "ben"})
	ref, err := r.RunSchedule(core.WithIdempotency(ben, claim), s.ID)
	if err != nil || ref.ExecutionID == "" {
		t.Fatalf("%v, %v", ref, err)
	}
	if rec, err := r.store.FindIdempotency(ctx, claim.Scope, claim.Key, r.clock.Now()); err != nil || rec == nil || rec.ResourceID != ref.ExecutionID {
		t.Errorf("%+v, %v", rec, err)
	}
	got := r.get(s.ID)
	if r.outcomes(s.ID) != "hand=started" || got.LastRun.Reason != "asked for by ben" || r.launch.by[0] != "ann" {
		t.Errorf("%s, %+v, by %v", r.outcomes(s.ID), got.LastRun, r.launch.by)
	}
	if _, err := r.RunSchedule(ctx, "sched_none"); core.ErrorCode(err) != core.CodeNotFound {
		t.Errorf("%v", err)
	}
}

// What a schedule does is done with the rights of who wrote it last, and secrets do not change hands.
func TestUpdate(t *testing.T) {
	r := newRig(t)
	thread := core.Target{Thread: &core.ThreadTarget{ThreadBrief: wire.ThreadBrief{AgentType: "claude", Objective: "tidy up"}}}
	s := r.create(func(s *core.ScheduleSpec) { s.Target, s.Env = thread, map[string]string{"KEY": "canary"} })
	r.pass(time.Minute)
	if r.launch.env["KEY"] != "canary" {
		t.Errorf("env %v", r.launch.env)
	}
	var stored bytes.Buffer
	list, err := r.store.AllSchedules(ctx)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&stored, "%+v %s", list[0], list[0].SealedEnv)
	if strings.Contains(stored.String(), "canary") {
		t.Error("the environment is stored in clear")
	}
	ben := core.WithPrincipal(ctx, core.Principal{Kind: core.PrincipalAPIKey, ID: "ben"})
	cron := "*/2 * * * *"
	_, err = r.UpdateSchedule(ben, s.ID, core.SchedulePatch{Cron: &cron})
	wantCode(t, err, core.CodeValidation)
	got, err := r.UpdateSchedule(ben, s.ID, core.SchedulePatch{Cron: &cron, Target: &thread})
	if err != nil || got.RunsAs != "ben" || got.CreatedBy != "ann" || got.Cron != cron {
		t.Fatalf("%+v, %v", got, err)
	}
	r.pass(time.Minute)
	r.wants(s.ID, "03:05=started 03:06=started")
	if len(r.launch.env) != 0 || r.launch.by[1] != "ben" {
		t.Errorf("env %v, by %v", r.launch.env, r.launch.by)
	}
	secret := core.Target{Execution: &core.ExecutionTarget{Pattern: "secret"}}
	_, err = r.UpdateSchedule(ben, s.ID, core.SchedulePatch{Target: &secret})
	wantCode(t, err, core.CodeForbidden)
	name, other := "renamed", r.create(func(s *core.ScheduleSpec) { s.Name = "other" })
	if got, err = r.UpdateSchedule(ben, s.ID, core.SchedulePatch{Name: &name}); err != nil || got.Name != name {
		t.Fatalf("%+v, %v", got, err)
	}
	_, err = r.UpdateSchedule(ben, other.ID, core.SchedulePatch{Name: &name})
	wantCode(t, err, core.CodeConflict)
	r.create(nil) // its former name is free
}

// TestUpdateKeepsTime: times that are given again as they are, as by a tool that applies a whole definition, and bounds that
// change, leave the ticks of @every where they are. Another expression counts from its own change.
func TestUpdateKeepsTime(t *testing.T) {
	r := newRig(t)
	hourly, zone := "@every 1h", "UTC"
	s := r.create(func(s *core.ScheduleSpec) { s.Cron = hourly })
	end := time.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC)
	bound := &end
	for _, patch := range []core.SchedulePatch{{Cron: &hourly, TimeZone: &zone}, {EndAt: &bound}, {Cron: &hourly, EndAt: &bound}} {
		r.pass(25 * time.Minute)
		got, err := r.UpdateSchedule(core.WithPrincipal(ctx, ann), s.ID, patch)
		if err != nil {
			t.Fatal(err)
		}
		if got.NextAt.Sub(s.CreatedAt)%time.Hour != 0 {
			t.Errorf("made %s, next after %+v: %s", s.CreatedAt, patch, got.NextAt)
		}
	}
	r.wants(s.ID, "04:04=started")
	often := "@every 30m"
	got, err := r.UpdateSchedule(core.WithPrincipal(ctx, ann), s.ID, core.SchedulePatch{Cron: &often})
	if err != nil || !got.NextAt.Equal(got.UpdatedAt.Add(30*time.Minute)) {
		t.Errorf("changed %s, next %s, %v", got.UpdatedAt, got.NextAt, err)
	}
}

// TestUpdateKeepsWhatIsDue: a tick whose start fails for now is tried again after a change that leaves the times as they are.
func TestUpdateKeepsWhatIsDue(t *testing.T) {
	r := newRig(t)
	s := r.create(nil)
	r.launch.set(func() { r.launch.refuse = errGone })
	r.pass(time.Minute)
	cron := s.Cron
	if _, err := r.UpdateSchedule(core.WithPrincipal(ctx, ann), s.ID, core.SchedulePatch{Cron: &cron}); err != nil {
		t.Fatal(err)
	}
	r.launch.set(func() { r.launch.refuse = nil })
	r.pass(30 * time.Second)
	r.wants(s.ID, "03:05=started")
}

func TestDelete(t *testing.T) {
	r := newRig(t)
	s := r.create(nil)
	r.pass(time.Minute)
	if err := r.DeleteSchedule(ctx, s.ID); err != nil {
		t.Fatal(err)
	}
	wantCode(t, r.DeleteSchedule(ctx, s.ID), core.CodeNotFound)
	_, err := r.PauseSchedule(ctx, s.ID, "")
	wantCode(t, err, core.CodeNotFound)
	r.pass(2 * time.Minute)
	r.restart(0)
	r.pass(time.Minute)
	if got := r.executions(); len(got) != 1 {
		t.Errorf("executions %v", got)
	}
	events, _, err := r.store.Events(ctx, s.ID, 0, 10)
	if err != nil || len(events) != 3 || events[0].Type != core.EventScheduleCreated || events[1].Type != core.EventScheduleTick || events[2].Type != core.EventScheduleDeleted {
		t.Errorf("%v, %v", events, err)
	}
	r.create(nil) // the name is free
}

func TestRefused(t *testing.T) {
	r := newRig(t)
	r.create(nil)
	early, late := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		change func(s *core.ScheduleSpec)
		code   core.Code
		text   string
	}{
		"NoName":     {func(s *core.ScheduleSpec) { s.Name = "" }, core.CodeValidation, "1 to 100 bytes"},
		"OddName":    {func(s *core.ScheduleSpec) { s.Name = "a\nb" }, core.CodeValidation, "printable"},
		"NameTaken":  {func(s *core.ScheduleSpec) { s.Name = "test" }, core.CodeConflict, "already"},
		"Cron":       {func(s *core.ScheduleSpec) { s.Cron = "x" }, core.CodeValidation, "five"},
		"Zone":       {func(s *core.ScheduleSpec) { s.TimeZone = "Nowhere" }, core.CodeValidation, "IANA"},
		"Jitter":     {func(s *core.ScheduleSpec) { s.Jitter = -1e9 }, core.CodeValidation, "jitter"},
		"Overlap":    {func(s *core.ScheduleSpec) { s.Overlap = "maybe" }, core.CodeValidation, "overlap"},
		"CatchUp":    {func(s *core.ScheduleSpec) { s.CatchUp = "some" }, core.CodeValidation, "catchUp"},
		"Limit":      {func(s *core.ScheduleSpec) { s.CatchUpLimit = 101 }, core.CodeValidation, "catchUpLimit"},
		"OverBefore": {func(s *core.ScheduleSpec) { s.EndAt = &early }, core.CodeValidation, "leaves no tick"},
		"NoTickLeft": {func(s *core.ScheduleSpec) { s.Cron, s.StartAt = "0 0 1 1 *", &late }, core.CodeValidation, "startAt: leaves no tick"},
		"NoTarget":   {func(s *core.ScheduleSpec) { s.Target = core.Target{} }, core.CodeValidation, "one of execution and thread"},
		"TooLarge": {func(s *core.ScheduleSpec) {
			s.Target = core.Target{Execution: &core.ExecutionTarget{Pattern: "p", Input: []byte(`"` + strings.Repeat("x", 70_000) + `"`)}}
		}, core.CodeValidation, "65536"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := core.ScheduleSpec{Name: "another", Cron: "0 0 * * *", Target: core.Target{Execution: &core.ExecutionTarget{Pattern: "p"}}}
			tt.change(&spec)
			_, err := r.CreateSchedule(core.WithPrincipal(ctx, ann), spec)
			wantCode(t, err, tt.code)
			if !strings.Contains(err.Error(), tt.text) {
				t.Errorf("%v does not say %q", err, tt.text)
			}
		})
	}
	if _, info, err := r.FindSchedules(ctx, core.ScheduleFilter{}); err != nil || info.Total != 1 {
		t.Errorf("%+v, %v", info, err)
	}
	_, err := r.PreviewTicks(ctx, core.ScheduleSpec{Cron: "0 0 * * *"}, 101)
	wantCode(t, err, core.CodeValidation)
}

// Whatever write fails or is cut off, each tick is started once.
func TestCrashes(t *testing.T) {
	for n := range 12 {
		t.Run(fmt.Sprintf("after %d writes", n), func(t *testing.T) {
			r := newRig(t)
			var ids []string
			for i, overlap := range []wire.OverlapPolicy{wire.OverlapAllow, wire.OverlapCancel, wire.OverlapQueue} {
				ids = append(ids, r.create(func(s *core.ScheduleSpec) {
					s.Name, s.Overlap, s.CatchUp, s.CatchUpLimit = string(overlap), overlap, wire.CatchUpAll, 50
					s.Target.Execution.Options.Metadata = core.Metadata{"scheduledAt": nil, "of": i}
				}).ID)
			}
			for range 6 {
				r.store.Break(n, errGone)
				for range 150 {
					r.clock.Advance(time.Second)
					coretest.WaitFor(t, "the loop", func() bool { return r.clock.Pending() > 0 })
				}
				r.Close()
				r.store.Heal()
				r.open()
				r.settleQueue(ids[2])
			}
			r.settleQueue(ids[2])
			for _, id := range ids {
				started := map[string]int{}
				events, _, err := r.store.Events(ctx, id, 0, 1000)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range events {
					if e.Type == core.EventScheduleTick && bytes.Contains(e.Data, []byte(`"started"`)) {
						_, tick, _ := strings.Cut(string(e.Data), `"tick":"`)
						started[tick[:20]]++
					}
				}
				got := r.get(id)
				last := r.clock.Now().Truncate(time.Minute)
				want := int(last.Sub(time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)) / time.Minute)
				if len(started) != want || int(got.Counts.Started) != want || got.Counts.Missed+got.Counts.Failed+got.Counts.Skipped != 0 {
					t.Errorf("%s: %d ticks started of %d: %+v", got.Name, len(started), want, got.Counts)
				}
				for tick, times := range started {
					if times != 1 {
						t.Errorf("%s: %s was started %d times", got.Name, tick, times)
					}
				}
			}
			_, info, err := r.store.FindExecutions(ctx, core.ExecutionFilter{Page: core.Page{Limit: 1}})
			var counted int64
			for _, id := range ids {
				counted += r.get(id).Counts.Started
			}
			if err != nil || int64(info.Total) != counted {
				t.Errorf("%d executions for %d starts, %v", info.Total, counted, err)
			}
		})
	}
}

// settleQueue lets a schedule come to the end of its queue.
func (r *rig) settleQueue(id string) {
	r.tb.Helper()
	for range 200 {
		coretest.WaitFor(r.tb, "the loop to wait", func() bool { return r.clock.Pending() > 0 && r.Idle() })
		s := r.get(id)
		for _, ref := range s.Running {
			if err := r.launch.end(ref.ExecutionID, core.ExecutionCompleted); err != nil {
				r.tb.Fatal(err)
			}
		}
		if s.Queued == 0 && len(s.Running) == 0 {
			return
		}
		r.clock.Advance(time.Second)
	}
	r.tb.Fatal("the queue does not come to its end")
}

// Another key for what is sealed ends nothing but that.
func TestAnotherSealKey(t *testing.T) {
	r := newRig(t)
	s := r.create(func(s *core.ScheduleSpec) {
		s.Target, s.Env = core.Target{Thread: &core.ThreadTarget{ThreadBrief: wire.ThreadBrief{AgentType: "claude"}}}, map[string]string{"KEY": "x"}
	})
	r.Close()
	r.opts.SealKey = [32]byte{2}
	r.open()
	r.pass(time.Minute)
	r.wants(s.ID, "03:05=failed")
	if run := r.get(s.ID).LastRun; !strings.Contains(run.Reason, "schedules.key") {
		t.Errorf("%+v", run)
	}
}

var _ core.ScheduleService = (*schedule.Service)(nil)
