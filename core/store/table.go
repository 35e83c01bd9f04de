package store

import (
	"context"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store/kv"
)

// table is where the records of a noun lie: under a prefix and their id, in the lists of their facets, and under
// a fingerprint if they have one. What follows from a record is written, removed and made anew by a repair by what the
// table says of it; a noun's own file has its checks and its odd queries.
type table[T any] struct {
	prefix string
	kind   string // in words
	// decode reads a record; nil: records are JSON. put is for those.
	decode func(id string, value []byte) (*T, error)
	// facets are the lists that a record is in, which are named by the letters of lists; nil: the records are in none.
	facets   func(r *T) []facet
	lists    string // no other table's name begins with it
	idPrefix string // of ids, for the cursors of lists; empty if ids do not tell when they were made
	// creator returns who made a record, by whom its lists can be narrowed down; nil: they cannot.
	creator func(r *T) string
	// print makes the key of a record's fingerprint, which leads to its id; nil for one without. nil: no record has one. They
	// have a section of their own, see prints.
	print func(r *T) []byte
}

// follows reports whether anything follows from a record.
func (tb *table[T]) follows() bool { return tb.facets != nil || tb.print != nil || tb.creator != nil }

// derived returns what follows from a record; nothing does from none, which is nil.
func (tb *table[T]) derived(r *T) (print []byte, facets []facet) {
	if r != nil && tb.print != nil {
		print = tb.print(r)
	}
	if r != nil && tb.facets != nil {
		facets = tb.facets(r)
	}
	return print, facets
}

// madeBy returns who made a record, or "" for nil.
func (tb *table[T]) madeBy(r *T) string {
	if r == nil || tb.creator == nil {
		return ""
	}
	return tb.creator(r)
}

// put inserts a record, or replaces old, which get returned.
func (tb *table[T]) put(t *tx, id string, old, fresh *T) error {
	if err := t.setJSON(t.key(tb.prefix, id), fresh); err != nil {
		return err
	}
	return tb.move(t, id, old, fresh)
}

// save inserts a record, or replaces the one of its id.
func (tb *table[T]) save(t *tx, id string, fresh *T) (err error) {
	if id == "" {
		return core.Invalid("id", "must not be empty")
	}
	var old *T
	if tb.follows() {
		if old, err = tb.get(t, id); err != nil {
			return err
		}
	}
	return tb.put(t, id, old, fresh)
}

// drop removes a record with all that follows from it. An unknown id is no error.
func (tb *table[T]) drop(t *tx, id string) error {
	if tb.follows() {
		old, err := tb.get(t, id)
		if err != nil || old == nil {
			return err
		}
		if err := tb.move(t, id, old, nil); err != nil {
			return err
		}
	}
	t.delete(t.key(tb.prefix, id))
	return nil
}

// move writes what follows from a record's change; nil stands for a record that does not exist.
func (tb *table[T]) move(t *tx, id string, old, fresh *T) error {
	if !tb.follows() {
		return nil
	}
	wasPrint, was := tb.derived(old)
	isPrint, is := tb.derived(fresh)
	if err := t.fingerprint(id, wasPrint, isPrint); err != nil {
		return err
	}
	if err := t.recreate(tb.lists, id, tb.madeBy(old), tb.madeBy(fresh)); err != nil {
		return err
	}
	return t.relist(tb.lists, id, was, is)
}

// get returns a record as the closure sees it, or nil.
func (tb *table[T]) get(t *tx, id string) (*T, error) {
	value, err := t.get(t.key(tb.prefix, id))
	if err != nil || value == nil {
		return nil, err
	}
	return tb.parse(id, value)
}

// parse reads a record.
func (tb *table[T]) parse(id string, value []byte) (*T, error) {
	if tb.decode != nil {
		return tb.decode(id, value)
	}
	r := new(T)
	return r, decodeJSON(tb.kind, id, value, r)
}

// same returns the record that a fingerprint leads to as the closure sees it, or nil. One that cannot be read is none: it
// must not keep others from its fingerprint for ever.
func (tb *table[T]) same(t *tx, print []byte) (*T, error) {
	id, err := t.get(print)
	if err != nil || id == nil {
		return nil, err
	}
	r, err := tb.get(t, string(id))
	if asDamage(err) != nil {
		_, err = t.w.s.pass(appendKey(nil, tb.prefix, string(id)), err)
		return nil, err
	}
	return r, err
}

