package store

import (
	"bytes"
	"context"

	"github.com/wardroom/wardroom/core/store/kv"
)

// prefixByPattern is the list of all executions of a pattern, which a store had before schema 6. Those that ended are in
// the lists by pattern and status, and those that did not in memory.
const prefixByPattern = "ix/xp/"

// dropPatternLists is the way to schema 6.
func dropPatternLists(ctx context.Context, db kv.DB) error {
	txn := db.Snapshot()
	defer txn.Discard()
	out := chunks{db: db}
	return out.end(scan(txn, []byte(prefixByPattern), nil, false, func(key, _ []byte) (bool, error) {
		if err := out.put(bytes.Clone(key), nil); err != nil {
			return false, err
		}
		return true, ctx.Err()
	}))
}
