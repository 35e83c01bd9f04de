package store

import (
	"time"

	"github.com/wardroom/wardroom/core/store/kv"
)

// futureAfter is how far ahead of the clock a time may lie and still be taken for one that the clock told: what lies
// further ahead was stamped while the clock was wrong.
const futureAfter = time.Hour

// cutoff parts what is old from what is not. The zero value says that nothing is.
type cutoff struct {
	before time.Time
	now    time.Time
	// drop, if not nil, is how many more are old whatever their time, the next ones that are asked about.
	drop  *int64
	steps []clockStep // by which the clock went forward while no such time passed
}

func (c cutoff) zero() bool { return c.before.IsZero() && c.drop == nil }

// dropping reports whether the next one is old whatever its time.
func (c cutoff) dropping() bool { return c.drop != nil && *c.drop > 0 }

// passed reports whether what happened at t is old.
func (c cutoff) passed(t time.Time) bool {
	if c.dropping() {
		*c.drop--
		return true
	}
	if c.before.IsZero() || !t.Before(c.before) {
		return false
	}
	for _, s := range c.steps {
		if t.Before(s.From.Add(clockLeap)) { // the clock was looked at last some time before it stepped, over more than that
			t = t.Add(s.By)
		}
	}
	return t.Before(c.before)
}

// aheadRecords finds when events, or records of the audit trail, happened that are stamped with a time of the future: not later
// than the next one that is not. The zero value is ready.
type aheadRecords struct {
	upTo uint64 // sequence of the one that was found last
	at   time.Time
}

// timeOf returns the time of the first event in the log after seq that is not after future; future if there is none.
func (a *aheadRecords) timeOf(txn kv.Snapshot, seq uint64, future time.Time) (time.Time, error) {
	if seq < a.upTo {
		return a.at, nil
	}
	a.upTo, a.at = ^uint64(0), future
	err := scan(txn, []byte(prefixLog), appendLogKey(nil, seq+1), true, func(key, subject []byte) (bool, error) {
		n := lastUint64(key)
		stored, err := get(txn, appendJournalKey(nil, string(subject), n))
		if err != nil {
			return false, err
		}
		if e, err := decodeEvent(string(subject), n, stored); err == nil && !e.Time.After(future) {
			a.upTo, a.at = n, e.Time
			return false, nil
		}
		return true, nil
	})
	return a.at, err
}
