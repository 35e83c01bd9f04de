package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/store"
)

// maintained is a store with its maintenance, whose clock a test steps.
type maintained struct {
	*store.Store
	clock *coretest.Clock
	stop  func()
}

func maintain(t *testing.T, dir string, clock *coretest.Clock, policy store.Policy) *maintained {
	t.Helper()
	s, err := store.Open(ctx, store.Options{Path: dir, MinFreeBytes: 1 << 20, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	run, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- s.RunMaintenance(run, func() store.Policy { return policy }) }()
	m := &maintained{Store: s, clock: clock}
	stopped := false
	m.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("maintenance: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(m.stop)
	return m
}

// let the clock go on for some time, a look at a time.
func (m *maintained) pass(t *testing.T, d time.Duration) {
	t.Helper()
	// A look that was under way may count for one step, and the next one sees two: far less than what is taken for a leap.
	step, until := min(max(10*time.Minute, d/40), 8*time.Hour), m.clock.Now().Add(d)
	for m.clock.Now().Before(until) {
		looks := m.Stats().Maintained
		m.clock.Advance(min(step, until.Sub(m.clock.Now())))
		coretest.WaitFor(t, "a look at the clock", func() bool {
			m.clock.Advance(10 * time.Second)
			return m.Stats().Maintained > looks
		})
	}
}

func (m *maintained) total(t *testing.T) int {
	t.Helper()
	_, info, err := m.FindExecutions(ctx, core.ExecutionFilter{})
	if err != nil {
		t.Fatal(err)
	}
	return info.Total
}

var month = store.Policy{Executions: 30 * 24 * time.Hour, Events: 30 * 24 * time.Hour, Batches: 30 * 24 * time.Hour}

// A start with a clock that is a month ahead erases nothing: not at once, and not once the clock is right again.
func TestClockAheadAtStart(t *testing.T) {
	t.Parallel()
	for _, known := range []bool{false, true} { // whether the process before knew of the clock
		dir := t.TempDir()
		clock := coretest.NewClock()
		began := clock.Now()
		s := maintain(t, dir, clock, month)
		for i := range 10 {
			run(t, s.Store, idAt(clock.Now(), i+1), "vote", core.ExecutionCompleted)
		}
		if known {
			s.pass(t, time.Hour)
		}
		s.stop()

		clock.Advance(31 * 24 * time.Hour)
		s = maintain(t, dir, clock, month)
		s.pass(t, 3*time.Hour)
		if n := s.total(t); n != 10 {
			t.Fatalf("%d of 10 executions are left", n)
		}
		steps := s.ClockSteps()
		if len(steps) != 1 || steps[0].By < 30*24*time.Hour || steps[0].Until <= 0 || steps[0].Until > 24*time.Hour {
			t.Fatalf("steps: %+v", steps)
		}
		// Services ask for what they keep themselves: agents that stopped, workspaces, experiences.
		if s.Older(began, 24*time.Hour) || !s.Older(began.Add(-24*time.Hour), 24*time.Hour) || !s.Older(clock.Now(), 0) {
			t.Error("services are told another age than retention goes by")
		}
		run(t, s.Store, idAt(clock.Now(), 1), "vote", core.ExecutionCompleted) // in the wrong month
		s.stop()
		clock.Advance(-31 * 24 * time.Hour) // somebody set it
		s = maintain(t, dir, clock, month)
		s.pass(t, 3*time.Hour)
		if n, steps := s.total(t), s.ClockSteps(); n != 11 || len(steps) != 0 {
			t.Fatalf("after the clock was set: %d executions, steps %+v", n, steps)
		}
		s.pass(t, 31*24*time.Hour)
		if n := s.total(t); n > 1 {
			t.Fatalf("%d executions outlive the month", n)
		}
		s.stop()
	}
}

// A machine that was off for long is believed in a day; until then nothing is erased for it.
func TestClockAfterLongOff(t *testing.T) {
	dir := t.TempDir()
	clock := coretest.NewClock()
	s := maintain(t, dir, clock, month)
	run(t, s.Store, idAt(clock.Now(), 1), "vote", core.ExecutionCompleted)
	s.stop()
	clock.Advance(60 * 24 * time.Hour)
	s = maintain(t, dir, clock, month)
	s.pass(t, 12*time.Hour)
	s.stop() // what it saw counts over restarts
	s = maintain(t, dir, clock, month)
	s.pass(t, 10*time.Hour)
	if n := s.total(t); n != 1 {
		t.Fatal("it was erased within the day")
	}
	s.pass(t, 5*time.Hour)
	if n, steps := s.total(t), s.ClockSteps(); n != 0 || len(steps) != 0 {
		t.Fatalf("after the day: %d executions, steps %+v", n, steps)
	}
}

// What was made while the clock was years behind is not old once it is set.
func TestClockBehind(t *testing.T) {
	t.Parallel()
	clock := coretest.NewClock()
	s := maintain(t, t.TempDir(), clock, month)
	s.pass(t, time.Hour)
	run(t, s.Store, idAt(clock.Now(), 1), "vote", core.ExecutionCompleted)
	s.pass(t, time.Hour)
	clock.Advance(5 * 365 * 24 * time.Hour)
	s.pass(t, 48*time.Hour)
	if n, steps := s.total(t), s.ClockSteps(); n != 1 || len(steps) != 1 || steps[0].Until != 0 {
		t.Fatalf("%d executions, steps %+v", n, steps)
	}
	for range 31 {
		clock.Advance(20 * time.Hour)
		s.pass(t, 4*time.Hour)
	}
	if n := s.total(t); n != 0 {
		t.Fatal("it is kept for ever")
	}
}

// The first run is not at once.
func TestFirstMaintenance(t *testing.T) {
	dir := t.TempDir()
	clock := coretest.NewClock()
	s := maintain(t, dir, clock, store.Policy{Executions: time.Hour})
	run(t, s.Store, idAt(clock.Now(), 1), "vote", core.ExecutionCompleted)
	s.stop()
	clock.Advance(2 * time.Hour)
	s = maintain(t, dir, clock, store.Policy{Executions: time.Hour})
	s.pass(t, 5*time.Minute)
	if s.total(t) != 1 {
		t.Fatal("retention ran at the start")
	}
	s.pass(t, 15*time.Minute)
	if s.total(t) != 0 {
		t.Fatal("retention did not run")
	}
}

// Ids that are made while the clock is behind sort after those that are stored.
func TestNewestTime(t *testing.T) {
	clock := coretest.NewClock()
	s := mustOpen(t, store.Options{Clock: clock})
	if at, err := s.NewestTime(ctx); err != nil || !at.IsZero() {
		t.Fatalf("of an empty store: %v, %v", at, err)
	}
	ids := core.NewIDs(clock)
	last := ids.New(core.PrefixExecution)
	putExecution(t, s, execution(last, "vote", core.ExecutionCompleted))
	putExecution(t, s, execution(idAt(clock.Now().Add(90*24*time.Hour), 1), "vote", core.ExecutionCompleted)) // a wrong clock's
	clock.Advance(-24 * time.Hour)
	at, err := s.NewestTime(ctx)
	if made, _ := core.IDTime(last); err != nil || !at.Equal(made) {
		t.Fatalf("%v, %v", at, err)
	}
	again := core.NewIDs(clock)
	again.NotBefore(at)
	if id := again.New(core.PrefixExecution); id <= last {
		t.Fatalf("%s sorts before %s", id, last)
	}
}

// A step of the clock makes no client's key count anew, neither while the process runs nor over a restart; a day that
// passes does.
func TestClockStepsAndKeys(t *testing.T) {
	dir := t.TempDir()
	clock := coretest.NewStepClock()
	claim := &core.IdempotencyClaim{Scope: "s", Key: "k", BodyHash: "f"}
	s := maintain(t, dir, clock, month)
	now := func() time.Time { return clock.Now().UTC() }
	if err := s.Update(ctx, func(tx core.Tx) error { return tx.ClaimIdempotency(claim, "exec_1", now()) }); err != nil {
		t.Fatal(err)
	}
	counts := func(when string, want bool) {
		t.Helper()
		rec, err := s.FindIdempotency(ctx, claim.Scope, claim.Key, now())
		if err != nil || (rec != nil) != want {
			t.Fatalf("%s: found %v, %v; want it %t", when, rec, err, want)
		}
		if !want {
			return
		}
		err = s.Update(ctx, func(tx core.Tx) error { return tx.ClaimIdempotency(claim, "exec_2", now()) })
		wantCode(t, err, core.CodeConflict)
	}
	clock.Step(31 * 24 * time.Hour)
	counts("a month ahead", true)
	s.pass(t, time.Hour)
	counts("an hour later", true)
	clock.Step(-31 * 24 * time.Hour)
	counts("set back", true)
	s.stop()
	clock.Step(31 * 24 * time.Hour)
	s = maintain(t, dir, clock, month)
	counts("a month ahead at the start", true)
	s.stop()
	clock.Step(-31 * 24 * time.Hour)
	s = maintain(t, dir, clock, month)
	counts("set back at the start", true)
	s.pass(t, 25*time.Hour)
	counts("a day later", false)
}

// A process that was killed soon after its clock was set ahead, before any look at the clock, leaves things of the future
// behind: they do not say what time it is.
func TestClockOfShortLives(t *testing.T) {
	dir := t.TempDir()
	clock := coretest.NewStepClock()
	claim := &core.IdempotencyClaim{Scope: "s", Key: "k", BodyHash: "b"}
	s := maintain(t, dir, clock, month)
	if err := s.Update(ctx, func(tx core.Tx) error { return tx.ClaimIdempotency(claim, "exec_1", clock.Now().UTC()) }); err != nil {
		t.Fatal(err)
	}
	coretest.WaitFor(t, "maintenance to wait for its first look", func() bool { return clock.Pending() >= 2 })
	clock.Step(31 * 24 * time.Hour)
	run(t, s.Store, idAt(clock.Now(), 1), "vote", core.ExecutionCompleted)
	s.stop()
	clock.Step(-31 * 24 * time.Hour)
	s = maintain(t, dir, clock, month)
	s.stop()
	clock.Step(31 * 24 * time.Hour)
	s = maintain(t, dir, clock, month)
	if rec, err := s.FindIdempotency(ctx, claim.Scope, claim.Key, clock.Now().UTC()); err != nil || rec == nil {
		t.Fatalf("a month ahead at the start: %v, %v", rec, err)
	}
}
