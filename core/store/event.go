package store

import (
	"cmp"
	"context"
	"slices"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store/kv"
)

// maxEventPage bounds one read of events, whatever limit asks for.
const maxEventPage = 10_000

// Append implements core.Tx. The Seq is written into the elements of events, so that a caller who passes a
// slice learns it; it holds only if the transaction commits.
func (t *tx) Append(events ...core.Event) error {
	for i := range events {
		e := &events[i]
		if e.Type == "" {
			return core.Invalid("type", "an event has a type")
		}
		t.seq++
		e.Seq = t.seq
		e.By = cmp.Or(e.By, t.by)
		key := t.take(func(b []byte) []byte { return appendJournalKey(b, e.Subject, e.Seq) })
		value := t.take(func(b []byte) []byte { return appendEvent(b, e) })
		if err := t.set(key, value); err != nil {
			return err
		}
		if e.Group != "" {
			if e.Group == e.Subject {
				return core.Invalid("group", "is the subject: a name is one or the other")
			}
			key := t.take(func(b []byte) []byte { return appendJournalKey(b, e.Group, e.Seq) })
			if err := t.set(key, t.take(func(b []byte) []byte { return appendReference(b, e.Subject) })); err != nil {
				return err
			}
		}
		if e.Public() {
			key := t.take(func(b []byte) []byte { return appendLogKey(b, e.Seq) })
			if err := t.set(key, t.take(func(b []byte) []byte { return append(b, e.Subject...) })); err != nil {
				return err
			}
		}
		t.events = append(t.events, *e)
	}
	return nil
}

// eventPage collects a page of events.
type eventPage struct {
	events      []core.Event
	limit, size int
	more        bool // something is left out
}

// full reports whether no event has room any more, and notes that one was left out then.
func (p *eventPage) full() bool {
	p.more = len(p.events) >= p.limit || p.size >= core.MaxPageBytes
	return p.more
}

func (p *eventPage) add(e core.Event) {
	p.size += len(e.Data)
	p.events = append(p.events, e)
}

// Events implements core.Store. limit 0 or less means as many as one read may return. Subjects and groups share
// their keys, so that neither costs a look for the other: what lies under a group leads to the event. An event that
// went with its subject is left out; one that cannot be read stands there as core.EventUnreadable.
func (s *Store) Events(ctx context.Context, subject string, after uint64, limit int) ([]core.Event, bool, error) {
	page := eventPage{limit: eventLimit(limit)}
	last := s.LastSeq() // what was committed a moment ago is not to be read yet: see AfterCommit
	err := s.view(ctx, func(txn kv.Snapshot) error {
		prefix := appendEscaped([]byte(prefixJournal), subject)
		if after+1 == 0 {
			return nil
		}
		seek := appendJournalKey(nil, subject, after+1)
		return scan(txn, prefix, seek, true, func(key, value []byte) (bool, error) {
			if lastUint64(key) > last {
				return false, nil
			}
			if page.full() {
				return false, nil
			}
			e, err := s.eventAt(txn, subject, key, value)
			if err == nil && e != nil {
				page.add(*e)
			}
			if err != nil {
				return false, err
			}
			return true, ctx.Err()
		})
	})
	return page.events, page.more, err
}

// EventsBefore implements core.Store.
func (s *Store) EventsBefore(ctx context.Context, subject string, before uint64, limit int) ([]core.Event, bool, error) {
	page := eventPage{limit: eventLimit(limit)}
	before = min(before, s.LastSeq()+1)
	err := s.view(ctx, func(txn kv.Snapshot) error {
		prefix := appendEscaped([]byte(prefixJournal), subject)
		return scanBack(txn, prefix, appendJournalKey(nil, subject, before), func(key []byte) (bool, error) {
			if page.full() {
				return false, nil
			}
			value, err := get(txn, key)
			if err != nil {
				return false, err
			}
			e, err := s.eventAt(txn, subject, key, value)
			if err == nil && e != nil {
				page.add(*e)
			}
			if err == nil {
				err = ctx.Err()
			}
			return true, err
		})
	})
	return page.events, page.more, err
}

