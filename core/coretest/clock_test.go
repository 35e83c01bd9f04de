package coretest_test

import (
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

func TestStepClock(t *testing.T) {
	plain, c := coretest.NewClock(), coretest.NewStepClock()
	began := c.Now()
	if !began.Equal(plain.Now()) || began.Location() != time.UTC {
		t.Fatalf("it begins at %v, want %v", began, plain.Now())
	}
	var fired bool
	c.AfterFunc(time.Minute, func() { fired = true })
	for _, step := range []time.Duration{time.Hour, -3 * time.Hour, 1500 * time.Millisecond} {
		before := c.Now()
		c.Step(step)
		if after := c.Now(); after.Sub(before) != 0 || after.Round(0).Sub(before.Round(0)) != step {
			t.Errorf("a step of %v: %v passed, and the wall clock moved by %v", step, after.Sub(before), after.Round(0).Sub(before.Round(0)))
		}
	}
	if fired {
		t.Error("a step ran a timer")
	}
	c.Advance(time.Minute)
	if now := c.Now(); !fired || now.Sub(began) != time.Minute || now.Round(0).Sub(began.Round(0)) != time.Minute-2*time.Hour+1500*time.Millisecond {
		t.Errorf("after a minute %v passed, the wall clock is at %v, fired %t", now.Sub(began), now, fired)
	}
}

// The real clock has what limits are kept by.
func TestSystemClockIsMonotonic(t *testing.T) {
	watch := core.NewStopwatch(core.SystemClock{})
	now := core.SystemClock{}.Now()
	if now == now.Round(0) { //nolint:staticcheck // == sees the monotonic reading, Equal does not
		t.Errorf("%v has no monotonic reading", now)
	}
	if first, second := watch.At(now), watch.At(now.Add(time.Second)); first <= 0 || second-first != int64(time.Second) {
		t.Errorf("a second is %d to %d", first, second)
	}
}
