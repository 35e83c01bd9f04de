package webhook

import (
	"net/http"
	"time"

	"github.com/wardroom/wardroom/core"
)

// endpoint is what is in memory of one. All but id is guarded by Service.mu.
type endpoint struct {
	id        string
	rec       *core.WebhookRecord // replaced, never changed
	secrets   []secret            // likewise
	broken    error               // the secrets cannot be read: attempts fail with it
	transport http.RoundTripper   // made with the first attempt; nil again once it would be another
	gone      bool                // deleted

	ready   []*job          // in the order in which they go
	window  map[string]*job // all that is in memory, by id: ready, under way, or not written yet
	busy    map[string]bool // subjects of those under way
	held    map[string]held // of an ordered endpoint: by subject, the delivery that waits for its next attempt
	known   bool            // held has what the store knew at the start
	active  int             // attempts under way
	allowed int             // attempts that may be under way; grows with each that succeeds
	slow    bool            // it lets attempts hang: it gets what is left of a share that such endpoints have in common
	listed  bool            // it stands in a ring

	behind  bool            // the store may have due deliveries that are not in the window
	marked  bool            // it fell behind during a load
	loading bool            // a load is under way or asked for
	read    place           // in the queue: what is due before it was read already; zero: nothing
	storing int             // transactions under way that store new deliveries, which are offered to the window later
	settled map[string]bool // ids that left the window while something was loaded or stored: what was read before must not bring them back
	missed  bool            // a load left out what is settled: it is due again if somebody retried it meanwhile
	nextAt  time.Time       // for which timer is set
	timer   core.Timer      // for the next delivery that is due later; or nil

	failures int // attempts since the last that succeeded, as far as this process saw them
}

// place is one in a queue: that of the delivery with an id and that next attempt.
type place struct {
	at time.Time
	id string
}

// held is a delivery of a subject that those behind it wait for.
type held struct {
	id   string
	seq  uint64
	next time.Time
}

// job is a delivery in a window.
type job struct {
	ep       *endpoint
	d        *core.Delivery // replaced, never changed
	started  time.Time
	claimed  chan error // gets what came of storing that its last attempt begins; or nil
	cancel   func()     // ends the attempt under way; or nil
	slowSeen bool       // its attempt was found to last long
}

func newEndpoint(rec *core.WebhookRecord) *endpoint {
	return &endpoint{
		id: rec.ID, rec: rec, window: make(map[string]*job), busy: make(map[string]bool), held: make(map[string]held),
		allowed: startAllowance,
	}
}

// take removes the first delivery from those ready that may go, or returns nil. Deliveries of an ordered endpoint that
// have to wait behind one that failed are handed to postpone.
func (ep *endpoint) take(postpone func(*job, time.Time)) *job {
	for i := 0; i < len(ep.ready); i++ {
		j := ep.ready[i]
		name := j.d.Subject
		if name != "" && ep.busy[name] {
			continue
		}
		if h, ok := ep.held[name]; ok && ep.rec.Ordered && h.seq < j.d.Seq {
			if ep.window[h.id] != nil {
				continue
			}
			ep.remove(i)
			i--
			postpone(j, h.next)
			continue
		} else if ok && h.id == j.d.ID {
			delete(ep.held, name)
		}
		ep.remove(i)
		return j
	}
	return nil
}

func (ep *endpoint) remove(i int) {
	if i == 0 {
		ep.ready[0] = nil
		ep.ready = ep.ready[1:]
		return
	}
	copy(ep.ready[i:], ep.ready[i+1:])
	ep.ready[len(ep.ready)-1] = nil
	ep.ready = ep.ready[:len(ep.ready)-1]
}

// add puts a delivery into the window, as the last one that is ready.
func (ep *endpoint) add(d *core.Delivery) {
	j := &job{ep: ep, d: d}
	ep.window[d.ID] = j
	ep.ready = append(ep.ready, j)
}

// hold notes that a delivery waits for its next attempt. Of several of a subject the first one counts.
func (ep *endpoint) hold(d *core.Delivery) {
	if !ep.rec.Ordered || d.Subject == "" {
		return
	}
	if h, ok := ep.held[d.Subject]; ok && h.seq < d.Seq {
		return
	}
	ep.held[d.Subject] = held{id: d.ID, seq: d.Seq, next: *d.NextAt}
}

// drop takes a delivery out of the window.
func (ep *endpoint) drop(id string) {
	delete(ep.window, id)
	if ep.loading || ep.storing > 0 {
		if ep.settled == nil {
			ep.settled = make(map[string]bool)
		}
		ep.settled[id] = true
	}
}

// unsettle forgets what left the window once nothing can bring it back, and reports whether a load is needed that sees what
// others left out for it.
func (ep *endpoint) unsettle() (again bool) {
	if ep.loading || ep.storing > 0 {
		return false
	}
	again = ep.missed
	ep.settled, ep.missed = nil, false
	return again
}

// forget takes all that waits out of the window; what is under way stays.
func (ep *endpoint) forget() {
	for _, j := range ep.ready {
		ep.drop(j.d.ID)
	}
	ep.ready, ep.read = nil, place{}
	if ep.timer != nil {
		ep.timer.Stop()
		ep.timer = nil
	}
}
