package store

import "github.com/wardroom/wardroom/core/store/kv"

// watchedDB reports how many keys each of its iterators has walked, every progressEvery of them.
type watchedDB struct {
	kv.DB
	report func(keys uint64)
}

func (db watchedDB) Snapshot() kv.Snapshot {
	if db.report == nil {
		return db.DB.Snapshot()
	}
	return watchedSnapshot{db.DB.Snapshot(), db.report}
}

type watchedSnapshot struct {
	kv.Snapshot
	report func(keys uint64)
}

func (s watchedSnapshot) Iterate(prefix []byte, backwards bool) kv.Iterator {
	return &watchedIterator{Iterator: s.Snapshot.Iterate(prefix, backwards), report: s.report}
}

type watchedIterator struct {
	kv.Iterator
	report func(keys uint64)
	keys   uint64
}

func (it *watchedIterator) Next() {
	if it.keys++; it.keys%progressEvery == 0 {
		it.report(it.keys)
	}
	it.Iterator.Next()
}
