package store

import (
	"bytes"
	"hash/maphash"
)

// indexFrom is how many writes a closure makes before they are looked up by hash.
const indexFrom = 32

// writeIndex finds the newest write of a key among many. The zero value is ready.
type writeIndex struct {
	seed   maphash.Seed
	at     map[uint64]int // place of the newest write whose key has that hash
	known  int            // writes that are in at
	seeded bool
}

// find returns the place of the newest write of key, or -1.
func (x *writeIndex) find(writes []write, key []byte) int {
	if len(writes) < indexFrom {
		return findWrite(writes, key)
	}
	if !x.seeded {
		x.seed, x.at, x.seeded = maphash.MakeSeed(), map[uint64]int{}, true
	}
	for ; x.known < len(writes); x.known++ {
		x.at[maphash.Bytes(x.seed, writes[x.known].key)] = x.known
	}
	i, ok := x.at[maphash.Bytes(x.seed, key)]
	if !ok {
		return -1
	}
	if bytes.Equal(writes[i].key, key) {
		return i
	}
	return findWrite(writes[:i], key) // two keys with one hash
}

func findWrite(writes []write, key []byte) int {
	for i := len(writes) - 1; i >= 0; i-- {
		if bytes.Equal(writes[i].key, key) {
			return i
		}
	}
	return -1
}

// keepIndex is how many entries an index may have had to be kept for the next closure.
const keepIndex = 64 << 10

func (x *writeIndex) reset() {
	if x.known > keepIndex {
		*x = writeIndex{}
		return
	}
	clear(x.at)
	x.known = 0
}
