package events_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/events"
)

// Of each subject the first notice comes at once, and then the last of those within half a second, however many there are; once nothing
// happens, nothing is left behind.
func TestNotices(t *testing.T) {
	bus, clock := events.New(events.Options{}), coretest.NewClock()
	n := events.NewNotices(bus, clock)
	notice := func(subject string, i int) core.Event {
		return core.Event{Type: core.EventBatchProgress, Subject: subject, Data: fmt.Appendf(nil, "%d", i)}
	}
	n.Publish(notice("a", 0)) // there is no stream
	sub := bus.Subscribe("", events.SubscribeOptions{})
	defer sub.Close()
	told := func() string {
		var list []string
		over, cancel := context.WithCancel(t.Context())
		cancel()
		for {
			e, err := sub.Next(over)
			if err != nil {
				return strings.Join(list, " ")
			}
			list = append(list, e.Subject+string(e.Data))
		}
	}
	want := func(what, want string) {
		t.Helper()
		if got := told(); got != want {
			t.Errorf("%s: told %q, want %q", what, got, want)
		}
	}
	for i := 1; i <= 10_000; i++ {
		n.Publish(notice("a", i))
	}
	n.Publish(notice("b", 1))
	want("at once", "a1 b1")
	clock.Advance(499 * time.Millisecond)
	want("before half a second", "")
	clock.Advance(time.Millisecond)
	want("after it", "a10000")
	n.Publish(notice("a", 10_001))
	n.Publish(notice("b", 2))
	want("b was quiet", "b2")
	clock.Advance(time.Second)
	want("after another", "a10001")
	clock.Advance(time.Second)
	if clock.Pending() != 0 {
		t.Error("a timer is left while nothing happens")
	}
	n.Publish(notice("a", 10_002))
	n.Publish(notice("a", 10_003))
	n.Close()
	n.Close()
	n.Publish(notice("a", 10_004))
	clock.Advance(time.Second)
	want("closed", "a10002")
}
