package store

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/wardroom/wardroom/core"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sumFiles tells other context files of a thread apart from those that are stored; it is 0 for none. Two CRCs of
// different polynomials are as good as one of 64 bits, and fast enough to be made with every put.
func sumFiles(files []core.ContextFile) uint64 {
	if len(files) == 0 {
		return 0
	}
	var low, high uint32
	buf := make([]byte, 0, 4<<10)
	add := func(s string) {
		buf = binary.AppendUvarint(buf[:0], uint64(len(s)))
		for {
			n := min(len(s), cap(buf)-len(buf))
			buf = append(buf, s[:n]...)
			low, high = crc32.Update(low, crc32.IEEETable, buf), crc32.Update(high, castagnoli, buf)
			if s, buf = s[n:], buf[:0]; s == "" {
				return
			}
		}
	}
	for _, f := range files {
		add(f.Path)
		add(f.Content)
	}
	return max(uint64(high)<<32|uint64(low), 1)
}

// putFiles stores the context files of a thread apart from its record, if they are not those that are stored.
func (t *tx) putFiles(r *core.ThreadRecord, stored, sum uint64) error {
	if stored == sum {
		return nil
	}
	key := t.key(prefixThreadFiles, r.ID)
	if sum == 0 {
		t.delete(key)
		return nil
	}
	return t.setJSON(key, r.Preparation.ContextFiles)
}

// takeFiles gives a record the context files that are stored apart from it; nil for none.
func takeFiles(r *core.ThreadRecord, stored []byte) error {
	if stored == nil {
		return nil
	}
	return decodeJSON("context files of thread", r.ID, stored, &r.Preparation.ContextFiles)
}
