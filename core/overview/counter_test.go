package overview_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/overview"
)

// The numbers are computed once for all who follow, at most twice a second however much happens, and not at all while nothing happens
// or nobody follows; they are told when they changed.
func TestCounter(t *testing.T) {
	clock := coretest.NewClock()
	computed, running := 0, 1
	var fails error
	var told []int
	c := overview.NewCounter(overview.CounterOptions{
		Counts: func(context.Context) (*core.OverviewCounts, error) {
			computed++
			return &core.OverviewCounts{At: clock.Now(), Executions: map[string]int{"running": running}}, fails
		},
		Publish: func(list []core.Event) {
			for _, e := range list {
				var now core.OverviewCounts
				if err := json.Unmarshal(e.Data, &now); err != nil || e.Type != core.EventCounts || e.Seq != 0 || !now.At.Equal(e.Time) {
					t.Errorf("%+v: %v", e, err)
				}
				told = append(told, now.Executions["running"])
			}
		},
		Clock: clock, Logger: hclog.NewNullLogger(),
	})
	defer c.Close()
	want := func(what string, times int, numbers ...int) {
		t.Helper()
		if computed != times || len(told) != len(numbers) || len(told) > 0 && told[len(told)-1] != numbers[len(numbers)-1] {
			t.Fatalf("%s: computed %d times, told %v; want %d, %v", what, computed, told, times, numbers)
		}
	}
	follow := func(number int) func() {
		t.Helper()
		now, leave, err := c.FollowCounts(t.Context())
		if err != nil || now.Executions["running"] != number {
			t.Fatal(now, err)
		}
		return leave
	}
	c.Touch()
	clock.Advance(time.Second)
	want("nobody follows", 0)
	leave := follow(1)
	for range 199 {
		leaveToo := follow(1)
		defer leaveToo()
		defer leaveToo()
	}
	want("two hundred begin", 1)
	clock.Advance(time.Hour)
	want("nothing happens", 1)
	for range 100 { // a second of much
		running++
		c.Touch()
		clock.Advance(10 * time.Millisecond)
	}
	want("much happens", 4, 2, 51, 101)
	clock.Advance(time.Second)
	want("no more happens", 4, 2, 51, 101)
	c.Touch()
	clock.Advance(time.Second)
	want("nothing changed", 5, 2, 51, 101)
	running, fails = 7, errors.New("away")
	c.Touch()
	clock.Advance(time.Second)
	fails = nil
	clock.Advance(time.Second)
	if told[len(told)-1] != 7 {
		t.Errorf("what failed was not tried again: %v", told)
	}
	leave()
	leave()
	if clock.Pending() != 0 {
		t.Error("a timer is left while nothing happens")
	}
}

// Who comes after others left, and after something happened unseen, gets the numbers of then.
func TestCounterFollowedAgain(t *testing.T) {
	clock := coretest.NewClock()
	running := 1
	c := overview.NewCounter(overview.CounterOptions{
		Counts: func(context.Context) (*core.OverviewCounts, error) {
			return &core.OverviewCounts{Executions: map[string]int{"running": running}}, nil
		},
		Publish: func([]core.Event) {}, Clock: clock, Logger: hclog.NewNullLogger(),
	})
	defer c.Close()
	for _, number := range []int{1, 5} {
		running = number
		c.Touch()
		clock.Advance(time.Second)
		now, leave, err := c.FollowCounts(t.Context())
		if err != nil || now.Executions["running"] != number {
			t.Errorf("%+v, %v, want %d", now, err, number)
		}
		leave()
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := c.FollowCounts(gone); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
