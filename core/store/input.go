package store

import (
	"bytes"
	"context"
	"slices"

	"github.com/dgraph-io/badger/v4"

	"github.com/wardroom/wardroom/core"
)

// A queue of inputs is emptied from its front, and what is deleted there stays in the way of every walk that begins
// at the front until a compaction. So the number up to which inputs were forgotten is kept, and walks begin there.

// PutInput implements core.Tx.
func (t *tx) PutInput(in *core.QueuedInput) error {
	switch {
	case in.ThreadID == "":
		return core.Invalid("threadId", "must not be empty")
	case in.Number == 0:
		return core.Invalid("number", "must be 1 or more")
	}
	front := t.take(func(b []byte) []byte { return appendInputs(b, in.ThreadID) })
	forgotten, err := t.number(front)
	if err != nil {
		return err
	}
	if in.Number <= forgotten {
		if err := t.set(front, t.take(func(b []byte) []byte { return appendUint64(b, in.Number-1) })); err != nil {
			return err
		}
	}
	return t.setJSON(t.take(func(b []byte) []byte { return appendInput(b, in.ThreadID, in.Number) }), in)
}

// DeleteInputs implements core.Tx.
func (t *tx) DeleteInputs(threadID string, upTo uint64) error {
	front := t.take(func(b []byte) []byte { return appendInputs(b, threadID) })
	forgotten, err := t.number(front)
	if err != nil || upTo <= forgotten {
		return err
	}
	if upTo == forgotten+1 {
		t.delete(t.take(func(b []byte) []byte { return appendInput(b, threadID, upTo) }))
	} else if upTo, err = t.deleteInputs(threadID, forgotten, upTo); err != nil || upTo <= forgotten {
		return err
	}
	return t.set(front, t.take(func(b []byte) []byte { return appendUint64(b, upTo) }))
}

// deleteInputs deletes the inputs in (after, upTo] and returns the last number among them.
func (t *tx) deleteInputs(threadID string, after, upTo uint64) (uint64, error) {
	prefix := appendInputs(nil, threadID)
	var keys [][]byte
	err := scan(t.w.txn, prefix, appendInput(nil, threadID, after+1), false, func(key, _ []byte) (bool, error) {
		if lastUint64(key) > upTo {
			return false, nil
		}
		keys = append(keys, slices.Clone(key))
		return true, nil
	})
	if err != nil {
		return 0, err
	}
	for _, w := range t.writes {
		if w.value != nil && len(w.key) == len(prefix)+8 && bytes.HasPrefix(w.key, prefix) && lastUint64(w.key) <= upTo {
			keys = append(keys, w.key)
		}
	}
	last := after
	for _, key := range keys {
		t.delete(key)
		last = max(last, lastUint64(key))
	}
	return last, nil
}

// QueuedInputs implements core.ThreadReader. limit 0 or less means as many as one read may return.
func (s *Store) QueuedInputs(ctx context.Context, threadID string, after uint64, limit int) ([]*core.QueuedInput, error) {
	limit = eventLimit(limit)
	var list []*core.QueuedInput
	err := s.view(ctx, func(txn *badger.Txn) error {
		prefix := appendInputs(nil, threadID)
		forgotten, err := number(txn, prefix)
		if err != nil {
			return err
		}
		after = max(after, forgotten)
		if after+1 == 0 {
			return nil
		}
		return scan(txn, prefix, appendInput(nil, threadID, after+1), true, func(_, value []byte) (bool, error) {
			in := new(core.QueuedInput)
			if err := decodeJSON("input of thread", threadID, value, in); err != nil {
				return false, err
			}
			list = append(list, in)
			return len(list) < limit, ctx.Err()
		})
	})
	return list, err
}

// appendInputs makes the key of the number up to which a thread's inputs were forgotten, which is also the prefix of
// the keys of its inputs.
func appendInputs(dst []byte, threadID string) []byte {
	return appendEscaped(append(dst, prefixThreadInput...), threadID)
}

func appendInput(dst []byte, threadID string, number uint64) []byte {
	return appendUint64(appendInputs(dst, threadID), number)
}
