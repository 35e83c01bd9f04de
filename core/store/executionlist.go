package store

import (
	"context"
	"slices"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store/kv"
)

// FindExecutions implements core.ExecutionReader. Every combination of filters walks an index that holds
// just the rows that match, backwards from the cursor; the bounds in time are bounds on the id, exact to
// the millisecond. Rows have what a list shows: id, pattern, status and times. The total comes from counters, or from a count over the keys of the time range.
func (s *Store) FindExecutions(ctx context.Context, filter core.ExecutionFilter) ([]*core.Execution, core.PageInfo, error) {
	var info core.PageInfo
	if filter.Status != "" && statusIndex(filter.Status) < 0 {
		return nil, info, core.Invalid("status", "%q is not an execution status", filter.Status)
	}
	limit, err := pageLimit(filter.Page)
	if err != nil {
		return nil, info, err
	}
	lo, hi := idRange(filter)
	end, skip := hi, filter.Offset
	if filter.Cursor != "" {
		last, err := decodeCursor(filter.Cursor, core.PrefixExecution, filterHash(filter))
		if err != nil {
			return nil, info, err
		}
		skip = 0
		if end == "" || last < end {
			end = last
		}
	}
	list := make([]*core.Execution, 0, limit)
	err = s.view(ctx, func(txn kv.Snapshot) error {
		ids := s.idsBack(txn, filter, lo, end)
		err := ids(func(id string) (bool, error) {
			if skip > 0 {
				skip--
				return true, ctx.Err()
			}
			if len(list) == limit {
				info.HasMore = true
				return false, nil
			}
			e, err := s.readRow(txn, id)
			switch {
			case core.ErrorCode(err) == core.CodeNotFound: // ended and retired, or not committed yet: the set
				return true, nil // of active ids is not part of the transaction
			case err != nil:
				return s.pass(appendKey(nil, prefixExecution, id), err)
			case filter.Status == "" || e.Status == filter.Status:
				list = append(list, e)
			}
			return true, ctx.Err()
		})
		if err != nil {
			return err
		}
		if filter.Since.IsZero() && filter.Until.IsZero() {
			info.Total = int(s.state.totalOf(filter.Pattern, filter.Status))
			return nil
		}
		return s.idsBack(txn, filter, lo, hi)(func(string) (bool, error) {
			info.Total++
			return true, ctx.Err()
		})
	})
	if err != nil {
		return nil, core.PageInfo{}, err
	}
	if info.HasMore {
		info.NextCursor = encodeCursor(list[len(list)-1].ID, filterHash(filter))
	}
	return list, info, nil
}

// idsBack returns a walk over the ids in [lo, end) that match the filter, newest first.
func (s *Store) idsBack(txn kv.Snapshot, filter core.ExecutionFilter, lo, end string) func(fn func(id string) (bool, error)) error {
	if filter.Status != "" && !filter.Status.Terminal() {
		return func(fn func(id string) (bool, error)) error {
			for _, id := range slices.Backward(s.state.activeIDs(filter.Pattern, filter.Status, lo, end)) {
				if more, err := fn(id); err != nil || !more {
					return err
				}
			}
			return nil
		}
	}
	var prefix []byte
	switch {
	case filter.Pattern != "" && filter.Status != "":
		prefix = appendBothIndex(nil, filter.Pattern, string(filter.Status), "")
	case filter.Pattern != "":
		prefix = appendPatternIndex(nil, filter.Pattern, "")
	case filter.Status != "":
		prefix = appendStatusIndex(nil, string(filter.Status), "")
	default:
		prefix = []byte(prefixExecution)
	}
	return func(fn func(id string) (bool, error)) error {
		var seek []byte
		if end != "" {
			seek = append(slices.Clone(prefix), end...)
		}
		return scanBack(txn, prefix, seek, func(key []byte) (bool, error) {
			id := string(key[len(prefix):])
			if id < lo {
				return false, nil
			}
			return fn(id)
		})
	}
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
