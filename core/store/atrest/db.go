package atrest

import (
	"sync"

	"github.com/wardroom/wardroom/core/store/kv"
)

var (
	_ kv.DB    = (*DB)(nil)
	_ kv.Batch = (*batch)(nil)
)

// DB seals what is written to another database, and opens what is read from it. A value that does not open is handed to
// the reader as it is stored, so that it is broken as other malformed records are; a value in clear is none of ours, and is
// handed on as one that does not open.
type DB struct {
	kv.DB
	ring *Ring
}

// Seal puts a ring over a database.
func Seal(db kv.DB, ring *Ring) *DB { return &DB{db, ring} }

// Ring returns the ring.
func (d *DB) Ring() *Ring { return d.ring }

// Unwrap returns the database below.
func (d *DB) Unwrap() kv.DB { return d.DB }

// Snapshot implements kv.DB.
func (d *DB) Snapshot() kv.Snapshot { return snapshot{d.DB.Snapshot(), d.ring} }

// Begin implements kv.DB.
func (d *DB) Begin() kv.Batch {
	b := d.DB.Begin()
	return &batch{snapshot{b, d.ring}, b, arenas.Get().(*arena)}
}

// Limits implements kv.DB.
func (d *DB) Limits() kv.Limits {
	l := d.DB.Limits()
	l.Large -= int64(Overhead)
	l.Overhead += int64(Overhead)
	return l
}

// Stale reports whether the value of a key in a snapshot of this database is sealed by another data key than the current one.
func (d *DB) Stale(it kv.Iterator) (stale bool, err error) {
	current := d.ring.current.Load().id
	i := it.(*iterator)
	err = i.Iterator.Value(func(stored []byte) error {
		id, ok := keyOf(stored)
		stale = ok && id != current
		return nil
	})
	return stale, err
}

type snapshot struct {
	kv.Snapshot
	ring *Ring
}

// opener saves the allocations of opening a value.
type opener struct {
	ring  *Ring
	key   []byte
	fn    func(value []byte) error
	plain []byte
	run   func(stored []byte) error
}

// maxPlain is how much of a buffer is kept for the next value.
const maxPlain = 64 << 10

var openers = sync.Pool{New: func() any {
	o := new(opener)
	o.run = o.open
	return o
}}

func (o *opener) open(stored []byte) error {
	if len(stored) == 0 {
		return o.fn(stored)
	}
	plain, err := o.ring.open(o.plain[:0], o.key, stored)
	switch {
	case err == nil:
		o.plain = plain
		return o.fn(plain)
	case Unopened(stored):
		return o.fn(stored)
	}
	return o.fn(append([]byte(magic), stored...))
}

func (o *opener) done() {
	o.ring, o.key, o.fn = nil, nil, nil
	clear(o.plain)
	if cap(o.plain) > maxPlain {
		o.plain = nil
	}
	openers.Put(o)
}

// Get implements kv.Snapshot.
func (s snapshot) Get(key []byte, fn func(value []byte) error) (bool, error) {
	if fn == nil {
		return s.Snapshot.Get(key, nil)
	}
	o := openers.Get().(*opener)
	defer o.done()
	o.ring, o.key, o.fn = s.ring, key, fn
	return s.Snapshot.Get(key, o.run)
}

// Iterate implements kv.Snapshot.
func (s snapshot) Iterate(prefix []byte, backwards bool) kv.Iterator {
	return &iterator{s.Snapshot.Iterate(prefix, backwards), s.ring}
}

type iterator struct {
	kv.Iterator
	ring *Ring
}

// Value implements kv.Iterator.
func (i *iterator) Value(fn func(value []byte) error) error {
	key, ok := i.Key()
	if !ok {
		return i.Iterator.Value(fn)
	}
	o := openers.Get().(*opener)
	defer o.done()
	o.ring, o.key, o.fn = i.ring, key, fn
	return i.Iterator.Value(o.run)
}

// Size implements kv.Iterator.
func (i *iterator) Size() int64 { return max(0, i.Iterator.Size()-int64(Overhead)) }

type batch struct {
	snapshot
	to    kv.Batch
	arena *arena // nil once the batch ended
}

// Set implements kv.Batch.
func (b *batch) Set(key, value []byte) error {
	if len(value) == 0 {
		return b.to.Set(key, value)
	}
	return b.to.Set(key, b.ring.seal(b.arena.take(len(value)+Overhead), key, value))
}

// Delete implements kv.Batch.
func (b *batch) Delete(key []byte) error { return b.to.Delete(key) }

// Commit implements kv.Batch.
func (b *batch) Commit() error { return b.to.Commit() }

// Discard implements kv.Snapshot.
func (b *batch) Discard() {
	b.to.Discard()
	if b.arena != nil {
		b.arena.reset()
		arenas.Put(b.arena)
		b.arena = nil
	}
}

// arenaPiece is the size of the pieces of an arena, of which one is kept between batches.
const arenaPiece = 256 << 10

// arena has room for the sealed values of a batch, which must stay until it ends.
type arena struct{ first, piece []byte }

var arenas = sync.Pool{New: func() any { return new(arena) }}

// take returns an empty slice with that capacity.
func (a *arena) take(n int) []byte {
	if n > arenaPiece/4 {
		return make([]byte, 0, n)
	}
	if cap(a.piece)-len(a.piece) < n {
		a.piece = make([]byte, 0, arenaPiece)
		if a.first == nil {
			a.first = a.piece
		}
	}
	from := len(a.piece)
	a.piece = a.piece[:from+n]
	return a.piece[from : from : from+n]
}

func (a *arena) reset() { a.piece = a.first }
