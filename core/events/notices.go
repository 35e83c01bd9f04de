package events

import (
	"sync"
	"time"

	"github.com/wardroom/wardroom/core"
)

// NoticePause is the least time between two notices of one type and subject.
const NoticePause = 500 * time.Millisecond

// Notices publishes notices, which are live only. Of one type and subject the first comes at once, and of those that follow within
// NoticePause the last one stands for all of them. All methods are safe for concurrent use.
type Notices struct {
	bus   *Bus
	clock core.Clock
	done  sync.WaitGroup // timers that are set, or run

	mu     sync.Mutex // guards all below, and is held while notices are published, which keeps their order
	told   map[noticeKey]*told
	timer  core.Timer // for what waits; nil while none was told of late
	closed bool
}

type noticeKey struct {
	kind    core.EventType
	subject string
}

// told is when something was told last, and what waits to be told after it.
type told struct {
	at   time.Time
	next *core.Event // or nil
}

// NewNotices publishes to a bus. Close ends it.
func NewNotices(bus *Bus, clock core.Clock) *Notices {
	return &Notices{bus: bus, clock: clock, told: map[noticeKey]*told{}}
}

// Publish sends a notice to the streams of all events, now or within NoticePause. It does not block, and does nothing if
// there is no such stream.
func (n *Notices) Publish(e core.Event) {
	if n.bus.all.count.Load() == 0 {
		return
	}
	key := noticeKey{e.Type, e.Subject}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return
	}
	if t := n.told[key]; t != nil {
		t.next = &e
		return
	}
	n.tell(key, e)
	if n.timer == nil {
		n.schedule(NoticePause)
	}
}

// tell publishes a notice. mu is held.
func (n *Notices) tell(key noticeKey, e core.Event) {
	n.told[key] = &told{at: n.clock.Now()}
	n.bus.Publish([]core.Event{e})
}

// schedule sets the timer. mu is held.
func (n *Notices) schedule(wait time.Duration) {
	n.done.Add(1)
	n.timer = n.clock.AfterFunc(wait, n.flush)
}

// flush tells what waited long enough, and forgets what nothing waits behind.
func (n *Notices) flush() {
	defer n.done.Done()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.timer = nil
	if n.closed {
		return
	}
	now := n.clock.Now()
	wait := time.Duration(-1)
	for key, t := range n.told {
		left := NoticePause - now.Sub(t.at)
		switch {
		case left > 0 && left <= NoticePause:
		case t.next == nil:
			delete(n.told, key)
			continue
		default:
			n.tell(key, *t.next)
			left = NoticePause
		}
		if wait < 0 || left < wait {
			wait = left
		}
	}
	if wait >= 0 {
		n.schedule(wait)
	}
}

// Close drops what waits, and returns once nothing is published any more. Safe to call twice.
func (n *Notices) Close() {
	n.mu.Lock()
	n.closed = true
	if n.timer != nil && n.timer.Stop() {
		n.done.Done()
	}
	n.timer = nil
	n.mu.Unlock()
	n.done.Wait()
}
