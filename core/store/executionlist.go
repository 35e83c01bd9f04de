package store

import (
	"context"
	"encoding/binary"
	"maps"
	"slices"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store/kv"
)

// FindExecutions implements core.ExecutionReader. Every property that a filter selects by has an index of just the rows
// that match, or, of those that are active, the ids in memory; the bounds in time are bounds on the id, exact to the
// millisecond. Where several properties select, their indexes are walked together. The total of a pattern, statuses or
// both comes from counters, any other one from a count over the keys.
func (s *Store) FindExecutions(ctx context.Context, filter core.ExecutionFilter) ([]*core.Execution, core.PageInfo, error) {
	filter.Statuses = slices.Compact(slices.Sorted(slices.Values(filter.Statuses)))
	if err := checkExecutionFilter(filter); err != nil {
		return nil, core.PageInfo{}, err
	}
	if len(filter.Statuses) == len(core.ExecutionStatuses) {
		filter.Statuses = nil
	}
	q := &listQuery{name: executionListName(filter), page: filter.Page}
	q.from, q.to = idRange(filter)
	// Memory is asked before the transaction begins: what ends in between is in both, and not in neither.
	var active []string
	if filter.Pattern != "" && len(filter.Statuses) == 0 && filter.EndedSince.IsZero() && filter.EndedUntil.IsZero() {
		active = s.state.activeIDs(filter.Pattern, "", q.from, q.to)
	}
	q.ids = func(txn kv.Snapshot) (idWalk, int, error) {
		total := -1
		facts := executionFactLists(filter)
		var ended []string
		byEnd := !filter.EndedSince.IsZero() || !filter.EndedUntil.IsZero()
		switch plain := filter.Since.IsZero() && filter.Until.IsZero() && len(facts) == 0; {
		case byEnd:
			var err error
			if ended, err = endedIDs(ctx, txn, filter); err != nil {
				return nil, 0, err
			}
			if plain && filter.Pattern == "" {
				total = len(ended)
			}
		case plain:
			total = int(s.state.totalOfAll(filter.Pattern, filter.Statuses))
		}
		if len(facts) == 0 && len(filter.Statuses) <= 1 && !byEnd {
			if len(filter.Statuses) == 1 && !filter.Statuses[0].Terminal() {
				return walkIDs(s.state.activeIDs(filter.Pattern, filter.Statuses[0], q.from, q.to)), total, nil
			}
			if filter.Pattern != "" && len(filter.Statuses) == 0 {
				return walkSet(func(below string) idSet { return patternSet(txn, filter.Pattern, active, below) }), total, nil
			}
			return walkIndex(txn, executionIndex(filter)), total, nil
		}
		return func(below string, fn func(id string) (bool, error)) error {
			var sets []idSet
			if byEnd { // those that ended have one of the statuses
				rest := filter
				rest.Statuses = nil
				sets = append(s.executionSets(txn, rest, facts, nil, q.from, below), newSliceSet(ended, below))
			} else {
				sets = s.executionSets(txn, filter, facts, active, q.from, below)
			}
			defer func() {
				for _, set := range sets {
					set.close()
				}
			}()
			return walkAll(ctx, sets, maxWalk, fn)
		}, total, nil
	}
	return executions.query(ctx, s, q, func(txn kv.Snapshot, id string) (*core.Execution, error) {
		e, err := s.readRow(txn, id)
		if err == nil && len(filter.Statuses) > 0 && !slices.Contains(filter.Statuses, e.Status) {
			return nil, nil // the ids of active ones are not part of the transaction
		}
		return e, err
	})
}

func checkExecutionFilter(filter core.ExecutionFilter) error {
	for _, status := range filter.Statuses {
		if statusIndex(status) < 0 {
			return core.Invalid("status", "%q is not an execution status", status)
		}
	}
	for _, f := range []struct{ field, value string }{
		{"batchId", filter.BatchID}, {"createdBy", filter.CreatedBy}, {"errorCode", string(filter.ErrorCode)},
	} {
		if len(f.value) > core.MaxIndexedBytes {
			return core.Invalid(f.field, "must be at most %d bytes: lists do not select by what is longer", core.MaxIndexedBytes)
		}
	}
	if len(filter.Metadata) > core.MaxIndexedMetadata {
		return core.Invalid("metadata", "must be at most %d pairs, not %d", core.MaxIndexedMetadata, len(filter.Metadata))
	}
	for key, value := range filter.Metadata {
		if key == "" || len(key) > core.MaxIndexedBytes || len(value) > core.MaxIndexedBytes {
			return core.Invalid("metadata", "must be a key and a value of at most %d bytes each: lists do not select by what is longer", core.MaxIndexedBytes)
		}
	}
	return nil
}

