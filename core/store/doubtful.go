package store

import "github.com/wardroom/wardroom/core"

// doubtful is a batch whose commit failed: it may be stored all the same.
type doubtful struct {
	before, seq uint64 // sequence numbers given before it, and with it
	events      []core.Event
	after       []func() // of AfterCommit, in order
	orphans     bool     // an endpoint was deleted
}

// stored reports whether the batch is stored, by the last sequence number that is.
func (d *doubtful) stored(last uint64) bool { return d.seq > d.before && last >= d.seq }

// makeKnown makes a batch known that turns out to be stored, as done does with one whose commit did not fail. It is called once the
// database is open again, before anything else is written. Of a batch without events that is not known, so that its functions are
// not called: whoever wants to know looks for what it wrote.
func (w *writer) makeKnown() {
	d := w.doubt
	w.doubt = doubtful{}
	if !d.stored(w.seq) {
		return
	}
	w.call(d.after)
	w.s.seq.Store(w.seq)
	if d.orphans {
		w.s.wakeOrphans()
	}
	if w.s.opts.OnCommit != nil {
		w.s.opts.OnCommit(d.events)
	}
}
