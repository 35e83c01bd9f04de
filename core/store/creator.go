package store

import (
	"context"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store/kv"
)

// Who made a record is no facet: combined with all others it would double the keys of each record. It has one index of its
// own, and a list that is selected by more walks that index and the one of its facets together.

// letterCreator names the indexes of records by who made them.
const letterCreator = 'b'

// creatorFacet is the list of what somebody made; without a value where that is not indexed.
func creatorFacet(creator string) []facet {
	if !indexed(creator) {
		creator = ""
	}
	return []facet{{letterCreator, creator}}
}

// appendCreator makes the key of a record in the index of its creator, or with no id the prefix of that index.
func appendCreator(dst []byte, kind, creator, id string) []byte {
	return append(appendList(dst, prefixIndex, kind, creatorFacet(creator), 1), id...)
}

// recreate moves a record from the index of its former creator to that of its new one; "" is none.
func (t *tx) recreate(kind, id, old, fresh string) error {
	if old == fresh {
		return nil
	}
	if indexed(old) {
		t.delete(t.take(func(b []byte) []byte { return appendCreator(b, kind, old, id) }))
	}
	if !indexed(fresh) {
		return nil
	}
	return t.set(t.take(func(b []byte) []byte { return appendCreator(b, kind, fresh, id) }), nil)
}

// checkCreator refuses to select by what is in no index.
func checkCreator(creator string) error {
	if len(creator) > core.MaxIndexedBytes {
		return core.Invalid("createdBy", "must be at most %d bytes: lists do not select by what is longer", core.MaxIndexedBytes)
	}
	return nil
}

// madeBy narrows a list that facets select down to what somebody made; "" leaves it as it is.
func madeBy(ctx context.Context, q *listQuery, kind string, facets []facet, creator string) *listQuery {
	if creator == "" {
		return q
	}
	made := appendCreator(nil, kind, creator, "")
	q.name = append(q.name, made...)
	mask := selected(facets)
	all := appendList(nil, prefixIndex, kind, facets, mask)
	q.ids = func(txn kv.Snapshot) (idWalk, int, error) {
		if mask == 0 {
			return walkIndex(txn, made), -1, nil
		}
		return func(below string, fn func(id string) (bool, error)) error {
			sets := []idSet{newIndexSet(txn, made, below), newIndexSet(txn, all, below)}
			defer sets[0].close()
			defer sets[1].close()
			return walkAll(ctx, sets, maxWalk, fn)
		}, -1, nil
	}
	return q
}
