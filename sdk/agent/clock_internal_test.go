package agent

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

func TestTaskClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		c := newTaskClock(time.Now, 10*time.Second)
		ctx, end := c.begin(t.Context())
		defer end(nil)
		after := func(d time.Duration) { <-time.After(d) }
		after(4 * time.Second)
		c.pause()
		c.pause()
		after(time.Hour)
		if at, limited := ctx.Deadline(); ctx.Err() != nil || !limited || time.Until(at) != 6*time.Second {
			t.Errorf("while it stands: %v, deadline in %s", ctx.Err(), time.Until(at))
		}
		c.resume()
		c.resume()
		child, cancel := context.WithCancel(ctx)
		defer cancel()
		<-child.Done()
		if took := time.Since(began); took != time.Hour+10*time.Second {
			t.Errorf("it ended after %s", took)
		}
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) || !errors.Is(context.Cause(child), context.DeadlineExceeded) {
			t.Errorf("it ended with %v, the context made of it with %v", ctx.Err(), context.Cause(child))
		}
	})
}

func TestTaskClock_Cancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := newTaskClock(time.Now, time.Second).begin(t.Context())
		end(ErrReassigned)
		if !errors.Is(ctx.Err(), context.Canceled) || !errors.Is(context.Cause(ctx), ErrReassigned) {
			t.Errorf("ended with %v because of %v", ctx.Err(), context.Cause(ctx))
		}
	})
}

func TestTaskClock_Unlimited(t *testing.T) {
	c := newTaskClock(time.Now, 0)
	c.pause()
	c.resume()
	ctx, end := c.begin(t.Context())
	defer end(nil)
	if _, limited := ctx.Deadline(); limited {
		t.Error("it has a deadline")
	}
}

// The clock stands while any question of the task is open.
func TestLedger_AskedTaskHasTime(t *testing.T) {
	now := time.Unix(1000, 0)
	l := newLedger(1, func() time.Time { return now })
	task := l.admit(&Task{Task: protocol.Task{TaskID: "one", Timeout: 1000}})
	one, two := newQuestion(task, "q1", nil), newQuestion(task, "q2", nil)
	if err := errors.Join(l.ask(one), l.ask(two)); err != nil {
		t.Fatal(err)
	}
	left := func() time.Duration {
		at, _ := task.Deadline()
		return at.Sub(now)
	}
	now = now.Add(time.Hour)
	l.forget(one)
	now = now.Add(time.Hour)
	if left() != time.Second {
		t.Errorf("%s are left while it waits, want a second", left())
	}
	l.forget(two)
	l.forget(two)
	now = now.Add(300 * time.Millisecond)
	if left() != 700*time.Millisecond {
		t.Errorf("%s are left after it waited, want 700ms", left())
	}
}
