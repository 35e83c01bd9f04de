package store

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store/kv"
)

// FindExecutions implements core.ExecutionReader. Every combination of filters has an index of just the rows that match,
// or, of those that are active, the ids in memory; the bounds in time are bounds on the id, exact to the millisecond. Rows
// have what a list shows: id, pattern, status and times. The total comes from counters, or from a count over the keys of
// the time range.
func (s *Store) FindExecutions(ctx context.Context, filter core.ExecutionFilter) ([]*core.Execution, core.PageInfo, error) {
	if filter.Status != "" && statusIndex(filter.Status) < 0 {
		return nil, core.PageInfo{}, core.Invalid("status", "%q is not an execution status", filter.Status)
	}
	q := &listQuery{name: executionListName(filter), page: filter.Page}
	q.from, q.to = idRange(filter)
	q.ids = func(txn kv.Snapshot) (idWalk, int, error) {
		total := -1
		if filter.Since.IsZero() && filter.Until.IsZero() {
			total = int(s.state.totalOf(filter.Pattern, filter.Status))
		}
		if filter.Status != "" && !filter.Status.Terminal() {
			return walkIDs(s.state.activeIDs(filter.Pattern, filter.Status, q.from, q.to)), total, nil
		}
		return walkIndex(txn, executionIndex(filter)), total, nil
	}
	return executions.query(ctx, s, q, func(txn kv.Snapshot, id string) (*core.Execution, error) {
		e, err := s.readRow(txn, id)
		if err == nil && filter.Status != "" && e.Status != filter.Status {
			return nil, nil // the ids of active ones are not part of the transaction
		}
		return e, err
	})
}

// executionIndex returns the prefix of the index of executions that a pattern, a terminal status or both select.
func executionIndex(filter core.ExecutionFilter) []byte {
	switch {
	case filter.Pattern != "" && filter.Status != "":
		return appendBothIndex(nil, filter.Pattern, string(filter.Status), "")
	case filter.Pattern != "":
		return appendPatternIndex(nil, filter.Pattern, "")
	case filter.Status != "":
		return appendStatusIndex(nil, string(filter.Status), "")
	}
	return []byte(prefixExecution)
}

// executionListName stands for the filter in a cursor.
func executionListName(f core.ExecutionFilter) []byte {
	b := appendEscaped(appendEscaped(nil, f.Pattern), string(f.Status))
	if !f.Since.IsZero() {
		b = binary.BigEndian.AppendUint64(append(b, 's'), uint64(f.Since.UnixNano()))
	}
	if !f.Until.IsZero() {
		b = binary.BigEndian.AppendUint64(append(b, 'u'), uint64(f.Until.UnixNano()))
	}
	return b
}

// idRange turns the filter's times into a range of ids, [lo, hi); empty means no bound. An id knows its
// time to the millisecond, so the bound above is rounded up.
func idRange(filter core.ExecutionFilter) (lo, hi string) {
	if !filter.Since.IsZero() {
		lo = core.IDBound(core.PrefixExecution, filter.Since)
	}
	if !filter.Until.IsZero() {
		until := filter.Until.Truncate(time.Millisecond)
		if until.Before(filter.Until) {
			until = until.Add(time.Millisecond)
		}
		hi = core.IDBound(core.PrefixExecution, until)
	}
	return lo, hi
}
