package store

import (
	"bytes"
	"context"
	"slices"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store/kv"
)

// A queue of inputs is emptied from its front, and what is deleted there stays in the way of every walk that begins
// at the front until a compaction. So the number up to which inputs were forgotten is kept: walks begin behind it, and
// of a long queue that is forgotten at once a part may stay below it until its thread is removed.

// maxForget is how many inputs one call of DeleteInputs removes.
const maxForget = 1000

// PutInput implements core.Tx. A number up to which inputs were forgotten is not taken again.
func (t *tx) PutInput(in *core.QueuedInput) error {
	switch {
	case in.ThreadID == "":
		return core.Invalid("threadId", "must not be empty")
	case in.Number == 0:
		return core.Invalid("number", "must be 1 or more")
	}
	forgotten, err := t.number(t.take(func(b []byte) []byte { return appendInputs(b, in.ThreadID) }))
	if err != nil {
		return err
	}
	if in.Number <= forgotten {
		return core.Invalid("number", "%d was forgotten, with all inputs up to %d", in.Number, forgotten)
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
	} else if err := t.deleteInputs(threadID, forgotten+1, upTo); err != nil {
		return err
	}
	return t.set(front, t.take(func(b []byte) []byte { return appendUint64(b, upTo) }))
}

// deleteInputs deletes the inputs from first to last, or as many of them as one call removes.
func (t *tx) deleteInputs(threadID string, first, last uint64) error {
	prefix := appendInputs(nil, threadID)
	var keys [][]byte
	err := scan(t.w.txn, prefix, appendInput(nil, threadID, first), false, func(key, _ []byte) (bool, error) {
		if lastUint64(key) > last {
			return false, nil
		}
		keys = append(keys, slices.Clone(key))
		return len(keys) < maxForget, nil
	})
	if err != nil {
		return err
	}
	for _, w := range t.writes {
		if w.value != nil && len(w.key) == len(prefix)+8 && bytes.HasPrefix(w.key, prefix) && lastUint64(w.key) <= last {
			keys = append(keys, w.key)
		}
	}
	for _, key := range keys {
		t.delete(key)
	}
	return nil
}

// QueuedInputs implements core.ThreadReader. limit 0 or less means as many as one read may return.
func (s *Store) QueuedInputs(ctx context.Context, threadID string, after uint64, limit int) ([]*core.QueuedInput, error) {
	limit = eventLimit(limit)
	var list []*core.QueuedInput
	err := s.view(ctx, func(txn kv.Snapshot) error {
		prefix := appendInputs(nil, threadID)
		forgotten, err := number(txn, prefix)
		if err != nil {
			return err
		}
		after = max(after, forgotten)
		if after+1 == 0 {
			return nil
		}
		return scan(txn, prefix, appendInput(nil, threadID, after+1), true, func(key, value []byte) (bool, error) {
			in := new(core.QueuedInput)
			if err := decodeJSON("input of thread", threadID, value, in); err != nil {
				return s.pass(key, err)
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
