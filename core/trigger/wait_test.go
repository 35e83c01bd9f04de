package trigger_test

import (
	"context"
	"fmt"
	"sync"
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
