package store

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store/kv"
)

// A closure may write more than the database takes in one batch: a batch of a thousand inputs does. Its
// writes are first kept as a whole under meta/redo, which makes them durable in one commit, then applied
// in parts; the last part removes the record. An open that finds the record applies it again. Until then
// readers may see a part of the writes, in the order in which they were made.
//
// The record is a list of: uvarint length and key, one byte (0 delete, 1 set), uvarint length and value.

//
// A record that is too large for one value lies in parts under keyRedo and be32 of their number, each in a commit of its
// own, and keyRedo says how many there are: 0, then their number as an uvarint. Parts without it are of a transaction that
// never was.

// maxClosure bounds what one closure writes, in bytes of keys and values: they are in memory until they are committed.
const maxClosure = 256 << 20

// redoPart is the size of a part.
const redoPart = 32 << 20

// redoCost is how often the bytes of such a closure are written.
const redoCost = 3

// commitLarge commits the closure of w.tx alone. A batch was begun for it and is empty.
func (w *writer) commitLarge(r *request) {
	t := &w.tx
	if len(t.writes) == 0 || t.size+t.large > maxClosure {
		w.end()
		r.answer(core.Invalid("body", "is too large: one request may store up to %d bytes", maxClosure))
		return
	}
	if err := w.s.space.take(redoCost*t.bytes(), r.maintenance); err != nil {
		w.end()
		r.answer(err)
		return
	}
	w.accepted = append(w.accepted, r)
	w.batchSeq, w.batchAudit = t.seq, t.audit
	w.writes = append(w.writes, t.writes...)
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
	w.s.stats.committed(1, len(w.writes), len(w.events), time.Since(started))
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
	parts, err := w.keepRedo(writes)
	if err != nil {
		return err
	}
	return w.s.applyRedo(w.s.db, writes, parts)
}

// keepRedo makes the writes durable as a record, and returns the number of its parts, 0 for a record of one piece.
func (w *writer) keepRedo(writes []write) (parts uint32, err error) {
	var part []byte
	keep := func(key, value []byte) error {
		if err := w.s.values.reserve(int64(len(value))); err != nil {
			return err
		}
		if err := commitWrites(w.s.db, []write{{key, value}}); err != nil {
			return err
		}
		w.s.values.wrote(int64(len(value)))
		return nil
	}
	for i := range writes {
		part = appendRedo(part, &writes[i])
		for len(part) > redoPart {
			if err := keep(redoPartKey(parts), part[:redoPart]); err != nil {
				return 0, err
			}
			parts, part = parts+1, append([]byte(nil), part[redoPart:]...)
		}
	}
	if parts == 0 {
		return 0, keep([]byte(keyRedo), part)
	}
	if err := keep(redoPartKey(parts), part); err != nil {
		return 0, err
	}
	parts++
	return parts, keep([]byte(keyRedo), binary.AppendUvarint([]byte{0}, uint64(parts)))
}

func redoPartKey(n uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte(keyRedo+"/"), n)
}

// readRedo puts a record together from its parts, if it has any, and returns how many there are.
func readRedo(txn kv.Snapshot, record []byte) (whole []byte, parts uint32, err error) {
	if len(record) == 0 || record[0] != 0 {
		return record, 0, nil
	}
	n, used := binary.Uvarint(record[1:])
	if used <= 0 || n > maxClosure/redoPart+2 {
		return nil, 0, errRecord
	}
	for i := range uint32(n) {
		part, err := get(txn, redoPartKey(i))
		if err != nil {
			return nil, 0, err
		}
		whole = append(whole, part...)
	}
	return whole, uint32(n), nil
}

// finishLarge applies a record that a crash left behind. One that cannot be read is put aside: what it would have
// written is lost, but for what was applied of it before the crash.
func (s *Store) finishLarge(db kv.DB) error {
	txn := db.Snapshot()
	defer txn.Discard()
	record, err := get(txn, []byte(keyRedo))
	if err != nil {
		return err
	}
	if record == nil {
		return dropParts(db, txn)
	}
	whole, parts, err := readRedo(txn, record)
	var writes []write
	if err == nil {
		writes, err = decodeRedo(whole)
	}
	if err != nil && !errors.Is(err, errRecord) {
		return err
	}
	if err != nil {
		s.note([]byte(keyRedoBroken), asDamage(damaged("transaction", keyRedo, err)))
		return commitWrites(db, []write{{[]byte(keyRedoBroken), record}, {key: []byte(keyRedo)}})
	}
	return s.applyRedo(db, writes, parts)
}

// dropParts removes parts of a record that never came to be one.
func dropParts(db kv.DB, txn kv.Snapshot) error {
	var drop []write
	err := scan(txn, []byte(keyRedo+"/"), nil, false, func(key, _ []byte) (bool, error) {
		drop = append(drop, write{key: append([]byte(nil), key...)})
		return true, nil
	})
	if err != nil || len(drop) == 0 {
		return err
	}
	return commitWrites(db, drop)
}

// applyRedo commits the writes in pieces and removes the record, which has that many parts, with the last one.
func (s *Store) applyRedo(db kv.DB, writes []write, parts uint32) error {
	limits := db.Limits()
	from, size, large := 0, int64(batchOverhead), int64(0)
	commit := func(piece []write) error {
		if err := s.values.reserve(large); err != nil {
			return err
		}
		if err := commitWrites(db, piece); err != nil {
			return err
		}
		s.values.wrote(large)
		return nil
	}
	for i := range writes {
		n, l := entrySize(writes[i].key, writes[i].value, limits), largeSize(writes[i].key, writes[i].value, limits.Large)
		if i > from && (size+n > limits.Size || large+l > maxValue || int64(i-from+2+int(parts)) > limits.Count) {
			if err := commit(writes[from:i]); err != nil {
				return err
			}
			from, size, large = i, batchOverhead, 0
		}
		size, large = size+n, large+l
	}
	last := append([]write(nil), writes[from:]...)
	last = append(last, write{key: []byte(keyRedo)})
	for n := range parts {
		last = append(last, write{key: redoPartKey(n)})
	}
	return commit(last)
}

func commitWrites(db kv.DB, writes []write) error {
	txn := db.Begin()
	defer txn.Discard()
	for _, w := range writes {
		if err := put(txn, w); err != nil {
			return err
		}
	}
	return txn.Commit()
}

// chunks commits what a migration writes, so much at a time.
type chunks struct {
	db     kv.DB
	writes []write
	size   int
}

// put adds a write; a nil value removes the key.
func (c *chunks) put(key, value []byte) error {
	c.writes = append(c.writes, write{key, value})
	if c.size += len(key) + len(value); len(c.writes) < repairChunk && c.size < repairBytes {
		return nil
	}
	return c.end(nil)
}

// end commits what waits, unless there is an error already.
func (c *chunks) end(err error) error {
	if err != nil || len(c.writes) == 0 {
		return err
	}
	err = commitWrites(c.db, c.writes)
	c.writes, c.size = nil, 0
	return err
}

// appendRedo appends one write to a record.
func appendRedo(b []byte, w *write) []byte {
	b = append(binary.AppendUvarint(b, uint64(len(w.key))), w.key...)
	if w.value == nil {
		return append(b, 0)
	}
	b = append(b, 1)
	return append(binary.AppendUvarint(b, uint64(len(w.value))), w.value...)
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
