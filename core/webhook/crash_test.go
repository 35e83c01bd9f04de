package webhook_test

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

// TestCrashes ends the service at every transaction, again and again, and looks at what receivers got in the end: every
// event at least once, under one delivery id, and none after its last attempt.
func TestCrashes(t *testing.T) {
	for n := 1; n <= 12; n++ {
		t.Run(fmt.Sprintf("every %d writes", n), func(t *testing.T) { deliveredWith(t, n, true) })
	}
}

// TestDiskFull is TestCrashes where the service lives on, and writes are taken again.
func TestDiskFull(t *testing.T) {
	for n := 1; n <= 12; n++ {
		t.Run(fmt.Sprintf("every %d writes", n), func(t *testing.T) { deliveredWith(t, n, false) })
	}
}

// deliveredWith has events delivered while a write fails, again and again, and n were taken before it. killed: the service ends then, and
// another one goes on.
func deliveredWith(t *testing.T, n int, killed bool) {
	const events, retries = 8, 2
	r := newRig(t, nil)
	var calls atomic.Int64
	receivers := map[string]*receiver{
		"good":  r.receive(nil),
		"bad":   r.receive(status(500)),
		"flaky": r.receive(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200 + int(calls.Add(1)%2)*300) }),
	}
	for name, in := range receivers {
		r.create(core.WebhookSpec{URL: in.URL, Retries: ptr(retries), Ordered: name == "flaky"})
	}
	r.Close()
	var ids []string
	for i := range events {
		ids = append(ids, r.emit(core.EventPatternUpdated, fmt.Sprint(i%3), data{"n": i}).ID)
	}
	over := func() bool {
		return r.store.count(core.DeliverySucceeded)+r.store.count(core.DeliveryFailed) == events*len(receivers)
	}
	rounds := 0
	for ; !over() && rounds < 200; rounds++ {
		if killed || rounds == 0 {
			r.open()
		}
		r.store.Break(n, errGone)
		coretest.WaitFor(t, "the next crash", func() bool {
			r.step(20 * time.Second)
			return over() || r.store.broken()
		})
		if killed {
			r.Close()
		}
		r.store.Heal()
	}
	if !over() {
		t.Fatalf("not over after %d crashes: %d succeeded, %d failed", rounds, r.store.count(core.DeliverySucceeded), r.store.count(core.DeliveryFailed))
	}
	if killed {
		r.open()
	}
	r.step(48 * time.Hour)
	for name, in := range receivers {
		delivery, last, times := map[string]string{}, map[string]int{}, map[string]int{}
		for _, got := range in.all() {
			id, of := got.event.ID, got.header.Get("X-Service-Delivery")
			if have := delivery[id]; have != "" && have != of {
				t.Errorf("%s: event %s came as deliveries %s and %s", name, id, have, of)
			}
			delivery[id] = of
			times[id]++
			if got.header.Get("X-Service-Retry-Count") == fmt.Sprint(retries) {
				last[id]++
			}
		}
		for _, id := range ids {
			if times[id] == 0 {
				t.Errorf("%s: event %s never came", name, id)
			}
			if last[id] > 1 {
				t.Errorf("%s: the last attempt for event %s came %d times", name, id, last[id])
			}
		}
		if len(delivery) != events {
			t.Errorf("%s: %d events came, want %d", name, len(delivery), events)
		}
	}
}
