package store

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/wardroom/wardroom/core"
)

func (s *Store) retainBatches(ctx context.Context, before time.Time) (int, error) {
	end := core.IDBound(core.PrefixBatch, before)
	return s.retainEach(ctx, prefixBatch, func(txn *badger.Txn, id string, value []byte) (*retired, bool, error) {
		if id >= end {
			return nil, false, nil
		}
		var b core.Batch
		if err := decodeJSON("batch", id, value, &b); err != nil {
			return nil, false, err
		}
		if !b.Status.Terminal() || b.CompletedAt != nil && !b.CompletedAt.Before(before) {
			return nil, true, nil
		}
		r := &retired{id: id}
		for _, prefix := range []string{prefixBatchInput, prefixBatchResult} {
			err := scan(txn, appendEscaped([]byte(prefix), id), nil, false, func(key, _ []byte) (bool, error) {
				r.keys = append(r.keys, slices.Clone(key))
				return true, nil
			})
			if err != nil {
				return nil, false, err
			}
		}
		return r, true, nil
	}, func(t *tx, r *retired) error {
		t.delete(t.key(prefixBatch, r.id))
		return nil
	})
}

// retainEvents trims the log from its oldest entry on, but for the events that deliveries need. An event goes with its
// log entry, but for those of an execution that is still stored: they go with the execution.
func (s *Store) retainEvents(ctx context.Context, before time.Time) (int, error) {
	var slowest uint64
	var held bool
	var needed []uint64
	err := s.view(ctx, func(txn *badger.Txn) (err error) {
		if slowest, held, err = slowestCursor(txn); err != nil {
			return err
		}
		needed, err = neededEvents(ctx, txn)
		return err
	})
	if err != nil {
		return 0, err
	}
	return s.retainEach(ctx, prefixLog, func(txn *badger.Txn, id string, value []byte) (*retired, bool, error) {
		seq, subject := lastUint64([]byte(id)), string(value)
		if held && seq > slowest {
			return nil, false, nil
		}
		key := appendJournalKey(nil, subject, seq)
		stored, err := get(txn, key)
		if err != nil {
			return nil, false, err
		}
		e, err := decodeEvent(subject, seq, stored)
		if err == nil && !e.Time.Before(before) {
			return nil, false, nil // the log is in order of time
		}
		if _, ok := slices.BinarySearch(needed, seq); ok {
			return nil, true, nil
		}
		r := &retired{id: id}
		_, err = txn.Get(appendKey(nil, prefixExecution, subject))
		if errors.Is(err, badger.ErrKeyNotFound) {
			r.keys, err = append(r.keys, key), nil
		}
		return r, true, err
	}, func(t *tx, r *retired) error {
		t.delete(t.key(prefixLog, r.id))
		return nil
	})
}

func (s *Store) retainAgents(ctx context.Context, before time.Time) (int, error) {
	return s.retainEach(ctx, prefixAgent, func(_ *badger.Txn, id string, value []byte) (*retired, bool, error) {
		var a core.AgentRecord
		if err := decodeJSON("agent", id, value, &a); err != nil {
			return nil, false, err
		}
		if a.Status != core.AgentDisconnected || a.DisconnectedAt == nil || !a.DisconnectedAt.Before(before) {
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
		if a.Status == core.AgentDisconnected && a.DisconnectedAt != nil && a.DisconnectedAt.Before(before) {
			t.delete(t.key(prefixAgent, r.id))
		}
		return nil
	})
}

func (s *Store) retainIdempotency(ctx context.Context, before time.Time) (int, error) {
	return s.retainEach(ctx, prefixIdemByTime, func(_ *badger.Txn, id string, _ []byte) (*retired, bool, error) {
		if len(id) <= 8 || binary.BigEndian.Uint64([]byte(id)) >= claimedMs(before) {
			return nil, false, nil
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
func (s *Store) retainDefinitions(ctx context.Context, before time.Time) (int, error) {
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
			n, err = t.dropDefinitions(chunk, before)
			return err
		})
		if err != nil {
			return removed, err
		}
		removed += n
	}
	return removed, nil
}

func (t *tx) dropDefinitions(hashes []string, before time.Time) (int, error) {
	n := 0
	for _, hash := range hashes {
		key := t.key(prefixDefinition, hash)
		value, err := t.get(key)
		if err != nil {
			return 0, err
		}
		if len(value) < definitionHeader || !time.UnixMilli(int64(binary.BigEndian.Uint64(value))).Before(before) {
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
