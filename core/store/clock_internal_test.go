package store

import (
	"testing"
	"time"

	"github.com/wardroom/wardroom/core/coretest"
)

// Steps of the clock of a running process.
func TestClockBook(t *testing.T) {
	const day = 24 * time.Hour
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var b clockBook
	b.begin(clockRecord{}, time.Time{}, at)
	steps := func(when string, want ...time.Duration) {
		t.Helper()
		got := b.all()
		if len(got) != len(want) {
			t.Fatalf("%s: steps %+v, want %v", when, got, want)
		}
		for i := range want {
			if got[i].By != want[i] {
				t.Fatalf("%s: steps %+v, want %v", when, got, want)
			}
		}
	}
	b.observe(at.Add(time.Minute))
	steps("a minute later")
	b.observe(at.Add(40 * day))
	steps("a month ahead", 40*day-time.Minute)
	old := cutoff{before: at.Add(10 * day), now: at.Add(40 * day), steps: b.all()} // 30 days are kept
	if old.passed(at) || !old.passed(at.Add(-30*day)) {
		t.Error("what was there ages by the time that passed")
	}
	b.observe(at.Add(80 * day))
	steps("another one", 40*day-time.Minute, 40*day)
	b.observe(at.Add(time.Hour))
	steps("back again")
	b.observe(at)
	b.observe(at.Add(59 * time.Minute)) // less than an hour back is no step
	steps("a little back")
	for i := range 3 * maxClockSteps {
		b.observe(at.Add(time.Duration(i+1) * 2 * day))
	}
	if n := len(b.all()); n != maxClockSteps {
		t.Errorf("%d steps are kept", n)
	}
	var sum time.Duration
	for _, s := range b.all() {
		sum += s.By
	}
	if want := 3*maxClockSteps*2*day - time.Hour; sum != want {
		t.Errorf("they are %s in all, want %s", sum, want)
	}
}

// However long nobody looked, what passed by the monotonic clock is no step of the wall clock.
func TestClockBookAfterLong(t *testing.T) {
	const day = 24 * time.Hour
	clock := coretest.NewStepClock()
	var b clockBook
	b.begin(clockRecord{}, time.Time{}, clock.Now())
	clock.Advance(5 * day) // a run of retention on a store that is large, and a disk that is slow
	b.observe(clock.Now())
	if steps := b.all(); len(steps) > 0 {
		t.Fatalf("time that passed is a step: %+v", steps)
	}
	clock.Advance(5 * day)
	clock.Step(40 * day)
	b.observe(clock.Now())
	if steps := b.all(); len(steps) != 1 || steps[0].By != 40*day {
		t.Fatalf("steps %+v, want one of 40 days", steps)
	}
	clock.Advance(60 * day)
	clock.Step(-40 * day) // the wall clock is ahead of where it was, and set back all the same
	b.observe(clock.Now())
	if steps := b.all(); len(steps) > 0 {
		t.Errorf("a step that was taken back is left: %+v", steps)
	}
}
