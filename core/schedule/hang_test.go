package schedule_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/wire"
)

// Threads whose host does not answer keep neither executions nor, once they failed, other threads from their ticks.
func TestThreadsHang(t *testing.T) {
	const all, half = 8, 4
	r := newRig(t)
	var mu sync.Mutex // guards what follows
	hanging, most, longest := 0, 0, time.Duration(0)
	release := make(chan struct{})
	r.launch.set(func() {
		r.launch.hold = func(ctx context.Context, target core.Target) error {
			if target.Thread == nil || target.Thread.AgentType != "slow" {
				return nil
			}
			until, _ := ctx.Deadline()
			mu.Lock()
			hanging++
			most, longest = max(most, hanging), max(longest, time.Until(until))
			wait := release
			mu.Unlock()
			select {
			case <-ctx.Done():
			case <-wait:
			}
			mu.Lock()
			hanging--
			mu.Unlock()
			return core.Unavailable("timeout", "the host does not answer")
		}
	})
	thread := func(name, agent string) *core.Schedule {
		return r.create(func(s *core.ScheduleSpec) {
			s.Name, s.Target = name, core.Target{Thread: &core.ThreadTarget{ThreadBrief: wire.ThreadBrief{AgentType: agent}}}
		})
	}
	for i := range all {
		thread(fmt.Sprint("slow", i), "slow")
	}
	healthy, execution := thread("healthy", "claude"), r.create(nil)
	hang := func(want int) {
		t.Helper()
		coretest.WaitFor(t, fmt.Sprintf("%d starts to hang", want), func() bool {
			mu.Lock()
			defer mu.Unlock()
			return hanging == want
		})
	}
	r.settle()
	r.clock.Advance(time.Minute)
	hang(all)
	coretest.WaitFor(t, "the execution", func() bool { return r.get(execution.ID).Counts.Started == 1 })
	mu.Lock()
	close(release)
	release, most, longest = make(chan struct{}), 0, 0
	mu.Unlock()
	r.settle()
	r.clock.Advance(2 * time.Second) // they are tried again
	hang(half)
	r.clock.Advance(time.Minute)
	for _, s := range []*core.Schedule{healthy, execution} {
		coretest.WaitFor(t, s.Name, func() bool { return r.get(s.ID).Counts.Started == 2 })
	}
	mu.Lock()
	defer mu.Unlock()
	if most != half || longest > 20*time.Second {
		t.Errorf("%d hang at once, for %s", most, longest)
	}
}

// Threads of repositories whose hosts do not answer keep no thread of another from its first tick.
func TestHostHangs(t *testing.T) {
	r := newRig(t)
	r.Close()
	r.opts.Host = func(t core.Target) string {
		if t.Thread == nil || t.Thread.Preparation.Workspace == nil {
			return ""
		}
		return t.Thread.Preparation.Workspace.Repo
	}
	r.open()
	release := make(chan struct{})
	r.launch.set(func() {
		r.launch.hold = func(ctx context.Context, target core.Target) error {
			if !strings.HasPrefix(r.opts.Host(target), "away") {
				return nil
			}
			select {
			case <-ctx.Done():
			case <-release:
			}
			return core.Unavailable("timeout", "the host does not answer")
		}
	})
	thread := func(name, host string) *core.Schedule {
		return r.create(func(s *core.ScheduleSpec) {
			s.Name, s.Target = name, core.Target{Thread: &core.ThreadTarget{
				ThreadBrief: wire.ThreadBrief{AgentType: "claude"}, Preparation: wire.TargetPreparation{Workspace: &wire.WorkspaceSpec{Repo: host}},
			}}
		})
	}
	for i := range 24 {
		thread(fmt.Sprint("slow", i), fmt.Sprint("away", i%3))
	}
	var healthy []*core.Schedule
	for i := range 6 {
		healthy = append(healthy, thread(fmt.Sprint("healthy", i), "there"))
	}
	r.settle()
	r.clock.Advance(time.Minute)
	for _, s := range healthy {
		coretest.WaitFor(t, s.Name, func() bool { return r.get(s.ID).Counts.Started == 1 })
	}
	close(release)
}

