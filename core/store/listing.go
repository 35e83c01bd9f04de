package store

import (
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store/kv"
)

// A kind of record that lists select by some of its properties has an index and a count for every combination of
// them, so that each list walks just the rows that match, newest first, and knows its total from one key. That is
// many keys for a record, and right for records that are put now and then: a property that changes often is kept
// out (see threadFacets). Counts are ordinary keys of the transaction that changes them, so they are right whenever
// the rows are.

// facet is one property of a record, or what a list wants it to be. A record without a value is in no list that
// selects by the property.
type facet struct {
	letter byte // of the property, in the names of indexes
	value  string
}

// appendList makes the key prefix of the list that those facets select whose bits are in mask.
func appendList(dst []byte, prefix, kind string, facets []facet, mask int) []byte {
	dst = append(append(dst, prefix...), kind...)
	for i, f := range facets {
		if mask&(1<<i) != 0 {
			dst = append(dst, f.letter)
		}
	}
	dst = append(dst, '/')
	for i, f := range facets {
		if mask&(1<<i) != 0 {
			dst = appendEscaped(dst, f.value)
		}
	}
	return dst
}

// listed reports whether a record with these facets is in the list of mask. No facets at all mean no record.
func listed(facets []facet, mask int) bool {
	for i, f := range facets {
		if mask&(1<<i) != 0 && f.value == "" {
			return false
		}
	}
	return facets != nil
}

func sameList(a, b []facet, mask int) bool {
	for i := range a {
		if mask&(1<<i) != 0 && a[i] != b[i] {
			return false
		}
	}
	return true
}

// selected returns the mask of the facets with a value.
func selected(facets []facet) (mask int) {
	for i, f := range facets {
		if f.value != "" {
			mask |= 1 << i
		}
	}
	return mask
}

// relist moves a record from the lists of its old facets to those of its new ones. nil stands for a record that
// does not exist.
func (t *tx) relist(kind, id string, old, fresh []facet) error {
	for mask := range 1 << max(len(old), len(fresh)) {
		was, is := listed(old, mask), listed(fresh, mask)
		if was && is && sameList(old, fresh, mask) {
			continue
		}
		if was {
			t.delete(t.take(func(b []byte) []byte { return append(appendList(b, prefixIndex, kind, old, mask), id...) }))
			if err := t.countRow(kind, old, mask, -1); err != nil {
				return err
			}
		}
		if is {
			for i, f := range fresh {
				if mask == 1<<i && !utf8.ValidString(f.value) { // JSON would not give it back
					return core.Invalid("body", "holds %q, which is not valid UTF-8", f.value)
				}
			}
			key := t.take(func(b []byte) []byte { return append(appendList(b, prefixIndex, kind, fresh, mask), id...) })
			if err := t.set(key, nil); err != nil {
				return err
			}
			if err := t.countRow(kind, fresh, mask, 1); err != nil {
				return err
			}
		}
	}
	return nil
}

// countRow changes the count of a list.
func (t *tx) countRow(kind string, facets []facet, mask int, by int64) error {
	key := t.take(func(b []byte) []byte { return appendList(b, prefixRowCount, kind, facets, mask) })
	n, err := t.rowCount(key)
	if err != nil {
		return err
	}
	if by < 0 && n <= 1 {
		t.delete(key)
		return nil
	}
	return t.set(key, t.take(func(b []byte) []byte { return appendUint64(b, uint64(int64(n)+by)) }))
}

// rowCount reads the number of rows of a list as the closure sees it. One that cannot be read is counted anew, without
// what the open batch and the closure change.
func (t *tx) rowCount(key []byte) (uint64, error) {
	n, err := t.number(key)
	d := asDamage(err)
	if d == nil {
		return n, err
	}
	t.w.s.note(slices.Clone(key), d)
	err = scan(t.w.txn, rowsOf(key), nil, false, func(_, _ []byte) (bool, error) {
		n++
		return true, nil
	})
	return n, err
}

// rowsOf turns the key of a list's count into the prefix of its rows.
func rowsOf(count []byte) []byte {
	return append([]byte(prefixIndex), count[len(prefixRowCount):]...)
}

// number reads a be64 value as the closure sees it; 0 if there is none.
func (t *tx) number(key []byte) (uint64, error) {
	value, err := t.get(key)
	if err != nil || value == nil {
		return 0, err
	}
	return decodeNumber(key, value)
}

// number reads a be64 value; 0 if there is none.
func number(txn kv.Snapshot, key []byte) (uint64, error) {
	value, err := get(txn, key)
	if err != nil || value == nil {
		return 0, err
	}
	return decodeNumber(key, value)
}

func decodeNumber(key, value []byte) (uint64, error) {
	n, err := decodeUint64(value)
	if err != nil {
		return 0, damaged("number", strconv.QuoteToASCII(string(key)), err)
	}
	return n, nil
}

// rowCount reads the number of rows of a list; one that cannot be read is counted anew.
func (s *Store) rowCount(txn kv.Snapshot, key []byte) (uint64, error) {
	n, err := number(txn, key)
	d := asDamage(err)
	if d == nil {
		return n, err
	}
	s.note(key, d)
	err = scan(txn, rowsOf(key), nil, false, func(_, _ []byte) (bool, error) {
		n++
		return true, nil
	})
	return n, err
}

// listOf returns the query of the list that facets select; also are further ones of the caller.
func (s *Store) listOf(kind string, facets, also []facet, page core.Page) *listQuery {
	mask := selected(facets)
	name := appendList(nil, prefixIndex, kind, facets, mask)
	return &listQuery{
		name: appendList(name, prefixIndex, kind, also, selected(also)), page: page,
		ids: func(txn kv.Snapshot) (idWalk, int, error) {
			n, err := s.rowCount(txn, appendList(nil, prefixRowCount, kind, facets, mask))
			return walkIndex(txn, appendList(nil, prefixIndex, kind, facets, mask)), int(n), err
		},
	}
}
