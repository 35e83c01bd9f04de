package events_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/events"
)

// memory is a stored journal of any number of subjects. onRead runs before each read, where tests let
// things happen at the worst moment.
type memory struct {
	mu     sync.Mutex
	events []core.Event
	onRead func()
	most   int // events of a page, where it is bounded by more than the limit asked for; 0: it is not
	err    error
}

func (m *memory) append(list ...core.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.events = append(m.events, list...)
}

func (m *memory) Events(_ context.Context, subject string, after uint64, limit int) (page []core.Event, more bool, err error) {
	if m.onRead != nil {
		m.onRead()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.events {
		if e.Subject != subject && e.Group != subject || e.Seq <= after {
			continue
		}
		if len(page) == limit || m.most > 0 && len(page) == m.most {
			return page, true, m.err
		}
		page = append(page, e)
	}
	return page, false, m.err
}

func (m *memory) LastSeq() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.events) == 0 {
		return 0
	}
	return m.events[len(m.events)-1].Seq
}

func never(core.Event) bool { return false }

func isDone(e core.Event) bool { return e.Type == core.EventExecutionCompleted }

func last(subject string, seq uint64) core.Event {
	e := event(subject, seq)
	e.Type = core.EventExecutionCompleted
	return e
}

func mustStream(tb testing.TB, s *events.Streams, subject string, after uint64, isLast func(core.Event) bool) core.EventStream {
	tb.Helper()
	stream, err := s.Stream(ctx, subject, after, isLast)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(stream.Close)
	return stream
}

func wantNext(tb testing.TB, s core.EventStream, seqs ...uint64) {
	tb.Helper()
	for _, want := range seqs {
		e, err := s.Next(ctx)
		if err != nil || e.Seq != want {
			tb.Fatalf("got %d, %v, want %d", e.Seq, err, want)
		}
	}
}

func wantEOF(tb testing.TB, s core.EventStream) {
	tb.Helper()
	for range 2 {
		if e, err := s.Next(ctx); !errors.Is(err, io.EOF) {
			tb.Fatalf("got %d, %v, want the end", e.Seq, err)
		}
	}
}

func TestStream(t *testing.T) {
	bus, store := events.New(events.Options{}), &memory{}
	streams := events.NewStreams(bus, store)
	store.append(event("one", 1), event("two", 2), event("one", 3))
	s := mustStream(t, streams, "one", 0, isDone)
	wantNext(t, s, 1, 3)
	for _, e := range []core.Event{event("one", 4), last("two", 5), last("one", 6)} {
		store.append(e)
		bus.Publish([]core.Event{e})
	}
	wantNext(t, s, 4, 6)
	wantEOF(t, s)
}

// A page that ends before its limit, because its events are large, is not the end of what is stored.
func TestStreamOfShortPages(t *testing.T) {
	bus, store := events.New(events.Options{}), &memory{most: 1}
	store.append(event("one", 1), event("one", 2), event("one", 3), last("one", 4), event("one", 5))
	streams := events.NewStreams(bus, store)
	for after, want := range map[uint64][]uint64{0: {1, 2, 3, 4}, 2: {3, 4}, 4: nil, 5: nil} {
		s := mustStream(t, streams, "one", after, isDone)
		wantNext(t, s, want...)
		wantEOF(t, s)
	}
}

func TestStreamAfter(t *testing.T) {
	bus, store := events.New(events.Options{}), &memory{}
	streams := events.NewStreams(bus, store)
	// What is recorded after the last event, such as a late report, is not part of the stream.
	store.append(event("one", 1), event("one", 2), last("one", 3), event("one", 4))
	for after, want := range map[uint64][]uint64{0: {1, 2, 3}, 1: {2, 3}, 2: {3}, 3: nil, 4: nil, 99: {1, 2, 3}} {
		s := mustStream(t, streams, "one", after, isDone)
		wantNext(t, s, want...)
		wantEOF(t, s)
	}
}

// A sequence of the future is of another history: what there is comes, and what is to come, and then the end.
func TestStreamAfterFuture(t *testing.T) {
	bus, store := events.New(events.Options{}), &memory{}
	store.append(event("one", 1))
	s := mustStream(t, events.NewStreams(bus, store), "one", 99, isDone)
	wantNext(t, s, 1)
	for _, e := range []core.Event{event("one", 2), last("one", 3)} {
		store.append(e)
		bus.Publish([]core.Event{e})
	}
	wantNext(t, s, 2, 3)
	wantEOF(t, s)
}

// A sequence that another subject has given may lie before the end that is to come, and must not hide it, even when the
// reader is dropped before that end comes by.
func TestStreamAfterOthersSlow(t *testing.T) {
	bus, store := events.New(events.Options{MaxEvents: 1}), &memory{}
	store.append(event("two", 1), event("two", 2), event("two", 3))
	s := mustStream(t, events.NewStreams(bus, store), "one", 3, isDone)
	cancelled, cancel := context.WithCancel(ctx)
	store.onRead = cancel // the store is read, then Next waits for what comes live
	if _, err := s.Next(cancelled); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	for _, e := range []core.Event{event("one", 4), event("one", 5), last("one", 6)} {
		store.append(e)
		bus.Publish([]core.Event{e})
	}
	wantNext(t, s, 4, 5, 6)
	wantEOF(t, s)
}

