package store

import (
	"errors"
	"sync"

	"github.com/dgraph-io/badger/v4"

	"github.com/wardroom/wardroom/core/store/kv"
)

var (
	_ kv.DB    = badgerDB{}
	_ kv.Batch = (*badgerBatch)(nil)
)

// badgerDB puts Badger behind the port. What concerns its files is done to the database itself: see Store.withDB.
type badgerDB struct{ *badger.DB }

// Snapshot implements kv.DB.
func (db badgerDB) Snapshot() kv.Snapshot { return badgerSnapshot{db.NewTransaction(false)} }

// Begin implements kv.DB.
func (db badgerDB) Begin() kv.Batch {
	return &badgerBatch{badgerSnapshot{db.NewTransaction(true)}, slabs.Get().(*slab)}
}

// Limits implements kv.DB. Some room is kept for what Badger adds of its own.
func (db badgerDB) Limits() kv.Limits {
	opts := db.Opts()
	return kv.Limits{
		Size: db.MaxBatchSize() - entryOverhead, Count: db.MaxBatchCount() - 2, Large: opts.ValueThreshold, ReadOnly: opts.ReadOnly,
	}
}

type badgerSnapshot struct{ txn *badger.Txn }

// Get implements kv.Snapshot.
func (s badgerSnapshot) Get(key []byte, fn func(value []byte) error) (bool, error) {
	item, err := s.txn.Get(key)
	if errors.Is(err, badger.ErrKeyNotFound) {
		return false, nil
	}
	if err == nil && fn != nil {
		err = item.Value(fn)
	}
	return true, err
}

// Iterate implements kv.Snapshot.
func (s badgerSnapshot) Iterate(prefix []byte, backwards bool) kv.Iterator {
	return &badgerIterator{s.txn.NewIterator(badger.IteratorOptions{Prefix: prefix, Reverse: backwards}), prefix}
}

// Discard implements kv.Snapshot.
func (s badgerSnapshot) Discard() { s.txn.Discard() }

type badgerBatch struct {
	badgerSnapshot
	entries *slab // nil once the batch ended
}

// Set implements kv.Batch.
func (b *badgerBatch) Set(key, value []byte) error { return b.txn.SetEntry(b.entries.take(key, value)) }

// Delete implements kv.Batch.
func (b *badgerBatch) Delete(key []byte) error { return b.txn.Delete(key) }

// Commit implements kv.Batch.
func (b *badgerBatch) Commit() error { return b.txn.Commit() }

// Discard implements kv.Snapshot.
func (b *badgerBatch) Discard() {
	b.txn.Discard()
	if b.entries != nil {
		b.entries.reset()
		slabs.Put(b.entries)
		b.entries = nil
	}
}

type badgerIterator struct {
	*badger.Iterator
	prefix []byte
}

// Key implements kv.Iterator.
func (i *badgerIterator) Key() ([]byte, bool) {
	if !i.ValidForPrefix(i.prefix) {
		return nil, false
	}
	return i.Item().Key(), true
}

// Value implements kv.Iterator.
func (i *badgerIterator) Value(fn func(value []byte) error) error { return i.Item().Value(fn) }

// Size implements kv.Iterator.
func (i *badgerIterator) Size() int64 { return i.Item().ValueSize() }

// slabSize is how many entries a slab keeps between batches, about 200 KiB.
const slabSize = 2048

// slab saves the allocation of each entry of a batch. Badger lets go of them when a commit returns.
type slab struct{ entries []badger.Entry }

var slabs = sync.Pool{New: func() any { return new(slab) }}

func (s *slab) take(key, value []byte) *badger.Entry {
	if s.entries == nil {
		s.entries = make([]badger.Entry, 0, slabSize)
	}
	if len(s.entries) == cap(s.entries) {
		return badger.NewEntry(key, value)
	}
	s.entries = append(s.entries, badger.Entry{Key: key, Value: value})
	return &s.entries[len(s.entries)-1]
}

func (s *slab) reset() {
	clear(s.entries)
	s.entries = s.entries[:0]
}
