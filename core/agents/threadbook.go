package agents

import (
	"slices"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// Bounds of the orders that are kept for one agent. Beyond them what is typed into a terminal is dropped: the
// threads bound everything else.
const (
	maxEnded      = 1024
	maxOrders     = 10000
	maxOrderBytes = 64 << 20
)

// book is what is known of the threads that an agent hosts. agent.mu guards it.
type book struct {
	offer  *protocol.ThreadOffer // nil: it hosts none; replaced, never changed
	hosted map[string]*hosted    // by thread id
	orders int
	bytes  int // of the orders
	// ended are the sequences of the last events of threads that are over: a host whose acknowledgement was lost
	// tells them again, perhaps when the thread was asked for anew.
	ended      map[string]uint64
	endedOrder []string
}

// hosted is one thread at its host.
type hosted struct {
	id    string
	spawn *order // what the host did not accept yet, or nil
	// orders are inputs and stops that the host did not confirm, oldest first.
	orders []*order
	last   uint64 // sequence of the latest event of this session; 0: none came
	// pending are the events that the sink has and did not settle, in order of their sequence.
	pending []*pendingEvent
	settled uint64 // all events up to it are durable
	over    bool   // its last event came
}

// order is a frame for a host that is sent again after a resume, until it is confirmed.
type order struct {
	kind    protocol.Type
	id      string   // of the frame; of an input its id
	payload []byte   // encoded
	on      *session // that it was sent on last, or nil
}

// pendingEvent is an event on its way through the sink.
type pendingEvent struct {
	seq  uint64
	done bool
}

// hosts reports whether the threads have to hear of the agent. a.mu is held.
func (a *agent) hosts() bool { return a.threads.offer != nil || len(a.threads.hosted) > 0 }

// active counts the threads that are not over.
func (b *book) active() int {
	n := 0
	for _, h := range b.hosted {
		if !h.over {
			n++
		}
	}
	return n
}

// ids lists the threads that are not over.
func (b *book) ids() []string {
	ids := make([]string, 0, len(b.hosted))
	for id, h := range b.hosted {
		if !h.over {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// take returns the entry of a thread, and makes it if there is none.
func (b *book) take(id string) *hosted {
	h := b.hosted[id]
	if h == nil {
		h = &hosted{id: id}
		if b.hosted == nil {
			b.hosted = map[string]*hosted{}
		}
		b.hosted[id] = h
	}
	return h
}

// full reports whether so many bytes more are too much.
func (b *book) full(size int) bool { return b.orders >= maxOrders || b.bytes+size > maxOrderBytes }

// add keeps an order.
func (b *book) add(h *hosted, o *order) {
	h.orders = append(h.orders, o)
	b.orders++
	b.bytes += len(o.payload)
}

// confirm forgets the orders of a thread that match.
func (b *book) confirm(h *hosted, match func(*order) bool) {
	h.orders = slices.DeleteFunc(h.orders, func(o *order) bool {
		if !match(o) {
			return false
		}
		b.orders--
		b.bytes -= len(o.payload)
		return true
	})
}

// end drops what is to be sent of a thread that is over.
func (b *book) end(h *hosted) {
	b.confirm(h, func(*order) bool { return true })
	h.spawn, h.over = nil, true
}

// remove forgets a thread.
func (b *book) remove(h *hosted) {
	b.end(h)
	if b.hosted[h.id] == h {
		delete(b.hosted, h.id)
	}
}

// finished remembers the last event of a thread that is over.
func (b *book) finished(id string, seq uint64) {
	if _, known := b.ended[id]; !known {
		if b.ended == nil {
			b.ended = map[string]uint64{}
		}
		b.endedOrder = append(b.endedOrder, id)
		if len(b.endedOrder) > maxEnded {
			delete(b.ended, b.endedOrder[0])
			b.endedOrder = b.endedOrder[1:]
		}
	}
	b.ended[id] = seq
}

// resumed takes over what a host says that it has, and returns the orders to send again. A thread that it accepted
// once and does not list is forgotten: it is lost.
func (b *book) resumed(listed []string) []*order {
	has := make(map[string]bool, len(listed))
	for _, id := range listed {
		has[id] = true
		b.take(id)
	}
	var again []*order
	for _, id := range slices.Sorted(mapKeys(b.hosted)) {
		h := b.hosted[id]
		told := max(h.last, h.settled)
		h.last, h.pending = h.settled, nil
		switch {
		case h.over && has[id]: // its last event comes again
			h.over = false
		case h.over:
			continue // the sink has its end, which waits to be durable
		case !has[id] && h.spawn == nil:
			b.finished(id, told)
			b.remove(h)
			continue
		case !has[id]:
			again = append(again, h.spawn)
		}
		again = append(again, h.orders...)
	}
	return again
}

func mapKeys(m map[string]*hosted) func(func(string) bool) {
	return func(yield func(string) bool) {
		for id := range m {
			if !yield(id) {
				return
			}
		}
	}
}

// settle notes that an event is durable, and returns the sequence up to which all are; 0: nothing changed.
func (h *hosted) settle(f *pendingEvent) uint64 {
	f.done = true
	n := 0
	for n < len(h.pending) && h.pending[n].done {
		h.settled = max(h.settled, h.pending[n].seq)
		n++
	}
	h.pending = h.pending[n:]
	if n == 0 {
		return 0
	}
	return h.settled
}

// statuses are the states that types of events imply.
var statuses = map[core.EventType]core.ManagedAgentStatus{
	core.EventManagedStarted:      core.ManagedStarting,
	core.EventManagedReady:        core.ManagedReady,
	core.EventManagedBusy:         core.ManagedBusy,
	core.EventManagedBlocked:      core.ManagedBusy,
	core.EventManagedQuestion:     core.ManagedBusy,
	core.EventManagedUnblocked:    core.ManagedBusy,
	core.EventManagedLogin:        core.ManagedError,
	core.EventManagedTool:         core.ManagedBusy,
	core.EventManagedTurnComplete: core.ManagedBusy,
	core.EventManagedMessage:      core.ManagedBusy,
	core.EventManagedStuck:        core.ManagedBusy,
	core.EventManagedError:        core.ManagedError,
	core.EventManagedStopped:      core.ManagedStopped,
}
