package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"math"
	"strconv"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store/atrest"
	"github.com/wardroom/wardroom/core/store/kv"
)

// The audit trail lies under prefixAudit by sequence. Its end is in the writer's memory, as the sequence of events is, so
// that each record can be chained to the one before it in the transaction that it tells of.

var (
	_ core.AuditStore = (*Store)(nil)
	_ core.AuditTx    = (*tx)(nil)
)

// auditRow is the value of a record: 8 bytes Unix milliseconds, then the record.
const auditHeader = 8

// appendAuditHead makes the value under keyAudit.
func appendAuditHead(dst []byte, h core.AuditHead) []byte {
	dst = append(dst, recordVersion)
	dst = appendUint64(dst, h.Sequence)
	dst = appendUint64(dst, h.First)
	dst = appendUint64(dst, uint64(h.Bytes))
	return append(dst, h.Hash[:]...)
}

func decodeAuditHead(b []byte) (h core.AuditHead, err error) {
	if len(b) != 1+3*8+len(h.Hash) || b[0] != recordVersion {
		return h, errRecord
	}
	h.Sequence, h.First = binary.BigEndian.Uint64(b[1:]), binary.BigEndian.Uint64(b[9:])
	h.Bytes = int64(binary.BigEndian.Uint64(b[17:]) & math.MaxInt64)
	copy(h.Hash[:], b[25:])
	return h, nil
}

func appendAuditKey(dst []byte, sequence uint64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, prefixAudit...), sequence)
}

// loadAudit reads the end of the trail.
func (w *writer) loadAudit(txn kv.Snapshot) error {
	value, err := get(txn, []byte(keyAudit))
	if err != nil {
		return err
	}
	head, err := decodeAuditHead(value)
	if err != nil {
		if value != nil {
			w.s.note([]byte(keyAudit), asDamage(damaged("end of the audit trail", keyAudit, err)))
		}
		if head, err = auditHeadOf(txn); err != nil {
			return err
		}
	}
	w.audit, w.batchAudit = head, head
	w.s.audit.Store(&head)
	return nil
}

// auditHeadOf finds the end of the trail by its records: the newest one ends with its hash.
func auditHeadOf(txn kv.Snapshot) (core.AuditHead, error) {
	head := core.AuditHead{First: 1}
	first := true
	err := scan(txn, []byte(prefixAudit), nil, true, func(key, value []byte) (bool, error) {
		if first {
			head.First, first = lastUint64(key), false
		}
		head.Sequence = lastUint64(key)
		head.Bytes += int64(len(key) + len(value))
		head.Hash = core.AuditHash{}
		if n := len(value) - len(`"}`); n >= 2*len(head.Hash) {
			_, _ = hex.Decode(head.Hash[:], value[n-2*len(head.Hash):n]) // what is none breaks the chain, which shows
		}
		return true, nil
	})
	return head, err
}

// AppendAudit implements core.AuditTx.
func (t *tx) AppendAudit(seal core.AuditSeal) error {
	head := &t.audit
	var hash core.AuditHash
	value := t.take(func(b []byte) []byte {
		start := len(b)
		b = append(b, 0, 0, 0, 0, 0, 0, 0, 0)
		var at time.Time
		b, at, hash = seal(b, head.Sequence+1, head.Hash)
		binary.BigEndian.PutUint64(b[start:], uint64(max(at.UnixMilli(), 0)))
		return b
	})
	key := t.take(func(b []byte) []byte { return appendAuditKey(b, head.Sequence+1) })
	if err := t.set(key, value); err != nil {
		return err
	}
	head.Sequence++
	head.Hash = hash
	head.Bytes += int64(len(key) + len(value))
	return nil
}

// AuditHead implements core.AuditTx.
func (t *tx) AuditHead() core.AuditHead { return t.audit }

// Appended implements core.AuditTx.
func (t *tx) Appended() []core.Event { return t.events }

// FirstID implements core.AuditTx.
func (t *tx) FirstID(prefix string) string {
	for i := range t.writes {
		key := t.writes[i].key
		at := bytes.IndexByte(key, '/')
		if t.writes[i].value == nil || at < 0 || !bytes.HasPrefix(key[at+1:], []byte(prefix)) {
			continue
		}
		if id := string(key[at+1:]); core.ValidID(prefix, id) {
			return id
		}
	}
	return ""
}

// RecordAudit implements core.AuditStore.
func (s *Store) RecordAudit(ctx context.Context, fn func(tx core.AuditTx) error) error {
	return s.update(ctx, false, func(t *tx) error { return fn(t) })
}

// AuditHead implements core.AuditStore.
func (s *Store) AuditHead() core.AuditHead { return *s.audit.Load() }

