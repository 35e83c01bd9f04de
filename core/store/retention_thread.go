package store

import (
	"context"
	"errors"
	"slices"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store/kv"
	"github.com/wardroom/wardroom/sdk/wire"
)

// retainRows is how many threads, questions or decisions one transaction of retention removes: each is in many lists.
const retainRows = 25

// countActiveThreads counts the active threads of an execution.
func (s *Store) countActiveThreads(txn kv.Snapshot, executionID string) (uint64, error) {
	return s.rowCount(txn, appendActiveThreads(nil, executionID))
}

// heldLists are the lists of what goes with an execution, by kind.
func heldLists(executionID string) map[string][]facet {
	return map[string][]facet{
		kindThread:   threadFacets(core.ThreadFilter{ExecutionID: executionID}),
		kindQuestion: questions.facets(&core.Question{ExecutionID: executionID}),
		kindDecision: decisions.facets(&core.Decision{Decision: wire.Decision{ExecutionID: executionID}}),
	}
}

// holdsRows reports whether an execution has threads, questions or decisions. count reads the number of rows of a list.
func holdsRows(executionID string, count func(key []byte) (uint64, error)) (bool, error) {
	for kind, facets := range heldLists(executionID) {
		if n, err := count(appendList(nil, prefixRowCount, kind, facets, selected(facets))); err != nil || n > 0 {
			return n > 0, err
		}
	}
	return false, nil
}

// removeHeld removes the threads of an execution that is about to go, with their inputs and events, and its questions and
// decisions. Events that the log still holds go with the log. It stops once a thread is active: one may come to an execution that is over, at any time before its
// record is gone. What a record leads to goes ahead of it, so that a run that was stopped finds it again.
func (s *Store) removeHeld(ctx context.Context, executionID string) error {
	if _, err := s.removePrefix(ctx, appendEscaped([]byte(prefixJournal), core.ThreadGroup(executionID))); err != nil {
		return err
	}
	lists := heldLists(executionID)
	err := s.removeRows(ctx, executionID, kindThread, lists[kindThread], func(id string) error {
		if err := s.removeJournal(ctx, id); err != nil {
			return err
		}
		_, err := s.removePrefix(ctx, appendInputs(nil, id))
		return err
	}, (*tx).dropThread)
	if err != nil {
		return err
	}
	if err := s.removeRows(ctx, executionID, kindQuestion, lists[kindQuestion], nil, questions.drop); err != nil {
		return err
	}
	return s.removeRows(ctx, executionID, kindDecision, lists[kindDecision], nil, decisions.drop)
}

// removeRows removes the rows of a list, the oldest first, as long as the execution has no active thread. before,
// which may be nil, is called with each id ahead of the transaction that drops it.
func (s *Store) removeRows(ctx context.Context, executionID, kind string, facets []facet,
	before func(id string) error, drop func(t *tx, id string) error,
) error {
	prefix := appendList(nil, prefixIndex, kind, facets, selected(facets))
	for from := prefix; from != nil; {
		var ids []string
		err := s.view(ctx, func(txn kv.Snapshot) error {
			seek := from
			from = nil
			if n, err := s.countActiveThreads(txn, executionID); err != nil || n > 0 {
				return err
			}
			return scan(txn, prefix, seek, false, func(key, _ []byte) (bool, error) {
				if len(ids) == retainRows {
					from = slices.Clone(key)
					return false, nil
				}
				ids = append(ids, string(key[len(prefix):]))
				return true, ctx.Err()
			})
		})
		if err != nil {
			return err
		}
		for _, id := range ids {
			if before != nil {
				if err := before(id); err != nil {
					return err
				}
			}
		}
		err = s.update(ctx, true, func(t *tx) error {
			for _, id := range ids {
				if err := drop(t, id); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// removeJournal deletes the events of a subject but for those that the log still holds, to which it would lead nowhere.
func (s *Store) removeJournal(ctx context.Context, subject string) error {
	_, err := s.removeUnder(ctx, appendEscaped([]byte(prefixJournal), subject), func(txn kv.Snapshot, key []byte) (bool, error) {
		return txn.Get(appendLogKey(nil, lastUint64(key)), nil)
	})
	return err
}

// removePrefix deletes every key under prefix, a part at a time, and returns how many they were.
func (s *Store) removePrefix(ctx context.Context, prefix []byte) (removed int, err error) {
	return s.removeUnder(ctx, prefix, nil)
}

// removeUnder is removePrefix but for the keys that keep, which may be nil, reports.
func (s *Store) removeUnder(ctx context.Context, prefix []byte, keep func(txn kv.Snapshot, key []byte) (bool, error)) (removed int, err error) {
	for from := prefix; from != nil; {
		var keys [][]byte
		looked := 0
		err := s.view(ctx, func(txn kv.Snapshot) error {
			seek := from
			from = nil
			return scan(txn, prefix, seek, false, func(key, _ []byte) (bool, error) {
				if len(keys) == retainKeys || looked == eraseLook {
					from = slices.Clone(key)
					return false, nil
				}
				looked++
				if keep != nil {
					if kept, err := keep(txn, key); err != nil || kept {
						return true, errors.Join(err, ctx.Err())
					}
				}
				keys = append(keys, slices.Clone(key))
				return true, ctx.Err()
			})
		})
		if err != nil {
			return removed, err
		}
		if err := s.deleteKeys(ctx, keys); err != nil {
			return removed, err
		}
		removed += len(keys)
	}
	return removed, nil
}