// executionFactLists returns the prefixes of the indexes that a filter selects by beside pattern and status.
func executionFactLists(filter core.ExecutionFilter) [][]byte {
	f := executionFacts{batch: filter.BatchID, createdBy: filter.CreatedBy, errorCode: filter.ErrorCode}
	for _, key := range slices.Sorted(maps.Keys(filter.Metadata)) {
		f.metadata = append(f.metadata, core.MetadataPair{Key: key, Value: filter.Metadata[key]})
	}
	return f.lists()
}

// maxEnded bounds the executions that a time of ends may select.
const maxEnded = 2 * maxWalk

// endedIDs returns the executions that ended within the bounds of a filter with one of its statuses, ascending.
func endedIDs(ctx context.Context, txn kv.Snapshot, filter core.ExecutionFilter) (ids []string, err error) {
	from, to := "", "~" // which is behind every hex digit
	if !filter.EndedSince.IsZero() {
		from = endText(filter.EndedSince.UnixMilli())
	}
	if !filter.EndedUntil.IsZero() {
		to = endText(filter.EndedUntil.Add(time.Millisecond - 1).UnixMilli())
	}
	for _, status := range core.ExecutionStatuses {
		if !status.Terminal() || len(filter.Statuses) > 0 && !slices.Contains(filter.Statuses, status) {
			continue
		}
		prefix := appendEscaped([]byte(prefixByEnd), string(status))
		err := scan(txn, prefix, append(slices.Clone(prefix), from...), false, func(key, _ []byte) (bool, error) {
			at, id, ok := cutEscaped(key[len(prefix):])
			if !ok || at >= to {
				return !ok, nil
			}
			if len(ids) == maxEnded {
				return false, core.Invalid("endedSince", "selects a time in which more than %d executions ended: choose a shorter one, or fewer statuses", maxEnded)
			}
			ids = append(ids, string(id))
			return true, ctx.Err()
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// patternSet returns the executions of a pattern: those that ended, which are in an index by status, and the active ones.
func patternSet(txn kv.Snapshot, pattern string, active []string, below string) idSet {
	union := &unionSet{sets: []idSet{newSliceSet(active, below)}}
	for _, status := range core.ExecutionStatuses {
		if status.Terminal() {
			union.sets = append(union.sets, newIndexSet(txn, appendBothIndex(nil, pattern, string(status), ""), below))
		}
	}
	return union
}

// executionSets returns the sets of which every execution of a list is in all. active is those of the pattern, for a list
// that no status selects.
func (s *Store) executionSets(txn kv.Snapshot, filter core.ExecutionFilter, facts [][]byte, active []string, from, below string) []idSet {
	sets := make([]idSet, 0, len(facts)+2)
	for _, prefix := range facts {
		sets = append(sets, newIndexSet(txn, prefix, below))
	}
	if len(filter.Statuses) == 0 {
		if filter.Pattern != "" {
			sets = append(sets, patternSet(txn, filter.Pattern, active, below))
		}
		return sets
	}
	union := new(unionSet)
	for _, status := range filter.Statuses {
		if !status.Terminal() {
			union.sets = append(union.sets, newSliceSet(s.state.activeIDs(filter.Pattern, status, from, below), below))
			continue
		}
		one := filter
		one.Statuses = []core.ExecutionStatus{status}
		union.sets = append(union.sets, newIndexSet(txn, executionIndex(one), below))
	}
	return append(sets, union)
}

// executionIndex returns the prefix of the index of executions that one terminal status, it and a pattern, or nothing select.
func executionIndex(filter core.ExecutionFilter) []byte {
	status := ""
	if len(filter.Statuses) > 0 {
		status = string(filter.Statuses[0])
	}
	switch {
	case filter.Pattern != "" && status != "":
		return appendBothIndex(nil, filter.Pattern, status, "")
	case status != "":
		return appendStatusIndex(nil, status, "")
	}
	return []byte(prefixExecution)
}

// executionListName stands for the filter in a cursor.
func executionListName(f core.ExecutionFilter) []byte {
	b := appendEscaped(nil, f.Pattern)
	for _, status := range f.Statuses {
		b = append(b, string(status)+","...)
	}
	b = append(b, 0)
	for _, prefix := range executionFactLists(f) {
		b = append(b, prefix...)
	}
	if !f.Since.IsZero() {
		b = binary.BigEndian.AppendUint64(append(b, 's'), uint64(f.Since.UnixNano()))
	}
	if !f.Until.IsZero() {
		b = binary.BigEndian.AppendUint64(append(b, 'u'), uint64(f.Until.UnixNano()))
	}
	if !f.EndedSince.IsZero() {
		b = binary.BigEndian.AppendUint64(append(b, 'e'), uint64(f.EndedSince.UnixNano()))
	}
	if !f.EndedUntil.IsZero() {
		b = binary.BigEndian.AppendUint64(append(b, 'f'), uint64(f.EndedUntil.UnixNano()))
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
