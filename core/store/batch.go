package store

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"
	"strconv"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store/atrest"
	"github.com/wardroom/wardroom/core/store/kv"
)

var batches = &table[core.Batch]{
	prefix: prefixBatch, kind: "batch", decode: decodeBatch, lists: kindBatch, idPrefix: core.PrefixBatch,
	facets: func(b *core.Batch) []facet {
		creator := b.CreatedBy
		if !indexed(creator) {
			creator = ""
		}
		return []facet{{'s', string(b.Status)}, {'p', b.Pattern.Name}, {'c', creator}}
	},
}

// notCounted stands for the cancelled items of a batch that a former version wrote: it counted them among those that
// failed.
const notCounted = -1

func decodeBatch(id string, value []byte) (*core.Batch, error) {
	var rec struct {
		core.Batch
		Cancelled *int `json:"cancelled"`
	}
	if err := decodeJSON("batch", id, value, &rec); err != nil {
		return nil, err
	}
	b := &rec.Batch
	switch {
	case rec.Cancelled != nil:
		b.Cancelled = *rec.Cancelled
	case b.Failed > 0:
		b.Cancelled = notCounted
	}
	return b, nil
}

// countCancelled sees to the counts of a batch that a former version wrote.
func (s *Store) countCancelled(ctx context.Context, txn kv.Snapshot, b *core.Batch) error {
	if b.Cancelled != notCounted {
		return nil
	}
	b.Cancelled = 0
	return s.eachItem(ctx, txn, b.ID, 0, func(r core.BatchResult) (bool, error) {
		if r.Status == core.ExecutionCancelled && b.Failed > 0 {
			b.Failed, b.Cancelled = b.Failed-1, b.Cancelled+1
		}
		return true, nil
	})
}

// PutBatch implements core.Tx. Results are put one by one and are not part of it.
func (t *tx) PutBatch(b *core.Batch) error {
	if b.ID == "" {
		return core.Invalid("id", "must not be empty")
	}
	old, err := batches.get(t, b.ID)
	if err != nil && asDamage(err) == nil {
		return err
	}
	active := t.key(prefixBatchActive, b.ID)
	if b.Status.Terminal() {
		t.delete(active)
	} else if err := t.set(active, nil); err != nil {
		return err
	}
	return batches.put(t, b.ID, old, b)
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
	var b *core.Batch
	err := s.view(ctx, func(txn kv.Snapshot) (err error) {
		if b, err = batches.read(txn, id); err == nil {
			err = s.countCancelled(ctx, txn, b)
		}
		return err
	})
	return b, err
}

// FindBatches implements core.BatchReader.
func (s *Store) FindBatches(ctx context.Context, filter core.BatchFilter) ([]*core.Batch, core.PageInfo, error) {
	if filter.Status != "" && !slices.Contains(core.BatchStatuses, filter.Status) {
		return nil, core.PageInfo{}, core.Invalid("status", "%q is not a status of a batch", filter.Status)
	}
	if len(filter.CreatedBy) > core.MaxIndexedBytes {
		return nil, core.PageInfo{}, core.Invalid("createdBy", "must be at most %d bytes: lists do not select by what is longer", core.MaxIndexedBytes)
	}
	wanted := &core.Batch{Status: filter.Status, Pattern: core.PatternRef{Name: filter.Pattern}, CreatedBy: filter.CreatedBy}
	q := s.listOf(kindBatch, batches.facets(wanted), nil, filter.Page)
	return batches.query(ctx, s, q, func(txn kv.Snapshot, id string) (*core.Batch, error) {
		b, err := batches.read(txn, id)
		if err == nil {
			err = s.countCancelled(ctx, txn, b)
		}
		return b, err
	})
}

// unreadItem stands for an item of which what is stored cannot be read: it began, and is not to be begun again.
func unreadItem(index int) core.BatchResult {
	return core.BatchResult{
		Index: index, Status: core.ExecutionFailed,
		Error: &core.ExecutionError{Code: core.CodeInternal, Message: "what is stored of the item cannot be read"},
	}
}

// eachItem calls fn with the items of a batch from an index on, in order, as far as they began or ended.
func (s *Store) eachItem(ctx context.Context, txn kv.Snapshot, id string, from int, fn func(r core.BatchResult) (bool, error)) error {
	prefix := appendEscaped([]byte(prefixBatchResult), id)
	seek := appendItem(nil, prefixBatchResult, id, uint32(from))
	return scan(txn, prefix, seek, true, func(key, value []byte) (bool, error) {
		var r core.BatchResult
		index := int(binary.BigEndian.Uint32(key[len(key)-4:]))
		if err := decodeJSON("item of batch", id, value, &r); err != nil {
			if more, err := s.pass(key, err); !more {
				return false, err
			}
			r = unreadItem(index)
		}
		r.Index = index
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
					if more, err := s.pass(key, err); !more {
						return false, err
					}
					v.Error = unreadItem(r.Index).Error
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
			if err := s.countCancelled(ctx, txn, b); err != nil {
				return err
			}
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
		if atrest.Unopened(input) {
			err = damaged("input of batch", batchID+"/"+strconv.Itoa(index), atrest.ErrUnopened)
			asDamage(err).key = appendItem(nil, prefixBatchInput, batchID, uint32(index))
		}
		return err
	})
	return input, err
}
