package store

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/fnv"
	"slices"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store/kv"
)

// Every list of the store is a page of ids, newest first, and of the records that they lead to. What differs is where
// the ids lie: under prefixes of indexes, of which several are merged, or in memory; and who counts them.

// listQuery selects the rows of a list.
type listQuery struct {
	name     []byte // of the list and its filter, to tell its cursors from those of others
	prefix   string // of the records
	idPrefix string // of their ids
	page     core.Page
	from, to string // the list ends above ids below from, and begins below to; empty for no bound
	// ids returns where the ids lie, and how many they are, or -1 to have those within the bounds counted.
	ids func(txn kv.Snapshot) (ids idWalk, total int, err error)
}

// idWalk calls fn with the ids of a list, newest first, until fn returns false or an error. It begins below an id, if
// that is not empty.
type idWalk func(below string, fn func(id string) (bool, error)) error

// findRows returns a page of a list. read returns the row of an id, or nil if that is not in the list after all. Records
// that cannot be read, or are gone, are passed over.
func findRows[T any](ctx context.Context, s *Store, q *listQuery, read func(txn kv.Snapshot, id string) (*T, error)) ([]*T, core.PageInfo, error) {
	var info core.PageInfo
	limit, err := pageLimit(q.page)
	if err != nil {
		return nil, info, err
	}
	below, skip := q.to, q.page.Offset
	if q.page.Cursor != "" {
		last, err := q.decodeCursor(q.page.Cursor)
		if err != nil {
			return nil, info, err
		}
		skip = 0
		if below == "" || last < below {
			below = last
		}
	}
	rows := make([]*T, 0, limit)
	last := ""
	var end walkEnd
	err = s.view(ctx, func(txn kv.Snapshot) error {
		ids, total, err := q.ids(txn)
		if err != nil {
			return err
		}
		err = q.walk(ctx, ids, below, func(id string) (bool, error) {
			switch {
			case skip > 0:
				skip--
				return true, nil
			case len(rows) == limit:
				info.HasMore = true
				return false, nil
			}
			row, err := read(txn, id)
			if core.ErrorCode(err) == core.CodeNotFound {
				return true, nil
			}
			if err != nil {
				return s.pass(appendKey(nil, q.prefix, id), err)
			}
			if row != nil {
				rows, last = append(rows, row), id
			}
			return true, nil
		})
		if errors.As(err, &end) { // the next page goes on from there
			info.HasMore, last, err = true, end.at, nil
		}
		if err != nil {
			return err
		}
		if info.Total = total; total < 0 {
			info.Total = 0
			err = q.walk(ctx, ids, q.to, func(string) (bool, error) {
				if info.AtLeast = info.Total >= maxWalk; !info.AtLeast {
					info.Total++
				}
				return !info.AtLeast, nil
			})
			if errors.As(err, &end) {
				info.AtLeast, err = true, nil
			}
		}
		return err
	})
	if err != nil {
		return nil, core.PageInfo{}, err
	}
	if info.HasMore {
		info.NextCursor = encodeCursor(last, q.hash())
	}
	return rows, info, nil
}

// walk is ids down to the lower bound.
func (q *listQuery) walk(ctx context.Context, ids idWalk, below string, fn func(id string) (bool, error)) error {
	return ids(below, func(id string) (bool, error) {
		if id < q.from {
			return false, nil
		}
		more, err := fn(id)
		if err == nil {
			err = ctx.Err()
		}
		return more, err
	})
}

// walkIndex walks the ids behind the prefixes of indexes.
func walkIndex(txn kv.Snapshot, prefixes ...[]byte) idWalk {
	return func(below string, fn func(id string) (bool, error)) error {
		return merge(txn, prefixes, false, below, fn)
	}
}

// walkSet walks a set, which open makes.
func walkSet(open func(below string) idSet) idWalk {
	return func(below string, fn func(id string) (bool, error)) error {
		set := open(below)
		defer set.close()
		for id, ok := set.head(); ok; id, ok = set.head() {
			if more, err := fn(id); err != nil || !more {
				return err
			}
			set.next()
		}
		return nil
	}
}

// walkIDs walks ids that are in ascending order.
func walkIDs(ids []string) idWalk {
	return func(below string, fn func(id string) (bool, error)) error {
		n := len(ids)
		if below != "" {
			n, _ = slices.BinarySearch(ids, below)
		}
		for _, id := range slices.Backward(ids[:n]) {
			if more, err := fn(id); err != nil || !more {
				return err
			}
		}
		return nil
	}
}

// pageLimit checks a page and returns the number of rows it asks for.
func pageLimit(p core.Page) (int, error) {
	switch {
	case p.Limit < 0 || p.Limit > core.MaxPageLimit:
		return 0, core.Invalid("limit", "must be between 1 and %d", core.MaxPageLimit)
	case p.Offset < 0:
		return 0, core.Invalid("offset", "must not be negative")
	case p.Limit == 0:
		return core.DefaultPageLimit, nil
	}
	return p.Limit, nil
}

// A cursor is the URL-safe base64 of 8 bytes that stand for the list and the id of the last row. The page after it
// begins below that id, so rows that come or go never shift a page.

// hash stands for the list in a cursor.
func (q *listQuery) hash() uint64 {
	h := fnv.New64a()
	_, _ = h.Write(q.name) // never fails
	return h.Sum64()
}

func encodeCursor(last string, list uint64) string {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, 8+len(last)), list)
	return base64.RawURLEncoding.EncodeToString(append(b, last...))
}

// decodeCursor returns the id of the last row.
func (q *listQuery) decodeCursor(cursor string) (last string, err error) {
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(b) <= 8 || !core.ValidID(q.idPrefix, string(b[8:])) {
		return "", core.Invalid("cursor", "is not one that a list returned")
	}
	if binary.BigEndian.Uint64(b) != q.hash() {
		return "", core.Invalid("cursor", "belongs to a list with other filters")
	}
	return string(b[8:]), nil
}
