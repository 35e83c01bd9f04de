// Package memory is a kv.DB in memory: an ordered map whose copies share what neither changed. It is what tests of the
// services run on, through core/storetest, and is no part of the product.
package memory

import (
	"bytes"
	"errors"
	"math"
	"sync"

	"github.com/tidwall/btree"

	"github.com/wardroom/wardroom/core/store/kv"
)

var (
	_ kv.DB    = (*DB)(nil)
	_ kv.Batch = (*view)(nil)
)

// DB is a kv.DB that lives as long as the process. Closing it does not lose what was committed, so that it can be opened
// again like a disk. It is made by New, and safe for concurrent use as kv.DB says.
type DB struct {
	mu   sync.Mutex
	keys *btree.Map[string, []byte] // as committed; never written, but replaced. Copies share what neither changed.
	// failIn is the number of commits until the next one that fails, itself included; 0: none does. kept says that what
	// it wrote is there all the same.
	failIn int
	kept   bool
}

// ErrFailed is the error of a commit that failed as Fail asked for.
var ErrFailed = errors.New("memory: the commit failed")

// Fail has the n-th commit from now on fail, and the others succeed. A disk may fail before it has the bytes or, kept,
// after: a store that asks is not told which.
func (m *DB) Fail(n int, kept bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failIn, m.kept = n, kept
}

// New returns an empty map.
func New() *DB { return &DB{keys: &btree.Map[string, []byte]{}} }

// Copy returns a map of its own that has what this one has.
func (m *DB) Copy() *DB { return &DB{keys: m.newView().keys} }

// Snapshot implements kv.DB.
func (m *DB) Snapshot() kv.Snapshot { return m.newView() }

// Begin implements kv.DB.
func (m *DB) Begin() kv.Batch { return m.newView() }

// Limits implements kv.DB: none.
func (m *DB) Limits() kv.Limits {
	return kv.Limits{Size: math.MaxInt64 / 2, Count: math.MaxInt64 / 2, Large: math.MaxInt64}
}

// Close implements kv.DB.
func (m *DB) Close() error { return nil }

func (m *DB) newView() *view {
	m.mu.Lock() // a copy marks its original too
	defer m.mu.Unlock()
	return &view{of: m, keys: m.keys.Copy()}
}

// view is a copy of the keys of its own, which is both a snapshot and a batch.
type view struct {
	of   *DB
	keys *btree.Map[string, []byte]
}

var errDiscarded = errors.New("memory: the batch is over")

// Get implements kv.Snapshot.
func (v *view) Get(key []byte, fn func(value []byte) error) (bool, error) {
	value, ok := v.keys.Get(string(key))
	if !ok || fn == nil {
		return ok, nil
	}
	return true, fn(value)
}

// Iterate implements kv.Snapshot.
func (v *view) Iterate(prefix []byte, backwards bool) kv.Iterator {
	return &iterator{it: v.keys.Iter(), prefix: string(prefix), backwards: backwards}
}

// Discard implements kv.Snapshot.
func (v *view) Discard() { v.of = nil }

// Set implements kv.Batch. It keeps copies, as the caller may use its buffers again after the commit.
func (v *view) Set(key, value []byte) error {
	if len(key) == 0 {
		return errors.New("memory: the key is empty")
	}
	v.keys.Set(string(key), bytes.Clone(value))
	return nil
}

// Delete implements kv.Batch.
func (v *view) Delete(key []byte) error {
	v.keys.Delete(string(key))
	return nil
}

// Commit implements kv.Batch.
func (v *view) Commit() error {
	if v.of == nil {
		return errDiscarded
	}
	m := v.of
	m.mu.Lock()
	defer m.mu.Unlock()
	v.of = nil
	failed := m.failIn == 1
	if m.failIn > 0 {
		m.failIn--
	}
	if !failed || m.kept {
		m.keys = v.keys
	}
	if failed {
		return ErrFailed
	}
	return nil
}

type iterator struct {
	it        btree.MapIter[string, []byte]
	prefix    string
	backwards bool
	at        bool // the iterator stands at a key
}

// Seek implements kv.Iterator.
func (i *iterator) Seek(key []byte) {
	i.at = i.it.Seek(string(key))
	switch {
	case !i.backwards:
	case !i.at:
		i.at = i.it.Last()
	case i.it.Key() != string(key):
		i.at = i.it.Prev()
	}
}

// Next implements kv.Iterator.
func (i *iterator) Next() {
	if i.backwards {
		i.at = i.at && i.it.Prev()
	} else {
		i.at = i.at && i.it.Next()
	}
}

// Key implements kv.Iterator.
func (i *iterator) Key() ([]byte, bool) {
	if !i.at {
		return nil, false
	}
	key := i.it.Key()
	if len(key) < len(i.prefix) || key[:len(i.prefix)] != i.prefix {
		return nil, false
	}
	return []byte(key), true
}

// Value implements kv.Iterator.
func (i *iterator) Value(fn func(value []byte) error) error { return fn(i.it.Value()) }

// Size implements kv.Iterator.
func (i *iterator) Size() int64 { return int64(len(i.it.Value())) }

// Close implements kv.Iterator.
func (i *iterator) Close() {}