func TestStreamPages(t *testing.T) {
	bus, store := events.New(events.Options{}), &memory{}
	const total = 256*3 + 5
	for i := range total {
		store.append(event("one", uint64(i+1)))
	}
	s := mustStream(t, events.NewStreams(bus, store), "one", 0, never)
	for i := range total {
		wantNext(t, s, uint64(i+1))
	}
}

// Events that are committed and published while the store is read come once, wherever they fall.
func TestStreamRaceAtRead(t *testing.T) {
	for _, storedFirst := range []bool{true, false} {
		bus, store := events.New(events.Options{}), &memory{}
		store.append(event("one", 1))
		once := false
		store.onRead = func() {
			if once {
				return
			}
			once = true
			if storedFirst { // seen by the read and by the subscription
				store.append(event("one", 2), event("one", 3))
				bus.Publish([]core.Event{event("one", 2), event("one", 3)})
				return
			}
			bus.Publish([]core.Event{event("one", 2), event("one", 3)}) // by the subscription only
		}
		s := mustStream(t, events.NewStreams(bus, store), "one", 0, never)
		wantNext(t, s, 1, 2, 3)
		bus.Publish([]core.Event{event("one", 3), event("one", 4)})
		wantNext(t, s, 4)
	}
}

func TestStreamLiveOnly(t *testing.T) {
	bus, store := events.New(events.Options{}), &memory{}
	streams := events.NewStreams(bus, store)
	s := mustStream(t, streams, "one", 0, isDone)
	progress := core.Event{Type: core.EventTaskProgress, Subject: "one"}
	streams.Publish([]core.Event{progress}) // before the stream caught up: it tells of the past
	store.append(event("one", 1))
	wantNext(t, s, 1)
	streams.Publish([]core.Event{progress})
	bus.Publish([]core.Event{event("one", 1), last("one", 2)})
	wantNext(t, s, 0, 2)
	wantEOF(t, s)
}

// A reader that falls behind is led back to the store, and still sees everything once.
func TestStreamSlowReader(t *testing.T) {
	bus, store := events.New(events.Options{MaxEvents: 4}), &memory{}
	streams := events.NewStreams(bus, store)
	s := mustStream(t, streams, "one", 0, isDone)
	store.append(event("one", 1))
	wantNext(t, s, 1)
	var want []uint64
	for i := uint64(2); i <= 50; i++ {
		e := event("one", i)
		if i == 50 {
			e = last("one", i)
		}
		store.append(e)
		bus.Publish([]core.Event{e})
		want = append(want, i)
	}
	wantNext(t, s, want...)
	wantEOF(t, s)
	if bus.Stats().Dropped == 0 {
		t.Fatal("the reader was never dropped")
	}
}

func TestStreamErrors(t *testing.T) {
	bus, store := events.New(events.Options{}), &memory{}
	streams := events.NewStreams(bus, store)
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := streams.Stream(cancelled, "one", 0, never); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	s := mustStream(t, streams, "one", 0, never)
	store.err = core.Unavailable("store_closed", "closed")
	_, err := s.Next(ctx)
	wantReason(t, err, "store_closed")
	store.err = nil
	store.append(event("one", 1))
	wantNext(t, s, 1) // a failed read loses nothing
	if _, err := s.Next(cancelled); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	bus.Publish([]core.Event{event("one", 2)})
	bus.Close()
	wantNext(t, s, 2)
	_, err = s.Next(ctx)
	wantReason(t, err, "shutting_down")
}

func TestStreamClose(t *testing.T) {
	bus, store := events.New(events.Options{}), &memory{}
	s := mustStream(t, events.NewStreams(bus, store), "one", 0, never)
	done := make(chan error)
	go func() {
		_, err := s.Next(ctx)
		done <- err
	}()
	s.Close()
	s.Close()
	wantReason(t, <-done, "subscription_closed")
	if got := bus.Stats().Subscribers; got != 0 {
		t.Fatalf("%d subscribers, want 0", got)
	}
}

// Many readers join at random points of a subject's life while it is written as the store writes it:
// committed first, published after. Each sees every event above its start once and in order, and the end.
func TestStreamRaces(t *testing.T) {
	for round := range 30 {
		bus, store := events.New(events.Options{MaxEvents: 1 + round%9}), &memory{}
		streams := events.NewStreams(bus, store)
		const total = 400
		var wg sync.WaitGroup
		for range 8 {
			from := rand.Uint64N(total + 1)
			wg.Go(func() {
				for store.LastSeq() < from { // only then may a reader have seen it
					runtime.Gosched()
				}
				s, err := streams.Stream(ctx, "one", from, isDone)
				if err != nil {
					t.Error(err)
					return
				}
				defer s.Close()
				at := from
				for {
					e, err := s.Next(ctx)
					if errors.Is(err, io.EOF) && at == total {
						return
					}
					if err != nil || e.Seq != 0 && e.Seq != at+1 {
						t.Errorf("after %d came %d, %v", at, e.Seq, err)
						return
					}
					at = max(at, e.Seq)
				}
			})
		}
		wg.Go(func() {
			for i := uint64(1); i <= total; {
				var batch []core.Event
				for range 1 + rand.IntN(5) {
					if i > total {
						break
					}
					e := event("one", i)
					if i == total {
						e = last("one", i)
					}
					batch = append(batch, e)
					i++
				}
				store.append(batch...)
				bus.Publish(batch)
				streams.Publish([]core.Event{{Type: core.EventTaskProgress, Subject: "one"}})
			}
		})
		wg.Wait()
	}
}
