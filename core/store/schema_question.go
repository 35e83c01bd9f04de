package store

import (
	"bytes"
	"context"

	"github.com/wardroom/wardroom/core/store/kv"
)

// listQuestions is the way to schema 2: questions are listed as decisions are, so there is a list of all, and every list
// has a count. The indexes by execution and status lie where they did. What is there of this is removed first: an earlier
// run may have been killed, and a former version of this program may have changed questions since.
func listQuestions(ctx context.Context, db kv.DB) error {
	txn := db.Snapshot()
	defer txn.Discard()
	out := chunks{db: db}
	for _, prefix := range []string{prefixIndex + kindQuestion + "/", prefixRowCount + kindQuestion} {
		err := scan(txn, []byte(prefix), nil, false, func(key, _ []byte) (bool, error) {
			return true, out.put(bytes.Clone(key), nil)
		})
		if err != nil {
			return err
		}
	}
	d := newDerived(txn, out.put)
	err := scan(txn, []byte(prefixQuestion), nil, true, func(key, value []byte) (bool, error) {
		err := questions.derive(d, string(key[len(prefixQuestion):]), value)
		if asDamage(err) != nil {
			err = nil // it is noted by whoever meets it, and a repair sees to it
		}
		if err == nil {
			err = ctx.Err()
		}
		return true, err
	})
	if err == nil {
		err = d.counts(out.put)
	}
	return out.end(err)
}