// eventAt reads the event of a subject or a group under a key; nil for one that went with its subject.
func (s *Store) eventAt(txn kv.Snapshot, subject string, key, value []byte) (*core.Event, error) {
	name, seq := subject, lastUint64(key)
	to, refers := decodeReference(value)
	if refers {
		name, key = to, appendJournalKey(nil, to, seq)
		var err error
		if value, err = get(txn, key); err != nil || value == nil {
			return nil, err
		}
	}
	e, err := decodeEvent(name, seq, value)
	if err != nil {
		s.note(key, asDamage(damaged("event of", name, err)))
		e = core.Event{Seq: seq, Type: core.EventUnreadable, Subject: name}
	}
	if refers {
		e.Group = subject
	}
	return &e, nil
}

// LastSeq implements core.Store.
func (s *Store) LastSeq() uint64 { return s.seq.Load() }

// Log implements core.Store. What cannot be read is left out. limit 0 or less means as many as one read may return.
func (s *Store) Log(ctx context.Context, after uint64, limit int) ([]core.Event, bool, error) {
	page := eventPage{limit: eventLimit(limit)}
	last := s.LastSeq()
	err := s.view(ctx, func(txn kv.Snapshot) error {
		if after+1 == 0 {
			return nil
		}
		var key []byte
		return scan(txn, []byte(prefixLog), appendLogKey(nil, after+1), true, func(k, subject []byte) (bool, error) {
			seq := lastUint64(k)
			if seq > last {
				return false, nil
			}
			key = appendJournalKey(key[:0], string(subject), seq)
			value, err := get(txn, key)
			if err != nil {
				return false, err
			}
			if value == nil {
				return s.pass(k, damaged("entry of the log for", string(subject), errRecord))
			}
			if page.full() {
				return false, nil
			}
			e, err := decodeEvent(string(subject), seq, value)
			if err != nil {
				return s.pass(key, damaged("event of", string(subject), err))
			}
			page.add(e)
			return true, ctx.Err()
		})
	})
	return page.events, page.more, err
}

func eventLimit(limit int) int {
	if limit <= 0 || limit > maxEventPage {
		return maxEventPage
	}
	return limit
}

// SetCursor notes durably that the consumer called name is done with the log up to seq. Retention keeps
// the log from the slowest consumer on.
func (s *Store) SetCursor(ctx context.Context, name string, seq uint64) error {
	return s.update(ctx, false, func(t *tx) error { return t.SetCursor(name, seq) })
}

// SetCursor implements core.Tx.
func (t *tx) SetCursor(name string, seq uint64) error {
	if name == "" {
		return core.Invalid("name", "must not be empty")
	}
	return t.set(t.key(prefixCursor, name), t.take(func(b []byte) []byte { return appendUint64(b, seq) }))
}

// DeleteCursor forgets a consumer, which holds the log back no longer.
func (s *Store) DeleteCursor(ctx context.Context, name string) error {
	return s.update(ctx, false, func(t *tx) error {
		t.delete(t.key(prefixCursor, name))
		return nil
	})
}

// Cursor returns what SetCursor noted; 0 for a consumer that is not known, and for one whose place cannot be read: it
// sees the log again from its oldest entry.
func (s *Store) Cursor(ctx context.Context, name string) (uint64, error) {
	var seq uint64
	err := s.view(ctx, func(txn kv.Snapshot) error {
		value, err := get(txn, appendKey(nil, prefixCursor, name))
		if err != nil || value == nil {
			return err
		}
		if seq, err = decodeUint64(value); err != nil {
			seq = 0
			_, err = s.pass(appendKey(nil, prefixCursor, name), damaged("cursor", name, err))
		}
		return err
	})
	return seq, err
}

// slowestCursor returns the least sequence any consumer is done with; ok is false when there are none. One that cannot
// be read holds the log back as a whole.
func (s *Store) slowestCursor(txn kv.Snapshot) (seq uint64, ok bool, err error) {
	var all []uint64
	err = scan(txn, []byte(prefixCursor), nil, true, func(key, value []byte) (bool, error) {
		v, err := decodeUint64(value)
		if err != nil {
			v = 0
			err = damaged("cursor", string(key[len(prefixCursor):]), err)
		}
		all = append(all, v)
		return s.pass(key, err)
	})
	if err != nil || len(all) == 0 {
		return 0, false, err
	}
	return slices.Min(all), true, nil
}