// A start that hangs keeps no change from being made, and is tried again where the change was refused.
func TestChangeDuringStart(t *testing.T) {
	name, never := "other", "0 0 30 2 *"
	for what, change := range map[string]func(r *rig, id string) error{
		"Pause":  func(r *rig, id string) error { _, err := r.PauseSchedule(ctx, id, ""); return err },
		"Delete": func(r *rig, id string) error { return r.DeleteSchedule(ctx, id) },
		"Rename": func(r *rig, id string) error {
			_, err := r.UpdateSchedule(core.WithPrincipal(ctx, ann), id, core.SchedulePatch{Name: &name})
			return err
		},
		"Refused": func(r *rig, id string) error {
			_, err := r.UpdateSchedule(core.WithPrincipal(ctx, ann), id, core.SchedulePatch{Cron: &never})
			wantCode(r.tb, err, core.CodeValidation)
			return nil
		},
	} {
		t.Run(what, func(t *testing.T) {
			r := newRig(t)
			s := r.create(nil)
			hanging := make(chan struct{}, 1)
			hold := func(ctx context.Context, _ core.Target) error {
				hanging <- struct{}{}
				<-ctx.Done()
				return core.Unavailable("timeout", "the host does not answer")
			}
			r.launch.set(func() { r.launch.hold = hold })
			r.settle()
			r.clock.Advance(time.Minute)
			<-hanging
			gone, leave := context.WithCancel(ctx)
			leave()
			if _, err := r.RunSchedule(gone, s.ID); !errors.Is(err, context.Canceled) {
				t.Errorf("who left still waits for the start: %v", err)
			}
			r.launch.set(func() { r.launch.hold = nil })
			if err := change(r, s.ID); err != nil {
				t.Fatal(err)
			}
			r.pass(5 * time.Second)
			want := 0
			if what == "Rename" || what == "Refused" {
				want = 1
			}
			if got := r.executions(); len(got) != want {
				t.Errorf("executions %v", got)
			}
			if want == 1 {
				r.wants(s.ID, "03:05=started")
			}
		})
	}
	t.Run("RunByHand", func(t *testing.T) {
		r := newRig(t)
		s := r.create(nil)
		hanging := make(chan struct{}, 1)
		r.launch.set(func() {
			r.launch.hold = func(ctx context.Context, _ core.Target) error {
				hanging <- struct{}{}
				<-ctx.Done()
				return ctx.Err()
			}
		})
		ran := make(chan error, 1)
		go func() {
			_, err := r.RunSchedule(ctx, s.ID)
			ran <- err
		}()
		<-hanging
		if _, err := r.PauseSchedule(ctx, s.ID, ""); err != nil {
			t.Error(err)
		}
		wantCode(t, <-ran, core.CodeConflict)
	})
}

// A tick whose starts fail for a while is tried on after a change that leaves its time as it is: it is none that was missed.
func TestChangeWhileStartsFail(t *testing.T) {
	name := "other"
	for what, change := range map[string]func(r *rig, id string) error{
		"Rename": func(r *rig, id string) error {
			_, err := r.UpdateSchedule(core.WithPrincipal(ctx, ann), id, core.SchedulePatch{Name: &name})
			return err
		},
		"RunByHand": func(r *rig, id string) error {
			r.launch.set(func() { r.launch.refuse = nil })
			_, err := r.RunSchedule(core.WithPrincipal(ctx, ann), id)
			return err
		},
	} {
		t.Run(what, func(t *testing.T) {
			r := newRig(t)
			s := r.create(func(s *core.ScheduleSpec) { s.Cron, s.CatchUp = "5 * * * *", wire.CatchUpNone })
			r.launch.set(func() { r.launch.refuse = core.Unavailable("timeout", "the host does not answer") })
			r.settle()
			r.clock.Advance(time.Minute)
			r.pass(3 * time.Minute)
			r.wants(s.ID, "")
			if err := change(r, s.ID); err != nil {
				t.Fatal(err)
			}
			r.settle()
			r.launch.set(func() { r.launch.refuse = nil })
			r.pass(time.Minute)
			if got := r.get(s.ID).Counts; got.Missed != 0 || !strings.Contains(r.outcomes(s.ID), "03:05=started") {
				t.Errorf("%+v, %s, %v", got, r.outcomes(s.ID), r.executions())
			}
		})
	}
}

// stepClock is a clock that moves on just before a timer is set.
type stepClock struct {
	*coretest.Clock
	step atomic.Int64 // by how much the next time
}

func (c *stepClock) AfterFunc(d time.Duration, f func()) core.Timer {
	c.Advance(time.Duration(c.step.Swap(0)))
	return c.Clock.AfterFunc(d, f)
}

// A clock that moves on between a look and its timer keeps no tick waiting.
func TestClockMovesBeforeTheTimer(t *testing.T) {
	r := newRig(t)
	s := r.create(nil)
	r.settle()
	r.Close()
	clock := &stepClock{Clock: r.clock}
	r.opts.Clock = clock
	r.open()
	r.settle()
	clock.step.Store(int64(time.Minute))
	r.clock.Advance(5 * time.Second)
	coretest.WaitFor(t, "the tick", func() bool { return r.get(s.ID).Counts.Started == 1 })
	r.settle()
	r.wants(s.ID, "03:05=started")
}
