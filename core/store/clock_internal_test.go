package store

import (
	"testing"
	"time"
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
