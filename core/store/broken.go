package store

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wardroom/wardroom/core/store/kv"
)

// A record that cannot be decoded is passed over by whoever reads more than that one record, so that it never stands
// between others and their callers, and is noted: in memory for Broken, and durably under prefixBroken, so that the
// next start knows of it before anybody meets it. The record itself stays where it is: nothing is thrown away before an
// operator saw it (Check and Repair).

// maxBroken bounds the notes; what is beyond it is found again once there is room.
const maxBroken = 1000

// maxReason bounds the text of a note, in bytes.
const maxReason = 300

// BrokenRecord is a stored record that cannot be decoded.
type BrokenRecord struct {
	Key     string    `json:"key"`  // as it lies in the store
	Kind    string    `json:"kind"` // what it is, in words: "execution"
	ID      string    `json:"id"`
	Reason  string    `json:"reason"`
	FoundAt time.Time `json:"foundAt"`
}

// brokenRecords are the notes. The zero value is ready.
type brokenRecords struct {
	mu      sync.Mutex // guards all below
	notes   map[string]BrokenRecord
	written map[string]bool // keys of notes that are on disk
	dirty   bool            // some of notes are not
}

// pass handles the error of a record that a walk could not read: the walk goes on without a record that cannot be
// decoded, which is noted, and ends with any other error.
func (s *Store) pass(key []byte, err error) (more bool, _ error) {
	d := asDamage(err)
	if d == nil {
		return err == nil, err
	}
	s.note(key, d)
	return true, nil
}

func (s *Store) note(key []byte, d *damage) {
	b := &s.broken
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, known := b.notes[string(key)]; known || len(b.notes) >= maxBroken {
		return
	}
	reason := oneLine(d.err.Error())
	s.log.Error("a stored record cannot be read and is passed over", "kind", d.what, "id", d.id, "reason", reason)
	if b.notes == nil {
		b.notes = map[string]BrokenRecord{}
	}
	b.notes[string(key)] = BrokenRecord{
		Key: string(key), Kind: d.what, ID: d.id, Reason: reason, FoundAt: s.opts.Clock.Now().UTC(),
	}
	b.dirty = true
}

// oneLine cuts a text at its first line and at maxReason bytes: what follows in errors of the database is a dump of values.
func oneLine(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	if len(text) > maxReason {
		text = strings.ToValidUTF8(text[:maxReason], "")
	}
	return text
}

// Broken returns the records that were found to be undecodable and still are, by key; at most 1,000.
func (s *Store) Broken() []BrokenRecord {
	b := &s.broken
	b.mu.Lock()
	list := make([]BrokenRecord, 0, len(b.notes))
	for _, n := range b.notes {
		list = append(list, n)
	}
	b.mu.Unlock()
	slices.SortFunc(list, func(x, y BrokenRecord) int { return strings.Compare(x.Key, y.Key) })
	return list
}

// loadBroken reads the notes of earlier processes. A note that cannot be read is made anew when its record is met.
func (s *Store) loadBroken(txn kv.Snapshot) error {
	b := &s.broken
	b.mu.Lock()
	defer b.mu.Unlock()
	return scan(txn, []byte(prefixBroken), nil, true, func(key, value []byte) (bool, error) {
		var n BrokenRecord
		if json.Unmarshal(value, &n) != nil {
			return true, nil
		}
		if b.notes == nil {
			b.notes = map[string]BrokenRecord{}
		}
		n.Key = string(key[len(prefixBroken):])
		b.notes[n.Key] = n
		if b.written == nil {
			b.written = map[string]bool{}
		}
		b.written[n.Key] = true
		return len(b.notes) < maxBroken, nil
	})
}

// keepNotes writes the notes that are not on disk yet. What cannot be written now is written with a later call.
func (s *Store) keepNotes(ctx context.Context) {
	b := &s.broken
	b.mu.Lock()
	var fresh []BrokenRecord
	if b.dirty {
		for key, n := range b.notes {
			if !b.written[key] {
				fresh = append(fresh, n)
			}
		}
	}
	b.mu.Unlock()
	if len(fresh) == 0 {
		return
	}
	err := s.update(ctx, true, func(t *tx) error {
		for i := range fresh {
			if len(fresh[i].Key)+len(prefixBroken) > maxKey {
				continue
			}
			if err := t.setJSON(t.key(prefixBroken, fresh[i].Key), fresh[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.written == nil {
		b.written = map[string]bool{}
	}
	for _, n := range fresh {
		b.written[n.Key] = true
	}
	b.dirty = len(b.written) < len(b.notes)
}

// reviewBroken drops the notes of records that are gone or can be read, after a repair or a new put.
func (s *Store) reviewBroken(ctx context.Context) error {
	var well []string
	err := s.view(ctx, func(txn kv.Snapshot) error {
		for _, n := range s.Broken() {
			value, err := get(txn, []byte(n.Key))
			if err != nil {
				return err
			}
			if value == nil || checkRecord([]byte(n.Key), value) == nil {
				well = append(well, n.Key)
			}
		}
		return nil
	})
	if err != nil || len(well) == 0 {
		return err
	}
	err = s.update(ctx, true, func(t *tx) error {
		for _, key := range well {
			t.delete(t.key(prefixBroken, key))
		}
		return nil
	})
	if err != nil {
		return err
	}
	b := &s.broken
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, key := range well {
		delete(b.notes, key)
		delete(b.written, key)
	}
	return nil
}
