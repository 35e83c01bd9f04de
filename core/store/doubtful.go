package store

import (
	"crypto/sha256"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store/kv"
)

// doubtful is a batch whose commit failed: it may be stored all the same.
type doubtful struct {
	before, seq uint64 // sequence numbers given before it, and with it
	writes      map[string]written
	events      []core.Event
	after       []func() // of AfterCommit, in order
	orphans     bool     // an endpoint was deleted
}

// written is the state in which a batch leaves a key.
type written struct {
	deleted bool
	sum     [sha256.Size]byte // of its value
}

// sumsOf returns what writes make of their keys, of which the last one of each counts.
func sumsOf(writes []write) map[string]written {
	sums := make(map[string]written, len(writes))
	for _, wr := range writes {
		if wr.value == nil {
			sums[string(wr.key)] = written{deleted: true}
			continue
		}
		sums[string(wr.key)] = written{sum: sha256.Sum256(wr.value)}
	}
	return sums
}

// eventsStored reports whether the events of the batch are stored, by the last sequence number that is. A batch without events has none.
func (d *doubtful) eventsStored(last uint64) bool { return d.seq > d.before && last >= d.seq }

// stored reports whether the batch is stored: one with events by the last sequence number that is, another by all that it wrote. One
// that changed nothing is as good as stored.
func (d *doubtful) stored(last uint64, txn kv.Snapshot) (bool, error) {
	if d.seq > d.before {
		return d.eventsStored(last), nil
	}
	for key, want := range d.writes {
		value, err := get(txn, []byte(key))
		if err != nil {
			return false, err
		}
		if want.deleted != (value == nil) || !want.deleted && sha256.Sum256(value) != want.sum {
			return false, nil
		}
	}
	return len(d.writes) > 0, nil
}

// makeKnown makes a batch known that turns out to be stored, as done does with one whose commit did not fail. It is called once the
// database is open again, before anything else is written.
func (w *writer) makeKnown() {
	d := w.doubt
	w.doubt = doubtful{}
	txn := w.s.db.Snapshot()
	stored, err := d.stored(w.seq, txn)
	txn.Discard()
	if err != nil {
		w.s.log.Error("it cannot be read whether what was written last is stored", "error", err)
	}
	if !stored {
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
