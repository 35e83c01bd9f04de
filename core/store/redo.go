package store

import (
	"encoding/binary"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/wardroom/wardroom/core"
)

// A closure may write more than Badger takes in one transaction: a batch of a thousand inputs does. Its
// writes are first kept as a whole under meta/redo, which makes them durable in one commit, then applied
// in parts; the last part removes the record. An open that finds the record applies it again. Until then
// readers may see a part of the writes, in the order in which they were made.
//
// The record is a list of: uvarint length and key, one byte (0 delete, 1 set), uvarint length and value.

// maxRedo bounds such a closure; the record is one value.
const maxRedo = maxValue

// commitLarge commits the closure of w.tx alone. A batch was begun for it and is empty.
func (w *writer) commitLarge(r *request) {
	t := &w.tx
	if len(t.writes) == 0 || t.size > maxRedo {
		w.end()
		r.answer(core.Invalid("body", "is too large: one request may store up to %d bytes", maxRedo))
		return
	}
	w.accepted = append(w.accepted, r)
	w.batchSeq, w.keys = t.seq, len(t.writes)
	w.events = append(w.events, t.events...)
	w.after = append(w.after, t.after...)
	w.changes = append(w.changes, t.changes...)
	w.refs = append(w.refs, t.refs...)
	w.addTallies(t.tallies)
	w.s.floors.lower(t.dues)
	w.orphans = t.orphans
	started := time.Now()
	if err := w.redo(t.writes); err != nil {
		w.fail(err, nil)
		return
	}
	for _, c := range t.changes {
		w.maxID = max(w.maxID, c.id)
	}
	w.s.stats.committed(1, w.keys, len(w.events), time.Since(started))
	w.done()
}

func (w *writer) redo(writes []write) error {
	err := w.prepare(func(wr write) error {
		writes = append(writes, wr)
		return nil
	})
	if err != nil {
		return err
	}
	record := encodeRedo(writes)
	if err := commitWrites(w.s.db, []write{{[]byte(keyRedo), record}}); err != nil {
		return err
	}
	return applyRedo(w.s.db, writes, w.maxSize, w.maxCount)
}

// finishLarge applies a record that a crash left behind.
func finishLarge(db *badger.DB, maxSize, maxCount int64) error {
	txn := db.NewTransaction(false)
	record, err := get(txn, []byte(keyRedo))
	txn.Discard()
	if err != nil || record == nil {
		return err
	}
	writes, err := decodeRedo(record)
	if err != nil {
		return damaged("transaction", keyRedo, err)
	}
	return applyRedo(db, writes, maxSize, maxCount)
}

// applyRedo commits the writes in parts and removes the record with the last one.
func applyRedo(db *badger.DB, writes []write, maxSize, maxCount int64) error {
	threshold := db.Opts().ValueThreshold
	from, size := 0, int64(batchOverhead)
	for i := range writes {
		n := entrySize(writes[i].key, writes[i].value, threshold)
		if i > from && (size+n > maxSize || int64(i-from+2) > maxCount) {
			if err := commitWrites(db, writes[from:i]); err != nil {
				return err
			}
			from, size = i, batchOverhead
		}
		size += n
	}
	last := append(append([]write(nil), writes[from:]...), write{key: []byte(keyRedo)})
	return commitWrites(db, last)
}

func commitWrites(db *badger.DB, writes []write) error {
	txn := db.NewTransaction(true)
	defer txn.Discard()
	for _, w := range writes {
		if err := put(txn, w); err != nil {
			return err
		}
	}
	return txn.Commit()
}

func encodeRedo(writes []write) []byte {
	var b []byte
	for _, w := range writes {
		b = append(binary.AppendUvarint(b, uint64(len(w.key))), w.key...)
		if w.value == nil {
			b = append(b, 0)
			continue
		}
		b = append(b, 1)
		b = append(binary.AppendUvarint(b, uint64(len(w.value))), w.value...)
	}
	return b
}

func decodeRedo(b []byte) ([]write, error) {
	var writes []write
	for len(b) > 0 {
		key, rest, err := cutBytes(b)
		if err != nil || len(rest) == 0 || len(key) == 0 {
			return nil, errRecord
		}
		w := write{key: key}
		switch kind := rest[0]; kind {
		case 0:
			b = rest[1:]
		case 1:
			if w.value, b, err = cutBytes(rest[1:]); err != nil {
				return nil, err
			}
		default:
			return nil, errRecord
		}
		writes = append(writes, w)
	}
	return writes, nil
}

// cutBytes splits a length-prefixed string off b without copying; the result is never nil.
func cutBytes(b []byte) (s, rest []byte, err error) {
	n, used := binary.Uvarint(b)
	if used <= 0 || n > uint64(len(b)-used) {
		return nil, nil, errRecord
	}
	end := used + int(n)
	return b[used:end:end], b[end:], nil
}
