package events_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/events"
)

func TestSubscribe(t *testing.T) {
	b := events.New(events.Options{})
	one := b.Subscribe("one", events.SubscribeOptions{})
	all := b.Subscribe("", events.SubscribeOptions{})
	b.Publish([]core.Event{event("one", 1), event("two", 2), event("one", 3)})
	for _, want := range []uint64{1, 3} {
		if e, err := one.Next(ctx); err != nil || e.Seq != want {
			t.Fatalf("got %d, %v, want %d", e.Seq, err, want)
		}
	}
	for _, want := range []uint64{1, 2, 3} {
		if e, err := all.Next(ctx); err != nil || e.Seq != want {
			t.Fatalf("got %d, %v, want %d", e.Seq, err, want)
		}
	}
	if got := b.Stats().Subscribers; got != 2 {
		t.Fatalf("%d subscribers, want 2", got)
	}
	one.Close()
	one.Close()
	all.Close()
	_, err := one.Next(ctx)
	wantReason(t, err, "subscription_closed")
	if got := b.Stats().Subscribers; got != 0 {
		t.Fatalf("%d subscribers, want 0", got)
	}
}

func TestNextContext(t *testing.T) {
	b := events.New(events.Options{})
	sub := b.Subscribe("one", events.SubscribeOptions{})
	defer sub.Close()
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := sub.Next(cancelled); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
}

func TestSlowSubscriberIsDropped(t *testing.T) {
	big := event("one", 1)
	big.Data = []byte(`"` + string(make([]byte, 600)) + `"`)
	for name, test := range map[string]struct {
		opts events.SubscribeOptions
		e    core.Event
		fits int
	}{
		"Count": {events.SubscribeOptions{MaxEvents: 3}, event("one", 1), 3},
		"Bytes": {events.SubscribeOptions{MaxBytes: 2000}, big, 2},
	} {
		t.Run(name, func(t *testing.T) {
			b := events.New(events.Options{})
			slow, quick := b.Subscribe("one", test.opts), b.Subscribe("one", events.SubscribeOptions{})
			defer slow.Close()
			defer quick.Close()
			for i := range test.fits + 2 {
				test.e.Seq = uint64(i + 1)
				b.Publish([]core.Event{test.e})
			}
			_, err := slow.Next(ctx)
			wantReason(t, err, "slow_consumer")
			for i := range test.fits + 2 {
				if e, err := quick.Next(ctx); err != nil || e.Seq != uint64(i+1) {
					t.Fatalf("the quick subscriber got %d, %v", e.Seq, err)
				}
			}
			if got := b.Stats().Dropped; got != 1 {
				t.Fatalf("%d dropped, want 1", got)
			}
		})
	}
}

// One event larger than the whole bound must get through to a subscriber that keeps up.
func TestOversizeEvent(t *testing.T) {
	b := events.New(events.Options{MaxBytes: 10})
	sub := b.Subscribe("one", events.SubscribeOptions{})
	defer sub.Close()
	b.Publish([]core.Event{event("one", 1)})
	if e, err := sub.Next(ctx); err != nil || e.Seq != 1 {
		t.Fatalf("got %d, %v", e.Seq, err)
	}
}

func TestCloseBus(t *testing.T) {
	b := events.New(events.Options{})
	sub := b.Subscribe("one", events.SubscribeOptions{})
	b.Publish([]core.Event{event("one", 1)})
	b.Close()
	b.Close()
	b.Publish([]core.Event{event("one", 2)})
	if e, err := sub.Next(ctx); err != nil || e.Seq != 1 {
		t.Fatalf("got %d, %v: what was buffered is still to be read", e.Seq, err)
	}
	_, err := sub.Next(ctx)
	wantReason(t, err, "shutting_down")
	late := b.Subscribe("one", events.SubscribeOptions{})
	_, err = late.Next(ctx)
	wantReason(t, err, "shutting_down")
	sub.Close()
	late.Close()
	if got := b.Stats().Subscribers; got != 0 {
		t.Fatalf("%d subscribers, want 0", got)
	}
}

// Every subscriber of one subject gets every event, while others come and go.
func TestFanOut(t *testing.T) {
	const subscribers, total = 1000, 200
	b := events.New(events.Options{})
	var wg sync.WaitGroup
	for range subscribers {
		sub := b.Subscribe("one", events.SubscribeOptions{})
		wg.Go(func() {
			defer sub.Close()
			for i := range total {
				e, err := sub.Next(ctx)
				if err != nil || e.Seq != uint64(i+1) {
					t.Errorf("got %d, %v, want %d", e.Seq, err, i+1)
					return
				}
			}
		})
	}
	wg.Go(func() {
		for i := range 500 {
			b.Subscribe(fmt.Sprintf("s%d", i%7), events.SubscribeOptions{}).Close()
		}
	})
	for i := range total {
		b.Publish([]core.Event{event("one", uint64(i+1))})
	}
	wg.Wait()
	if got := b.Stats(); got.Subscribers != 0 || got.Dropped != 0 {
		t.Fatalf("%+v", got)
	}
}

func BenchmarkPublishUnheard(b *testing.B) {
	bus := events.New(events.Options{})
	for i := range 1000 { // others are heard
		defer bus.Subscribe(fmt.Sprintf("exec_%d", i), events.SubscribeOptions{}).Close()
	}
	list := []core.Event{event("exec_01JABCDEFGHJKMNPQRSTVWXYZ0", 1)}
	b.ReportAllocs()
	for b.Loop() {
		bus.Publish(list)
	}
}

func BenchmarkPublishTo1000(b *testing.B) {
	bus := events.New(events.Options{})
	var wg sync.WaitGroup
	for range 1000 {
		sub := bus.Subscribe("one", events.SubscribeOptions{})
		wg.Go(func() {
			for {
				if _, err := sub.Next(ctx); err != nil {
					return
				}
			}
		})
	}
	list := []core.Event{event("one", 1)}
	for b.Loop() {
		bus.Publish(list)
	}
	bus.Close()
	wg.Wait()
}
