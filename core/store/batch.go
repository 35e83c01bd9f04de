package store

import (
	"context"
	"encoding/binary"
	"math"
	"strconv"

	"github.com/dgraph-io/badger/v4"

	"github.com/wardroom/wardroom/core"
)

// PutBatch implements core.Tx. Results are put one by one and are not part of it.
func (t *tx) PutBatch(b *core.Batch) error {
	if b.ID == "" {
		return core.Invalid("id", "must not be empty")
	}
	active := t.key(prefixBatchActive, b.ID)
	if b.Status.Terminal() {
		t.delete(active)
	} else if err := t.set(active, nil); err != nil {
		return err
	}
	return t.setJSON(t.key(prefixBatch, b.ID), b)
}

// PutBatchInput implements core.Tx.
func (t *tx) PutBatchInput(batchID string, index int, input []byte) error {
	key, err := t.itemKey(prefixBatchInput, batchID, index)
	if err != nil {
		return err
	}
	return t.set(key, input)
}

// PutBatchResult implements core.Tx. A second result of an item replaces the first.
func (t *tx) PutBatchResult(batchID string, r core.BatchResult) error {
	key, err := t.itemKey(prefixBatchResult, batchID, r.Index)
	if err != nil {
		return err
	}
	return t.setJSON(key, r)
}

func (t *tx) itemKey(prefix, batchID string, index int) ([]byte, error) {
	if index < 0 || index > math.MaxInt32 {
		return nil, core.Invalid("index", "%d is not the index of an item", index)
	}
	return t.take(func(b []byte) []byte { return appendItem(b, prefix, batchID, uint32(index)) }), nil
}

// FindBatch implements core.BatchReader.
func (s *Store) FindBatch(ctx context.Context, id string) (*core.Batch, error) {
	var b *core.Batch
	err := s.view(ctx, func(txn *badger.Txn) (err error) {
		b, err = s.readBatch(ctx, txn, id, true)
		return err
	})
	return b, err
}

// readBatch reads a batch with its items, and their results if these are asked for.
func (s *Store) readBatch(ctx context.Context, txn *badger.Txn, id string, results bool) (*core.Batch, error) {
	b := new(core.Batch)
	if err := read(txn, appendKey(nil, prefixBatch, id), "batch", id, b); err != nil {
		return nil, err
	}
	prefix := appendEscaped([]byte(prefixBatchResult), id)
	err := scan(txn, prefix, nil, true, func(key, value []byte) (bool, error) {
		var r core.BatchResult
		if err := decodeJSON("result of batch", id, value, &r); err != nil {
			return s.pass(key, err)
		}
		if !results {
			r.Result, r.Error = nil, nil
		}
		r.Index = int(binary.BigEndian.Uint32(key[len(key)-4:]))
		b.Results = append(b.Results, r)
		return true, ctx.Err()
	})
	return b, err
}

// ActiveBatches implements core.BatchReader.
func (s *Store) ActiveBatches(ctx context.Context) ([]*core.Batch, error) {
	var list []*core.Batch
	err := s.view(ctx, func(txn *badger.Txn) error {
		return scan(txn, []byte(prefixBatchActive), nil, false, func(key, _ []byte) (bool, error) {
			id := string(key[len(prefixBatchActive):])
			b, err := s.readBatch(ctx, txn, id, false)
			if err != nil {
				return s.pass(appendKey(nil, prefixBatch, id), err)
			}
			list = append(list, b)
			return true, nil
		})
	})
	return list, err
}

// FindBatchInput implements core.BatchReader. NOT_FOUND if the batch has no such item.
func (s *Store) FindBatchInput(ctx context.Context, batchID string, index int) ([]byte, error) {
	var input []byte
	err := s.view(ctx, func(txn *badger.Txn) (err error) {
		if index >= 0 && index <= math.MaxInt32 {
			input, err = get(txn, appendItem(nil, prefixBatchInput, batchID, uint32(index)))
		}
		if err == nil && input == nil {
			err = core.NotFound("batch item", batchID+"/"+strconv.Itoa(index))
		}
		return err
	})
	return input, err
}
