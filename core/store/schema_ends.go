package store

import (
	"bytes"
	"context"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store/kv"
)

// listEnds is the way to schema 7: executions that are over are in lists by when they ended. It goes by their rows, so that it
// reads no inputs and results. What is there of these lists is removed first: an earlier run may have been killed, and a former
// version of this program may have removed executions since.
func listEnds(ctx context.Context, db kv.DB) error {
	txn := db.Snapshot()
	defer txn.Discard()
	out := chunks{db: db}
	err := scan(txn, []byte(prefixByEnd), nil, false, func(key, _ []byte) (bool, error) {
		return true, out.put(bytes.Clone(key), nil)
	})
	if err != nil {
		return err
	}
	for _, status := range core.ExecutionStatuses {
		if !status.Terminal() {
			continue
		}
		prefix := appendStatusIndex(nil, string(status), "")
		err := scan(txn, prefix, nil, true, func(key, row []byte) (bool, error) {
			id := string(key[len(prefix):])
			e := &core.Execution{ID: id, Status: status}
			if decodeRow(e, row) != nil {
				var err error
				if e, err = rowOfRecord(txn, id); err != nil {
					return true, nil // it is noted by whoever meets it, and a repair sees to it
				}
			}
			if f := factsOf(e); f.ended != 0 {
				if err := out.put(append(appendEndIndex(nil, f.endedAs, f.ended), id...), []byte{}); err != nil {
					return false, err
				}
			}
			return true, ctx.Err()
		})
		if err != nil {
			return err
		}
	}
	return out.end(nil)
}
