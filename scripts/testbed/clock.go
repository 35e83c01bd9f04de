package testbed

import (
	"context"
	"fmt"
	"time"

	"github.com/wardroom/wardroom/core/coretest"
)

// ClockTag is the build tag of a product with a clock that a rig moves; see Build.
const ClockTag = "faultclock"

// clockEnv names the file that such a product takes its clock from.
const clockEnv = "WARDROOM_FAULT_CLOCK"

// clockWithin bounds how long a process may take to follow its clock.
const clockWithin = time.Minute

// Clock is the clock of a product that was built with ClockTag. It outlives the processes. Not safe for concurrent use.
type Clock struct {
	path string
	skew coretest.Skew
}

// NewClock returns a clock that is right, and is moved by the file of that name.
func NewClock(path string) *Clock { return &Clock{path: path} }

// Env returns the variable that hands the clock to a process; see Command.
func (c *Clock) Env() string { return clockEnv + "=" + c.path }

// Now returns what the clock says.
func (c *Clock) Now() time.Time { return time.Now().Add(c.skew.Passed + c.skew.Set) }

// Set steps the wall clock to so much before or after the true time; no time passes. If p, which may be nil, runs, it has
// followed when Set returns.
func (c *Clock) Set(ctx context.Context, by time.Duration, p *Process) error {
	c.skew.Set = by - c.skew.Passed
	return c.move(ctx, p)
}

// Pass has time go by at once: what is due then is done then.
func (c *Clock) Pass(ctx context.Context, by time.Duration, p *Process) error {
	c.skew.Passed += by
	return c.move(ctx, p)
}

func (c *Clock) move(ctx context.Context, p *Process) error {
	if err := coretest.WriteSkew(c.path, c.skew); err != nil {
		return err
	}
	if p == nil || p.Ended() {
		return nil
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(clockWithin); ; {
		if seen, err := coretest.SkewSeen(c.path); err == nil && seen == c.skew {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("process %d does not follow its clock %s: is it built with the tag %s?", p.PID(), c.path, ClockTag)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
