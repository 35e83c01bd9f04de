package store

import (
	"context"
	"encoding/binary"
	"math"
	"slices"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store/atrest"
	"github.com/wardroom/wardroom/core/store/kv"
)

func (s *Store) retainBatches(ctx context.Context, old cutoff) (int, error) {
	return s.retainByID(ctx, prefixBatch, core.PrefixBatch, old, func(txn kv.Snapshot, id string, value []byte) (*retired, bool, error) {
		var b core.Batch
		if err := decodeJSON("batch", id, value, &b); err != nil {
			return nil, false, err
		}
		if !b.Status.Terminal() || b.CompletedAt != nil && !old.passed(*b.CompletedAt) {
			return nil, true, nil
		}
		r := &retired{id: id}
		for _, prefix := range []string{prefixBatchInput, prefixBatchResult, prefixBatchValue} {
			err := scan(txn, appendEscaped([]byte(prefix), id), nil, false, func(key, _ []byte) (bool, error) {
				r.keys = append(r.keys, slices.Clone(key))
				return true, nil
			})
			if err != nil {
				return nil, false, err
			}
		}
		return r, true, nil
	}, func(t *tx, r *retired) error { return batches.drop(t, r.id) })
}

// retainEvents trims the log from its oldest entry on, but for the events that deliveries need. An event goes with its
// log entry, but for those of an execution that is still stored: they go with the execution.
func (s *Store) retainEvents(ctx context.Context, old cutoff) (int, error) {
	var slowest uint64
	var held bool
	var needed []uint64
	err := s.view(ctx, func(txn kv.Snapshot) (err error) {
		if slowest, held, err = s.slowestCursor(txn); err != nil {
			return err
		}
		needed, err = s.neededEvents(ctx, txn)
		return err
	})
	if err != nil {
		return 0, err
	}
	var ahead aheadRecords
	return s.retainEach(ctx, prefixLog, "", func(txn kv.Snapshot, id string, value []byte) (*retired, bool, error) {
		seq, subject := lastUint64([]byte(id)), string(value)
		if held && seq > slowest {
			return nil, false, nil
		}
		if _, ok := slices.BinarySearch(needed, seq); ok { // ahead of the cutoff, which counts what it lets go
			return nil, true, nil
		}
		key := appendJournalKey(nil, subject, seq)
		stored, err := get(txn, key)
		if err != nil {
			return nil, false, err
		}
		if e, err := decodeEvent(subject, seq, stored); err == nil {
			at := e.Time
			if at.After(old.now.Add(futureAfter)) {
				if at, err = ahead.timeOf(txn, seq, old.now.Add(futureAfter)); err != nil {
					return nil, false, err
				}
			}
			if !old.passed(at) {
				return nil, false, nil // the log is in order of time
			}
		} else if stored != nil {
			s.note(key, asDamage(damaged("event of", subject, err))) // it goes with the others around it
		}
		r := &retired{id: id}
		has, err := txn.Get(appendKey(nil, prefixExecution, subject), nil)
		if err == nil && !has {
			r.keys = append(r.keys, key)
		}
		return r, true, err
	}, func(t *tx, r *retired) error {
		t.delete(t.key(prefixLog, r.id))
		return nil
	})
}

func (s *Store) retainAgents(ctx context.Context, old cutoff) (int, error) {
	return s.retainEach(ctx, prefixAgent, "", func(_ kv.Snapshot, id string, value []byte) (*retired, bool, error) {
		var a core.AgentRecord
		if err := decodeJSON("agent", id, value, &a); err != nil {
			return nil, false, err
		}
		if a.Status != core.AgentDisconnected || a.DisconnectedAt == nil || !old.passed(*a.DisconnectedAt) {
			return nil, true, nil
		}
		return &retired{id: id}, true, nil
	}, func(t *tx, r *retired) error {
		// The agent may have come back since it was looked at.
		value, err := t.get(t.key(prefixAgent, r.id))
		if err != nil || value == nil {
			return err
		}
		var a core.AgentRecord
		if err := decodeJSON("agent", r.id, value, &a); err != nil {
			return err
		}
		if a.Status == core.AgentDisconnected && a.DisconnectedAt != nil && old.passed(*a.DisconnectedAt) {
			t.delete(t.key(prefixAgent, r.id))
		}
		return nil
	})
}

func (s *Store) retainIdempotency(ctx context.Context, old cutoff) (int, error) {
	return s.retainEach(ctx, prefixIdemByTime, "", func(_ kv.Snapshot, id string, _ []byte) (*retired, bool, error) {
		if len(id) <= 8 {
			return nil, true, nil // no entry of ours: a repair sees to it
		}
		at := time.UnixMilli(int64(min(binary.BigEndian.Uint64([]byte(id)), math.MaxInt64)))
		if !at.Before(old.before) {
			return nil, false, nil
		}
		if !old.passed(at) {
			return nil, true, nil
		}
		return &retired{id: id}, true, nil
	}, func(t *tx, r *retired) error {
		// A key that was claimed anew since has another index entry; this one is then gone.
		index := t.key(prefixIdemByTime, r.id)
		value, err := t.get(index)
		if err != nil || value == nil {
			return err
		}
		t.delete(index)
		t.delete(t.key(prefixIdempotency, r.id[8:]))
		return nil
	})
}

// retainDefinitions removes definitions to which neither a pattern nor any stored execution refers.
func (s *Store) retainDefinitions(ctx context.Context, old cutoff) (int, error) {
	if err := s.alive(ctx); err != nil {
		return 0, err
	}
	var unused []string
	s.state.mu.RLock()
	for hash, d := range s.state.defs {
		if d.stored && d.refs == 0 {
			unused = append(unused, hash)
		}
	}
	s.state.mu.RUnlock()
	removed := 0
	for chunk := range slices.Chunk(unused, retainChunk) {
		n := 0
		err := s.update(ctx, true, func(t *tx) (err error) {
			n, err = t.dropDefinitions(chunk, old)
			return err
		})
		if err != nil {
			return removed, err
		}
		removed += n
	}
	return removed, nil
}

func (t *tx) dropDefinitions(hashes []string, old cutoff) (int, error) {
	n := 0
	for _, hash := range hashes {
		key := t.key(prefixDefinition, hash)
		value, err := t.get(key)
		if err != nil {
			return 0, err
		}
		if len(value) < definitionHeader || atrest.Unopened(value) || !old.passed(time.UnixMilli(int64(binary.BigEndian.Uint64(value)))) {
			continue
		}
		if t.w.refsOf(hash) > 0 {
			continue
		}
		t.delete(key)
		t.refer(refDelta{hash: hash, dropped: true})
		t.shrinks = true
		n++
	}
	return n, nil
}

// refsOf counts the records that refer to a definition, those of the open batch included.
func (w *writer) refsOf(hash string) int64 {
	n := w.s.state.defs[hash].refs
	for _, r := range w.refs {
		if r.hash == hash {
			n += r.by
		}
	}
	return n
}
