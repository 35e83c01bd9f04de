package store

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"math"
	"strconv"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store/kv"
)

var batches = &table[core.Batch]{prefix: prefixBatch, kind: "batch"}

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
	return batches.put(t, b.ID, nil, b)
}

// PutBatchInput implements core.Tx.
func (t *tx) PutBatchInput(batchID string, index int, input []byte) error {
	key, err := t.itemKey(prefixBatchInput, batchID, index)
	if err != nil {
		return err
	}
	return t.set(key, input)
}

// batchValue is what came of an item. It lies beside how the item stands, which is small and is read alone for all items
// at once.
type batchValue struct {
	Result json.RawMessage      `json:"result,omitempty"`
	Error  *core.ExecutionError `json:"error,omitempty"`
}

// PutBatchResult implements core.Tx. A second result of an item replaces the first.
func (t *tx) PutBatchResult(batchID string, r core.BatchResult) error {
	key, err := t.itemKey(prefixBatchResult, batchID, r.Index)
	if err != nil {
		return err
	}
	value, err := t.itemKey(prefixBatchValue, batchID, r.Index)
	if err != nil {
		return err
	}
	switch {
	case r.Result != nil || r.Error != nil:
		err = t.setJSON(value, batchValue{r.Result, r.Error})
	case r.Status.Terminal():
		t.delete(value)
	}
	if err != nil {
		return err
	}
	r.Result, r.Error = nil, nil
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
	return batches.one(ctx, s, id)
}

// eachItem calls fn with the items of a batch from an index on, in order, as far as they began or ended.
func (s *Store) eachItem(ctx context.Context, txn kv.Snapshot, id string, from int, fn func(r core.BatchResult) (bool, error)) error {
	prefix := appendEscaped([]byte(prefixBatchResult), id)
	seek := appendItem(nil, prefixBatchResult, id, uint32(from))
	return scan(txn, prefix, seek, true, func(key, value []byte) (bool, error) {
		var r core.BatchResult
		if err := decodeJSON("item of batch", id, value, &r); err != nil {
			return s.pass(key, err)
		}
		r.Index = int(binary.BigEndian.Uint32(key[len(key)-4:]))
		more, err := fn(r)
		if err == nil {
			err = ctx.Err()
		}
		return more, err
	})
}

// FindBatchResults implements core.BatchReader.
func (s *Store) FindBatchResults(ctx context.Context, id string, from, limit int) (list []core.BatchResult, next int, err error) {
	if from < 0 || from > math.MaxInt32 {
		return nil, -1, nil
	}
	next = -1
	err = s.view(ctx, func(txn kv.Snapshot) error {
		size := 0
		return s.eachItem(ctx, txn, id, from, func(r core.BatchResult) (bool, error) {
			if len(list) >= limit || size >= core.MaxPageBytes {
				next = r.Index
				return false, nil
			}
			if r.Result == nil && r.Error == nil && r.Status.Terminal() {
				key := appendItem(nil, prefixBatchValue, id, uint32(r.Index))
				var v batchValue
				err := read(txn, key, "result of batch", id, &v)
				if err != nil && core.ErrorCode(err) != core.CodeNotFound {
					return s.pass(key, err)
				}
				r.Result, r.Error = v.Result, v.Error
			}
			size += len(r.Result)
			list = append(list, r)
			return true, nil
		})
	})
	return list, next, err
}

// ActiveBatches implements core.BatchReader.
func (s *Store) ActiveBatches(ctx context.Context) ([]*core.Batch, error) {
	var list []*core.Batch
	err := s.view(ctx, func(txn kv.Snapshot) error {
		return batches.indexed(ctx, s, txn, []byte(prefixBatchActive), func(id string, b *core.Batch) error {
			list = append(list, b)
			return s.eachItem(ctx, txn, id, 0, func(r core.BatchResult) (bool, error) {
				r.Result, r.Error = nil, nil
				b.Results = append(b.Results, r)
				return true, nil
			})
		})
	})
	return list, err
}

// FindBatchInput implements core.BatchReader. NOT_FOUND if the batch has no such item.
func (s *Store) FindBatchInput(ctx context.Context, batchID string, index int) ([]byte, error) {
	var input []byte
	err := s.view(ctx, func(txn kv.Snapshot) (err error) {
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
