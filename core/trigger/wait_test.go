package trigger_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/trigger"
	"github.com/wardroom/wardroom/sdk/wire"
)

// heldLauncher calls held in each check of a target, which has the trigger's lock.
type heldLauncher struct {
	*launcher
	held func()
}

func (l *heldLauncher) CheckTarget(context.Context, core.Target) error {
	l.held()
	return nil
}

// A request that waits while its trigger changes is checked again by what the trigger is then.
func TestWaitsForRotation(t *testing.T) {
	for name, tt := range map[string]struct {
		overlap, pass time.Duration
		code          core.Code
	}{
		"AtOnce":        {0, 0, core.CodeUnauthorized},
		"Overlap":       {time.Hour, 0, ""},
		"OverlapIsOver": {time.Minute, time.Minute, core.CodeUnauthorized},
		"LongWait":      {time.Hour, 10 * time.Minute, ""}, // its timestamp was good when it came
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.opts.Observer = nil
			launch := &heldLauncher{launcher: r.launch, held: func() {}}
			r.opts.Launcher = launch
			r.open()
			own := r.create(nil)
			var err error
			var waits sync.WaitGroup
			launch.held = func() {
				q := r.signed(hookSecret, "{}", r.clock.Now())
				waits.Go(func() { _, err = r.Receive(ctx, own.ID, q) })
				coretest.WaitFor(t, "the request to wait", func() bool { return r.Service.Received(own.ID) == 1 })
				r.clock.Advance(tt.pass)
			}
			if _, err := r.RotateTrigger(ben, own.ID, "another-secret-of-ben", tt.overlap); err != nil {
				t.Fatal(err)
			}
			waits.Wait()
			if core.ErrorCode(err) != tt.code {
				t.Errorf("%v", err)
			}
		})
	}
}

// hangingLauncher has the first starts wait for a host that does not answer.
type hangingLauncher struct {
	*launcher
	hanging chan struct{} // has a value for each start that hangs
	hangs   atomic.Bool
}

func (l *hangingLauncher) Launch(ctx context.Context, target core.Target, env map[string]string, along core.AlongFunc) (core.RunRef, error) {
	if !l.hangs.Load() {
		return l.launcher.Launch(ctx, target, env, along)
	}
	l.hanging <- struct{}{}
	<-ctx.Done()
	return core.RunRef{}, core.Unavailable("timeout", "the host does not answer")
}

// A start that hangs keeps no change from being made and no sender from leaving. Its request is looked at again after the change.
func TestChangeDuringStart(t *testing.T) {
	off := false
	for name, tt := range map[string]struct {
		change func(r *rig, id string) error
		code   core.Code // of the request
	}{
		"Rename": {func(r *rig, id string) error {
			_, err := r.UpdateTrigger(ann, id, core.TriggerPatch{Name: new("other")})
			return err
		}, ""},
		"Disable": {func(r *rig, id string) error {
			_, err := r.UpdateTrigger(ann, id, core.TriggerPatch{Enabled: &off})
			return err
		}, core.CodeConflict},
		"Rotate": {func(r *rig, id string) error {
			_, err := r.RotateTrigger(ann, id, "another-secret-of-ann", 0)
			return err
		}, core.CodeUnauthorized},
		"Delete": {func(r *rig, id string) error { return r.DeleteTrigger(ann, id) }, core.CodeUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.opts.Observer = nil
			launch := &hangingLauncher{launcher: r.launch, hanging: make(chan struct{}, 8)}
			r.opts.Launcher = launch
			r.open()
			own := r.create(nil)
			launch.hangs.Store(true)
			var err error
			var waits sync.WaitGroup
			waits.Go(func() { _, err = r.Receive(ctx, own.ID, r.signed(hookSecret, "{}", r.clock.Now())) })
			<-launch.hanging
			gone, leave := context.WithCancel(ctx)
			leave()
			if _, err := r.Receive(gone, own.ID, r.signed(hookSecret, `{"n":2}`, r.clock.Now())); !errors.Is(err, context.Canceled) {
				t.Errorf("who left waits on: %v", err)
			}
			launch.hangs.Store(false)
			if err := tt.change(r, own.ID); err != nil {
				t.Fatal(err)
			}
			waits.Wait()
			if core.ErrorCode(err) != tt.code {
				t.Errorf("the request: %v, want %s", err, tt.code)
			}
			want := 0
			if tt.code == "" {
				want = 1
			}
			if got := r.executions(); got != want {
				t.Errorf("%d executions, want %d", got, want)
			}
		})
	}
}

// What waits for one trigger is bounded.
func TestWaitsAreBounded(t *testing.T) {
	r := newRig(t)
	r.opts.Observer = nil
	launch := &heldLauncher{launcher: r.launch, held: func() {}}
	r.opts.Launcher = launch
	r.open()
	own := r.create(func(s *core.TriggerSpec) { s.RatePerMinute = 6000 })
	now := r.clock.Now()
	var waits sync.WaitGroup
	launch.held = func() {
		for n := range trigger.MaxReceived {
			q := r.signed(hookSecret, fmt.Sprintf(`{"n":%d}`, n), now)
			waits.Go(func() {
				if got, err := r.Receive(ctx, own.ID, q); err != nil || got.Outcome != wire.TriggerStarted {
					t.Errorf("%+v, %v", got, err)
				}
			})
		}
		coretest.WaitFor(t, "the requests to wait", func() bool { return r.Service.Received(own.ID) == trigger.MaxReceived })
		err := r.fails(own.ID, r.signed(hookSecret, `{"n":"one more"}`, now), core.CodeRateLimited)
		if wait := core.AsError(err).Details["retryAfter"]; wait != 1 {
			t.Errorf("retry after %v", wait)
		}
		r.fails(own.ID, r.signed("another-secret-12", "{}", now), core.CodeUnauthorized)
	}
	if _, err := r.UpdateTrigger(ann, own.ID, core.TriggerPatch{Name: new("busy")}); err != nil {
		t.Fatal(err)
	}
	waits.Wait()
	if got := r.executions(); got != trigger.MaxReceived || r.Service.Received(own.ID) != 0 {
		t.Errorf("%d executions, %d requests", got, r.Service.Received(own.ID))
	}
}
