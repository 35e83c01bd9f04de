package agent

import (
	"context"
	"errors"
	"sync"
	"time"
)

// taskClock is the time that a task has. It stands still while the task waits for replies, as the server's does, and
// ends the handler's context once it has run out. Safe for concurrent use.
type taskClock struct {
	now func() time.Time

	mu       sync.Mutex    // guards all below
	due      time.Time     // while it runs
	left     time.Duration // while it stands
	standing bool
	timer    *time.Timer // or nil: no handler runs
}

// newTaskClock makes a clock that runs. It returns nil, which may be used, for a task without a limit.
func newTaskClock(now func() time.Time, limit time.Duration) *taskClock {
	if limit <= 0 {
		return nil
	}
	return &taskClock{now: now, due: now().Add(limit)}
}

// begin returns the context of a handler. Its end must be called.
func (c *taskClock) begin(work context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(work)
	if c == nil {
		return ctx, cancel
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timer = time.AfterFunc(c.due.Sub(c.now()), func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !c.standing {
			cancel(context.DeadlineExceeded)
		}
	})
	return timed{ctx, c}, func(cause error) {
		cancel(cause)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.timer.Stop()
	}
}

// pause lets the clock stand still.
func (c *taskClock) pause() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.standing {
		return
	}
	c.standing, c.left = true, c.due.Sub(c.now())
	if c.timer != nil {
		c.timer.Stop()
	}
}

// resume lets it go on.
func (c *taskClock) resume() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.standing {
		return
	}
	c.standing, c.due = false, c.now().Add(c.left)
	if c.timer != nil {
		c.timer.Reset(c.left)
	}
}

// deadline is when the time is over, if it goes on from now.
func (c *taskClock) deadline() (time.Time, bool) {
	if c == nil {
		return time.Time{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.standing {
		return c.now().Add(c.left), true
	}
	return c.due, true
}

// timed is the context of a handler with a limit. Its deadline moves with the clock.
type timed struct {
	context.Context
	clock *taskClock
}

func (t timed) Deadline() (time.Time, bool) { return t.clock.deadline() }

// Err tells a limit from a cancel, as the contexts of the standard library do.
func (t timed) Err() error {
	err := t.Context.Err()
	if err != nil && errors.Is(context.Cause(t.Context), context.DeadlineExceeded) {
		return context.DeadlineExceeded
	}
	return err
}