// find returns a record as the closure sees it. NOT_FOUND.
func (tb *table[T]) find(t *tx, id string) (*T, error) {
	r, err := tb.get(t, id)
	if err == nil && r == nil {
		err = core.NotFound(tb.kind, id)
	}
	return r, err
}

// read returns a record. NOT_FOUND.
func (tb *table[T]) read(txn kv.Snapshot, id string) (r *T, err error) {
	key := appendKey(nil, tb.prefix, id)
	found, err := txn.Get(key, func(value []byte) (err error) {
		r, err = tb.parse(id, value)
		return err
	})
	if err == nil && !found {
		err = core.NotFound(tb.kind, id)
	}
	if d := asDamage(err); d != nil {
		d.key = key
	}
	return r, err
}

// one returns a record. NOT_FOUND.
func (tb *table[T]) one(ctx context.Context, s *Store, id string) (r *T, err error) {
	err = s.view(ctx, func(txn kv.Snapshot) (err error) {
		r, err = tb.read(txn, id)
		return err
	})
	return r, err
}

// all returns every record that can be read, in order of ids.
func (tb *table[T]) all(ctx context.Context, s *Store) ([]*T, error) {
	var list []*T
	err := s.view(ctx, func(txn kv.Snapshot) error {
		list = nil
		return tb.scan(ctx, s, txn, "", func(_ string, r *T) bool {
			list = append(list, r)
			return true
		})
	})
	return list, err
}

// scan calls fn with every record from an id on that can be read, in order of ids, until fn returns false.
func (tb *table[T]) scan(ctx context.Context, s *Store, txn kv.Snapshot, from string, fn func(id string, r *T) bool) error {
	return scan(txn, []byte(tb.prefix), appendKey(nil, tb.prefix, from), true, func(key, value []byte) (bool, error) {
		id := string(key[len(tb.prefix):])
		r, err := tb.parse(id, value)
		if err != nil {
			return s.pass(key, err)
		}
		return fn(id, r), ctx.Err()
	})
}

// page returns a page of the list of the records that have what wanted has, newest first.
func (tb *table[T]) page(ctx context.Context, s *Store, page core.Page, wanted *T) ([]*T, core.PageInfo, error) {
	facets, creator := tb.facets(wanted), tb.madeBy(wanted)
	if err := checkCreator(creator); err != nil {
		return nil, core.PageInfo{}, err
	}
	return tb.query(ctx, s, madeBy(ctx, s.listOf(tb.lists, facets, nil, page), tb.lists, facets, creator), tb.read)
}

// query returns a page of a list of the table's records, or of rows that read makes of them.
func (tb *table[T]) query(ctx context.Context, s *Store, q *listQuery, read func(txn kv.Snapshot, id string) (*T, error)) (
	[]*T, core.PageInfo, error,
) {
	q.prefix, q.idPrefix = tb.prefix, tb.idPrefix
	return findRows(ctx, s, q, read)
}

// indexed calls fn with every record that the keys under a prefix of an index lead to and that can be read, in order of
// those keys.
func (tb *table[T]) indexed(ctx context.Context, s *Store, txn kv.Snapshot, index []byte, fn func(id string, r *T) error) error {
	return scan(txn, index, nil, false, func(key, _ []byte) (bool, error) {
		id := string(key[len(index):])
		r, err := tb.read(txn, id)
		if err == nil {
			err = fn(id, r)
		}
		if err != nil {
			return s.pass(appendKey(nil, tb.prefix, id), err)
		}
		return true, ctx.Err()
	})
}

// section describes the table to those who go over all keys.
func (tb *table[T]) section() section {
	s := jsonSection[T](tb.prefix, tb.kind)
	if tb.decode != nil {
		s.decode = func(key, value []byte) error {
			_, err := tb.decode(string(key), value)
			return err
		}
	}
	s.noun = tb
	return s
}

// prints describes where the fingerprints of the table's records lie.
func (tb *table[T]) prints(prefix, kind string) section {
	s := keySection(prefix, kind)
	s.prints = tb.prefix
	return s
}

func (tb *table[T]) names() (lists, ids string) { return tb.lists, tb.idPrefix }

// derive takes in what follows from a record.
func (tb *table[T]) derive(d *derived, id string, value []byte) error {
	r, err := tb.parse(id, value)
	if err != nil {
		return err
	}
	print, facets := tb.derived(r)
	if print != nil {
		if err := d.fingerprint(print, tb.prefix, id); err != nil {
			return err
		}
	}
	if err := d.creator(tb.lists, id, tb.madeBy(r)); err != nil {
		return err
	}
	return d.lists(tb.lists, id, facets)
}
