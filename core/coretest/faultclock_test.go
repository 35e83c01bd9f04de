package coretest_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core/coretest"
)

func TestFaultClock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "clock")
	c := coretest.NewFaultClock(path)
	defer c.Close()
	move := func(skew coretest.Skew) {
		t.Helper()
		if err := coretest.WriteSkew(path, skew); err != nil {
			t.Fatal(err)
		}
		coretest.WaitFor(t, "the clock to be set", func() bool {
			seen, err := coretest.SkewSeen(path)
			return err == nil && seen == skew
		})
	}
	near := func(what string, got, want time.Duration) {
		t.Helper()
		if (got - want).Abs() > 30*time.Second { // the machine may be busy
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	near("the wall clock at first", time.Until(c.Now().Round(0)), 0)
	began := c.Now()
	fired := make(chan struct{})
	c.AfterFunc(time.Hour, func() { close(fired) })
	stopped := c.AfterFunc(time.Hour, func() { t.Error("a stopped timer ran") })
	move(coretest.Skew{Set: -48 * time.Hour})
	near("the time that passed over a step", c.Now().Sub(began), 0)
	near("the wall clock after a step", c.Now().Round(0).Sub(began.Round(0)), -48*time.Hour)
	move(coretest.Skew{Set: 48 * time.Hour, Passed: 30 * time.Minute})
	near("the time that passed", c.Now().Sub(began), 30*time.Minute)
	select {
	case <-fired:
		t.Fatal("a timer of an hour ran after half an hour")
	default:
	}
	if !stopped.Stop() || stopped.Stop() {
		t.Error("a timer that waits can be stopped once")
	}
	move(coretest.Skew{Passed: 61 * time.Minute})
	select {
	case <-fired:
	case <-time.After(10 * time.Second):
		t.Fatal("a timer of an hour did not run after one")
	}
	near("the wall clock at last", c.Now().Round(0).Sub(began.Round(0)), 61*time.Minute)
}
