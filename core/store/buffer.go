package store

import "github.com/dgraph-io/badger/v4"

// keepBuffer is how much memory a buffer keeps between batches.
const keepBuffer = 4 << 20

// buffer is where a batch builds its keys and small values. Slices taken from it stay valid until reset,
// which the writer calls once Badger has copied them.
type buffer struct{ b []byte }

// take returns what build appends.
func (a *buffer) take(build func(dst []byte) []byte) []byte {
	from := len(a.b)
	a.b = build(a.b)
	return a.b[from:len(a.b):len(a.b)]
}

func (a *buffer) reset() {
	if cap(a.b) > keepBuffer {
		a.b = nil
		return
	}
	a.b = a.b[:0]
}

// slabSize is how many entries a slab keeps between batches, about 200 KiB.
const slabSize = 2048

// slab saves the allocation of each entry of a batch. Badger lets go of them when a commit returns.
type slab struct{ entries []badger.Entry }

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
