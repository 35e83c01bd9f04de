package store

import (
	"bytes"
	"context"
	"slices"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store/kv"
)

// listCreators is the way to schema 5: threads, questions, decisions and API keys are in an index by who made them, a
// question tells whose execution asks, and the lists of erasures have a name of their own: theirs was that of experiences
// by role. What is there of this is removed first: an earlier run may have been killed, and a former version of this
// program may have changed records since.
func listCreators(ctx context.Context, db kv.DB) error {
	txn := db.Snapshot()
	defer txn.Discard()
	out := chunks{db: db}
	put := out.put
	const former = "er" // of erasures
	clearing := []string{prefixIndex + kindErasure, prefixRowCount + kindErasure, prefixIndex + former + "s/", prefixRowCount + former + "s/"}
	for _, kind := range []string{kindThread, kindQuestion, kindDecision, kindAPIKey} {
		clearing = append(clearing, prefixIndex+kind+string(letterCreator)+"/")
	}
	shared := []string{prefixIndex + former + "/", prefixRowCount + former + "/"}
	for _, prefix := range append(clearing, shared...) {
		err := scan(txn, []byte(prefix), nil, false, func(key, _ []byte) (bool, error) {
			if slices.Contains(shared, prefix) && bytes.IndexByte(key[len(prefix):], 0) >= 0 {
				return true, ctx.Err() // of an experience, behind the name of its role
			}
			return true, put(bytes.Clone(key), nil)
		})
		if err != nil {
			return err
		}
	}
	// What cannot be read is noted by whoever meets it, and a repair sees to it.
	d := newDerived(txn, put)
	each := func(prefix string, fn func(id string, value []byte) error) error {
		return scan(txn, []byte(prefix), nil, true, func(key, value []byte) (bool, error) {
			err := fn(string(key[len(prefix):]), value)
			if asDamage(err) != nil {
				err = nil
			}
			if err == nil {
				err = ctx.Err()
			}
			return true, err
		})
	}
	err := each(prefixThread, func(id string, value []byte) error {
		r, err := threads.parse(id, value)
		if err != nil {
			return err
		}
		state := threadStateOf(r)
		stored, err := get(txn, appendKey(nil, prefixThreadState, id))
		if err != nil {
			return err
		}
		if was, err := decodeThreadState(stored); err == nil {
			state.files = was.files
		}
		if err := put(appendKey(nil, prefixThreadState, id), appendThreadState(nil, state)); err != nil {
			return err
		}
		return d.creator(kindThread, id, state.creator)
	})
	if err == nil {
		err = each(prefixQuestion, func(id string, value []byte) error {
			q, err := questions.parse(id, value)
			if err != nil {
				return err
			}
			if q.CreatedBy == "" {
				e, err := executions.read(txn, q.ExecutionID)
				if err != nil || e.CreatedBy == "" {
					return passOver(err)
				}
				q.CreatedBy = e.CreatedBy
				if value, err = appendJSON(nil, q); err != nil {
					return err
				}
				if err := put(appendKey(nil, prefixQuestion, id), value); err != nil {
					return err
				}
			}
			return d.creator(kindQuestion, id, q.CreatedBy)
		})
	}
	if err == nil {
		err = each(prefixDecision, func(id string, value []byte) error {
			r, err := decisions.parse(id, value)
			if err != nil {
				return err
			}
			return d.creator(kindDecision, id, r.CreatedBy)
		})
	}
	if err == nil {
		err = each(prefixAPIKey, func(id string, value []byte) error {
			r, err := apiKeys.parse(id, value)
			if err != nil {
				return err
			}
			return d.creator(kindAPIKey, id, r.CreatedBy)
		})
	}
	if err == nil {
		err = each(prefixErasure, func(id string, value []byte) error { return erasures.derive(d, id, value) })
	}
	if err == nil {
		err = d.counts(put) // of erasures alone
	}
	return out.end(err)
}

// passOver drops the error of a record that is gone or cannot be read.
func passOver(err error) error {
	if core.ErrorCode(err) == core.CodeNotFound || asDamage(err) != nil {
		return nil
	}
	return err
}
