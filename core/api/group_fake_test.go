package api_test

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/wardroom/wardroom/core"
)

// group is a stored and published group of events, with bounded subscriptions that are led back to what is stored: what
// package events does, in little.
type group struct {
	mu     sync.Mutex // guards all below
	stored []core.Event
	subs   map[*member]struct{}
	bound  int // events in the buffer of a subscription
}

func newGroup() *group { return &group{subs: map[*member]struct{}{}, bound: 1024} }

// member is one subscription.
type member struct {
	g     *group
	ready chan struct{} // holds one

	// Guarded by g.mu.
	queue []core.Event
	lost  bool

	after uint64
	batch []core.Event
	told  atomic.Uint64 // sequence of the last event handed out
}

func (g *group) subscribe(after uint64) *member {
	m := &member{g: g, ready: make(chan struct{}, 1), after: after, lost: true}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.subs[m] = struct{}{}
	return m
}

func (g *group) size() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.subs)
}

// publish stores an event and hands it to the subscriptions.
func (g *group) publish(ev core.Event) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stored = append(g.stored, ev)
	for m := range g.subs {
		if m.lost {
			continue
		}
		if len(m.queue) >= g.bound {
			m.queue, m.lost = nil, true
		} else {
			m.queue = append(m.queue, ev)
		}
		select {
		case m.ready <- struct{}{}:
		default:
		}
	}
}

// Poll takes what is there, from the store after a loss.
func (m *member) Poll() (core.Event, bool) {
	if len(m.batch) == 0 {
		m.g.mu.Lock()
		if m.lost {
			m.lost, m.queue = false, nil
			for _, ev := range m.g.stored {
				if ev.Seq > m.after {
					m.queue = append(m.queue, ev)
				}
			}
		}
		m.batch, m.queue = m.queue, m.batch[:0]
		m.g.mu.Unlock()
		if len(m.batch) == 0 {
			return core.Event{}, false
		}
	}
	ev := m.batch[0]
	m.batch = m.batch[1:]
	m.after = ev.Seq
	m.told.Store(ev.Seq)
	return ev, true
}

// Next implements core.EventStream.
func (m *member) Next(ctx context.Context) (core.Event, error) {
	for {
		if ev, ok := m.Poll(); ok {
			return ev, nil
		}
		select {
		case <-m.ready:
		case <-ctx.Done():
			return core.Event{}, ctx.Err()
		}
	}
}

// Close implements core.EventStream.
func (m *member) Close() {
	m.g.mu.Lock()
	defer m.g.mu.Unlock()
	delete(m.g.subs, m)
}
