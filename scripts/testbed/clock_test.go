package testbed

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core/coretest"
)

// A process that follows the clock is waited for; one that has ended is not.
func TestClock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "clock")
	follower := coretest.NewFaultClock(path)
	defer follower.Close()
	running, _ := shell(t, "echo 'ready: '; exec cat /dev/zero >/dev/null")
	<-running.Ready
	c := NewClock(path)
	for _, step := range []struct {
		move func() error
		want time.Duration
	}{
		{func() error { return c.Set(t.Context(), -time.Hour, running) }, -time.Hour},
		{func() error { return c.Pass(t.Context(), 48*time.Hour, running) }, 47 * time.Hour},
		{func() error { return c.Set(t.Context(), 0, running) }, 0},
	} {
		if err := step.move(); err != nil {
			t.Fatal(err)
		}
		for what, now := range map[string]time.Time{"the process": follower.Now(), "the rig": c.Now()} {
			if off := time.Until(now.Round(0)) - step.want; off.Abs() > 30*time.Second {
				t.Errorf("the clock of %s is %s off, want %s", what, time.Until(now.Round(0)), step.want)
			}
		}
	}
	running.Kill()
	if err := c.Set(t.Context(), time.Hour, running); err != nil {
		t.Errorf("of a process that has ended: %v", err)
	}
}
