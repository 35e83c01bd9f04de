package events_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/events"
)

// member is an event of a subject that belongs to the group "all".
func member(subject string, seq uint64) core.Event {
	e := event(subject, seq)
	e.Type, e.Group = core.EventThreadOutput, "all"
	return e
}

func mustFollow(tb testing.TB, s *events.Streams, name string, after uint64) core.EventStream {
	tb.Helper()
	stream, err := s.Follow(ctx, name, after)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(stream.Close)
	return stream
}

func TestSubscribeGroup(t *testing.T) {
	b := events.New(events.Options{})
	one, group, every := b.Subscribe("one", events.SubscribeOptions{}), b.Subscribe("all", events.SubscribeOptions{}),
		b.Subscribe("", events.SubscribeOptions{})
	b.Publish([]core.Event{member("one", 1), member("two", 2), event("three", 3)})
	b.Close()
	for name, test := range map[string]struct {
		sub  *events.Subscription
		want []uint64
	}{"subject": {one, []uint64{1}}, "group": {group, []uint64{1, 2}}, "everything": {every, []uint64{1, 2, 3}}} {
		for _, want := range test.want {
			if e, err := test.sub.Next(ctx); err != nil || e.Seq != want || e.Subject == "all" {
				t.Errorf("%s: got %d of %s, %v, want %d", name, e.Seq, e.Subject, err, want)
			}
		}
		_, err := test.sub.Next(ctx)
		wantReason(t, err, "shutting_down")
		test.sub.Close()
	}
}

func TestFollowGroup(t *testing.T) {
	bus, store := events.New(events.Options{}), &memory{}
	streams := events.NewStreams(bus, store)
	store.append(member("one", 1), member("two", 2), event("three", 3), member("one", 5))
	behind, ahead := mustFollow(t, streams, "all", 1), mustFollow(t, streams, "all", 5)
	wantNext(t, behind, 2, 5)
	e := member("two", 8)
	store.append(e)
	bus.Publish([]core.Event{e, {Type: core.EventTaskProgress, Subject: "one", Group: "all"}})
	wantNext(t, behind, 8, 0)
	wantNext(t, ahead, 8)
}

// A stream without an end is not looked through for one: the store is read behind the position only.
func TestFollowReadsNothingTwice(t *testing.T) {
	bus, store := events.New(events.Options{}), &memory{}
	streams := events.NewStreams(bus, store)
	for i := range uint64(1000) {
		store.append(member("one", i+1))
	}
	reads := 0
	store.onRead = func() { reads++ }
	s := mustFollow(t, streams, "all", 1000)
	e := member("one", 1001)
	bus.Publish([]core.Event{e})
	wantNext(t, s, 1001)
	if reads != 1 {
		t.Errorf("the store was read %d times, want once", reads)
	}
}

func TestLive(t *testing.T) {
	bus, store := events.New(events.Options{MaxEvents: 4}), &memory{}
	streams := events.NewStreams(bus, store)
	store.append(member("one", 1), member("one", 2))
	reads := 0
	store.onRead = func() { reads++ }
	s, err := streams.Live(ctx, "all")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	bus.Publish([]core.Event{member("one", 2)}) // committed before the call, published behind it
	next := member("two", 3)
	store.append(next)
	bus.Publish([]core.Event{next})
	wantNext(t, s, 3)
	if reads != 0 {
		t.Errorf("the store was read %d times for what is live", reads)
	}
	for i := uint64(4); i < 14; i++ { // more than the buffer holds
		e := member("one", i)
		store.append(e)
		bus.Publish([]core.Event{e})
	}
	wantNext(t, s, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13)
	if bus.Stats().Dropped == 0 {
		t.Error("the reader was never dropped")
	}
}

func TestFollowCancelled(t *testing.T) {
	streams := events.NewStreams(events.New(events.Options{}), &memory{})
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := streams.Follow(cancelled, "all", 0); !errors.Is(err, context.Canceled) {
		t.Errorf("Follow: %v", err)
	}
	if _, err := streams.Live(cancelled, "all"); !errors.Is(err, context.Canceled) {
		t.Errorf("Live: %v", err)
	}
}

// poller is what streams offer to whoever writes several events at once.
type poller interface{ Poll() (core.Event, bool) }

func TestPoll(t *testing.T) {
	bus, store := events.New(events.Options{MaxEvents: 4}), &memory{}
	streams := events.NewStreams(bus, store)
	store.append(event("one", 1), event("one", 2))
	s := mustStream(t, streams, "one", 0, isDone)
	poll := func(want uint64, there bool) {
		t.Helper()
		if e, ok := s.(poller).Poll(); ok != there || e.Seq != want {
			t.Fatalf("polled %d, %v, want %d, %v", e.Seq, ok, want, there)
		}
	}
	poll(0, false) // reading the store is for Next
	wantNext(t, s, 1)
	poll(2, true)
	poll(0, false)
	bus.Publish([]core.Event{event("one", 2), event("one", 3), {Subject: "one"}})
	poll(3, true)
	poll(0, true) // live only
	poll(0, false)
	for i := uint64(4); i < 12; i++ {
		store.append(event("one", i))
		bus.Publish([]core.Event{event("one", i)})
	}
	poll(0, false) // dropped; Next leads back to the store
	wantNext(t, s, 4)
	poll(5, true)
	wantNext(t, s, 6, 7, 8, 9, 10, 11)
	e := last("one", 12)
	bus.Publish([]core.Event{e})
	poll(12, true)
	poll(0, false)
	wantEOF(t, s)
}

// Readers of a group join at any moment while many subjects write to it, with buffers that are too small and with
// Next and Poll mixed: each sees every event behind its position once and in order.
func TestGroupRaces(t *testing.T) {
	const total, readers = 500, 8
	for round := range 20 {
		bus, store := events.New(events.Options{MaxEvents: 1 + round%9}), &memory{}
		streams := events.NewStreams(bus, store)
		var wg sync.WaitGroup
		var reading atomic.Int64
		reading.Store(readers)
		for reader := range readers {
			wg.Go(func() {
				defer reading.Add(-1)
				var s core.EventStream
				var err error
				var at uint64
				if reader%2 == 0 {
					at = rand.Uint64N(total)
					s, err = streams.Follow(ctx, "all", at)
				} else {
					s, err = streams.Live(ctx, "all")
				}
				if err != nil {
					t.Error(err)
					return
				}
				defer s.Close()
				for first := reader%2 == 1; at < total; first = false {
					e, ok := s.(poller).Poll()
					if !ok {
						if e, err = s.Next(ctx); err != nil {
							t.Error(err)
							return
						}
					}
					if !first && e.Seq != at+1 {
						t.Errorf("after %d came %d", at, e.Seq)
						return
					}
					at = e.Seq
				}
			})
		}
		wg.Go(func() {
			// It goes on until nobody reads: a live reader may join behind the others.
			for i := uint64(1); i <= total; i++ {
				e := member(fmt.Sprintf("thread_%d", i%5), i)
				store.append(e)
				bus.Publish([]core.Event{e})
			}
			for i := uint64(total + 1); reading.Load() > 0; i++ {
				e := member("thread_0", i)
				store.append(e)
				bus.Publish([]core.Event{e})
			}
		})
		wg.Wait()
	}
}