// AuditRows implements core.AuditStore.
func (s *Store) AuditRows(ctx context.Context, from uint64, backwards bool, fn func(row core.AuditRow) (bool, error)) error {
	last := s.AuditHead().Sequence // what was committed a moment ago is not to be read yet
	if backwards {
		from = min(from, last)
	}
	return s.view(ctx, func(txn kv.Snapshot) error {
		it := txn.Iterate([]byte(prefixAudit), backwards)
		defer it.Close()
		for it.Seek(appendAuditKey(nil, from)); ; it.Next() {
			key, ok := it.Key()
			if !ok || len(key) != len(prefixAudit)+8 {
				return nil
			}
			row := core.AuditRow{Sequence: lastUint64(key)}
			if row.Sequence > last {
				return nil
			}
			on := false
			err := it.Value(func(value []byte) (err error) {
				if len(value) < auditHeader || atrest.Unopened(value) {
					// The gap tells whoever verifies the trail, and the note everybody else.
					on, err = s.pass(key, damaged("audit record", strconv.FormatUint(row.Sequence, 10), unreadable(value)))
					return err
				}
				row.Time = time.UnixMilli(int64(binary.BigEndian.Uint64(value) & math.MaxInt64)).UTC()
				row.Record = value[auditHeader:]
				on, err = fn(row)
				return err
			})
			if err != nil || !on {
				return err
			}
			if err := ctx.Err(); err != nil {
				return err
			}
		}
	})
}

// AuditCursor implements core.AuditStore.
func (s *Store) AuditCursor(ctx context.Context, sink string) (sequence uint64, err error) {
	err = s.view(ctx, func(txn kv.Snapshot) error {
		value, err := get(txn, appendKey(nil, prefixAuditCursor, sink))
		if err != nil || value == nil {
			return err
		}
		if sequence, err = decodeUint64(value); err != nil {
			sequence = 0 // it gets all again, which does no harm
		}
		return nil
	})
	return sequence, err
}

// SetAuditCursor implements core.AuditStore.
func (s *Store) SetAuditCursor(ctx context.Context, sink string, sequence uint64) error {
	// It may be written while the store is low on space: retention waits for it.
	return s.update(ctx, true, func(t *tx) error {
		return t.set(t.key(prefixAuditCursor, sink), t.take(func(b []byte) []byte { return appendUint64(b, sequence) }))
	})
}

// TrimAudit implements core.AuditStore.
func (s *Store) TrimAudit(
	ctx context.Context, upTo uint64, old func(at time.Time) bool, seal func(through uint64, removed int) core.AuditSeal,
) (int, error) {
	removed := 0
	var ahead aheadRecords
	future := s.opts.Clock.Now().Add(futureAfter)
	for {
		var through, unknown uint64
		n := 0
		err := s.AuditRows(ctx, s.AuditHead().First, false, func(row core.AuditRow) (bool, error) {
			if row.Sequence > upTo || n == retainKeys {
				return false, nil
			}
			at := row.Time
			if at.After(future) {
				if row.Sequence >= ahead.upTo {
					unknown = row.Sequence
					return false, nil
				}
				at = ahead.at
			}
			if !old(at) {
				return false, nil
			}
			through = row.Sequence
			n++
			return true, nil
		})
		if err == nil && unknown != 0 {
			ahead, err = s.aheadAudit(ctx, unknown, future)
		}
		if err != nil || n == 0 && unknown == 0 {
			return removed, err
		}
		if n == 0 {
			continue
		}
		if err := s.update(ctx, true, func(t *tx) error { return t.trimAudit(through, n, seal) }); err != nil {
			return removed, err
		}
		removed += n
		if n < retainKeys && unknown == 0 {
			return removed, nil
		}
	}
}

// aheadAudit returns when the records from a sequence on happened that are stamped with a time of the future: not later than the
// next one that is not. Where the newest one is of the future too there is none.
func (s *Store) aheadAudit(ctx context.Context, sequence uint64, future time.Time) (aheadRecords, error) {
	ahead := aheadRecords{upTo: math.MaxUint64, at: future}
	find := func(row core.AuditRow) (bool, error) {
		if !row.Time.After(future) {
			ahead = aheadRecords{upTo: row.Sequence, at: row.Time}
		}
		return row.Time.After(future), nil
	}
	err := s.AuditRows(ctx, s.AuditHead().Sequence, true, func(row core.AuditRow) (bool, error) {
		_, err := find(row)
		return false, err
	})
	if err == nil && ahead.upTo != math.MaxUint64 {
		err = s.AuditRows(ctx, sequence, false, find)
	}
	return ahead, err
}

// trimAudit removes the records up to one that is not the newest, and tells of it.
func (t *tx) trimAudit(through uint64, n int, seal func(uint64, int) core.AuditSeal) error {
	var gone int64
	for sequence := t.audit.First; sequence <= through && sequence <= t.audit.Sequence; sequence++ {
		key := t.take(func(b []byte) []byte { return appendAuditKey(b, sequence) })
		value, err := t.get(key)
		if err != nil {
			return err
		}
		if value != nil {
			gone += int64(len(key) + len(value))
			t.delete(key)
		}
	}
	t.audit.First = max(t.audit.First, through+1)
	t.audit.Bytes = max(t.audit.Bytes-gone, 0)
	return t.AppendAudit(seal(through, n))
}
