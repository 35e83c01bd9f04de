package e2e_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/wardroom/wardroom/scripts/testbed"
	"github.com/wardroom/wardroom/sdk/client"
)

// The process is killed around the ticks of a schedule: before one, at once when one is due, and after it; and it is away
// while others are due. In the end each tick started exactly one execution, and none is missing.
func TestKillAroundTicks(t *testing.T) {
	dir := t.TempDir()
	built, err := testbed.Build(t.Context(), t.TempDir(), testbed.ClockTag)
	if err != nil {
		t.Fatal(err)
	}
	clock := testbed.NewClock(filepath.Join(dir, "clock"))
	s := &server{t: t, dir: dir, bin: built, env: []string{clock.Env()}, args: []string{"dev", "--data-dir", dir, "--listen"}}
	s.start()
	s.put(single, "tick", "tick")
	spec := client.ScheduleSpec{Target: client.Target{Execution: &client.ExecutionTarget{Pattern: "tick"}}}
	spec.Name, spec.Cron = "each-minute", "* * * * *"
	spec.Overlap, spec.CatchUp, spec.CatchUpLimit = "allow", "all", 100
	made, err := s.api.CreateSchedule(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
	defer cancel()
	pass := func(by time.Duration) {
		t.Helper()
		if err := clock.Pass(ctx, by, s.process); err != nil {
			t.Fatal(err)
		}
	}
	// caughtUp waits until no tick is due that was not dealt with.
	caughtUp := func() (now *client.Schedule) {
		t.Helper()
		eventually(t, "the schedule to have no tick that is due", func() bool {
			now, err = s.api.GetSchedule(ctx, made.ID)
			return err == nil && now.NextAt != nil && now.NextAt.After(clock.Now())
		})
		return now
	}
	for round := range 8 {
		due := caughtUp().NextAt.Sub(clock.Now())
		switch round % 4 {
		case 0: // just before the tick, which falls into the time without the server
			pass(max(due-time.Second, 0))
			s.kill()
			pass(2 * time.Second)
		case 1: // at the very moment
			pass(due)
			s.kill()
		case 2: // a little later: it is being stored, or was
			pass(due + 10*time.Millisecond)
			_, _ = s.api.GetSchedule(ctx, made.ID)
			s.kill()
		case 3: // after it was stored; three more fall into the time without the server
			pass(due)
			caughtUp()
			s.kill()
			pass(3 * time.Minute)
		}
		s.start()
	}
	end := caughtUp()
	want := map[string]bool{}
	for tick := end.CreatedAt.Truncate(time.Minute).Add(time.Minute); tick.Before(*end.NextAt); tick = tick.Add(time.Minute) {
		want[tick.UTC().Format(time.RFC3339)] = true
	}
	if c := end.Counts; c.Started != int64(len(want)) || c.Missed+c.Skipped+c.Failed+c.Blocked != 0 {
		t.Errorf("%d ticks, and %+v", len(want), c)
	}
	list, err := s.api.ListExecutions(ctx, client.ExecutionFilter{Page: client.Page{Limit: 100}})
	if err != nil || list.Total != len(want) {
		t.Fatalf("%d executions for %d ticks: %v", list.Total, len(want), err)
	}
	for _, row := range list.Executions {
		at, err := time.Parse(time.RFC3339Nano, row.Metadata["scheduledAt"])
		if key := at.UTC().Format(time.RFC3339); err != nil || !want[key] {
			t.Errorf("%s is of the tick %q, which is none or had one already", row.ExecutionID, row.Metadata["scheduledAt"])
		} else {
			delete(want, key)
		}
	}
}
