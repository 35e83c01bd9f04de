package store

import (
	"context"
	"slices"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store/kv"
)

// retainJournals removes events of managed agents, schedules, triggers, batches, webhooks and erasures: all of those whose record is
// gone, once they are older than orphan, and those older than old of the others. What the log still holds goes with the log.
func (s *Store) retainJournals(ctx context.Context, orphan, old cutoff) (int, error) {
	removed := 0
	for _, of := range []struct{ ids, table string }{{core.PrefixManaged, prefixManaged}, {core.PrefixSchedule, schedules.prefix}, {core.PrefixTrigger, triggers.prefix},
		{core.PrefixBatch, prefixBatch}, {core.PrefixWebhook, prefixWebhook}, {core.PrefixErasure, prefixErasure}} {
		n, err := s.retainJournalsOf(ctx, of.ids, of.table, orphan, old)
		removed += n
		if err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// retainJournalsOf removes events of those whose ids begin like that and whose records lie in a table.
func (s *Store) retainJournalsOf(ctx context.Context, ids, table string, orphan, old cutoff) (int, error) {
	removed := 0
	err := s.eachOwner(ctx, prefixJournal, ids, func(id string) error {
		limit := old
		err := s.view(ctx, func(txn kv.Snapshot) error {
			has, err := txn.Get(appendKey(nil, table, id), nil)
			if !has {
				limit = orphan
			}
			return err
		})
		if err != nil || limit.zero() {
			return err
		}
		prefix := appendEscaped([]byte(prefixJournal), id)
		n, err := s.retainEach(ctx, string(prefix), "", func(txn kv.Snapshot, rest string, value []byte) (*retired, bool, error) {
			seq := lastUint64([]byte(rest))
			e, err := decodeEvent(id, seq, value)
			if err != nil {
				return nil, false, damaged("event of", id, err)
			}
			if !limit.passed(e.Time) {
				// A journal is in order of time, but for what was stamped while the clock was ahead.
				return nil, e.Time.After(limit.now), nil
			}
			if held, err := txn.Get(appendLogKey(nil, seq), nil); err != nil || held {
				return nil, true, err
			}
			return &retired{id: rest}, true, nil
		}, func(t *tx, r *retired) error {
			t.delete(slices.Concat(prefix, []byte(r.id)))
			return nil
		})
		removed += n
		return err
	})
	return removed, err
}

// retainInputs removes inputs and results of batches that have no record: their store was refused, or ended by a crash,
// before the record came.
func (s *Store) retainInputs(ctx context.Context, old cutoff) (int, error) {
	removed := 0
	for _, prefix := range []string{prefixBatchInput, prefixBatchResult, prefixBatchValue} {
		err := s.eachOwner(ctx, prefix, "", func(id string) error {
			made, known := core.IDTime(id)
			if known && !old.passed(made) && !made.After(old.now.Add(futureAfter)) {
				return nil // its record may be about to come
			}
			var has bool
			err := s.view(ctx, func(txn kv.Snapshot) (err error) {
				has, err = txn.Get(appendKey(nil, prefixBatch, id), nil)
				return err
			})
			if err != nil || has {
				return err
			}
			n, err := s.removePrefix(ctx, appendEscaped([]byte(prefix), id))
			removed += n
			return err
		})
		if err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// eachOwner calls fn with each name that keys of a table are escaped under and that begins with start, in order. It is
// no snapshot: fn may use the store.
func (s *Store) eachOwner(ctx context.Context, prefix, start string, fn func(name string) error) error {
	under := append([]byte(prefix), start...)
	for seek := under; ; {
		name, found := "", false
		err := s.view(ctx, func(txn kv.Snapshot) error {
			return scan(txn, under, seek, false, func(key, _ []byte) (bool, error) {
				if name, _, found = cutEscaped(key[len(prefix):]); !found {
					return true, ctx.Err() // no key of ours: a repair sees to it
				}
				return false, nil
			})
		})
		if err != nil || !found {
			return err
		}
		if err := fn(name); err != nil {
			return err
		}
		seek = appendEscaped([]byte(prefix), name)
		seek[len(seek)-1]++ // behind all keys under the name
	}
}
