package store

import (
	"slices"

	"github.com/wardroom/wardroom/core/store/kv"
)

// bulkBatch and bulkLarge bound what a bulk commits at a time, in bytes of small and of large values. One large value may be
// more than that.
const (
	bulkBatch = 256 << 10
	bulkLarge = 8 << 20
)

// bulk fills a database that has no other user, so much at a time: what waits for a commit is in memory.
type bulk struct {
	db     kv.DB
	values *valueSpace
	room   func(bytes int64) error // refuses to write so much; or nil
	wrote  func(records int)       // is called after each commit; or nil

	limits      kv.Limits
	writes      []write
	size, large int64
}

func newBulk(db kv.DB, values *valueSpace) *bulk {
	return &bulk{db: db, values: values, limits: db.Limits()}
}

// put adds a record, of which it keeps a copy.
func (b *bulk) put(key, value []byte) error {
	w := write{slices.Clone(key), append([]byte{}, value...)}
	size, large := entrySize(w.key, w.value, b.limits), largeSize(w.key, w.value, b.limits.Large)
	if len(b.writes) > 0 && (b.size+size > min(b.limits.Size, bulkBatch) || b.large+large > bulkLarge || int64(len(b.writes)) >= min(b.limits.Count, repairChunk)) {
		if err := b.flush(); err != nil {
			return err
		}
	}
	b.writes = append(b.writes, w)
	b.size, b.large = b.size+size, b.large+large
	return nil
}

// flush commits what waits.
func (b *bulk) flush() error {
	if len(b.writes) == 0 {
		return nil
	}
	if b.room != nil {
		if err := b.room(lsmCost*b.size + b.large); err != nil {
			return err
		}
	}
	if err := b.values.reserve(b.large); err != nil {
		return err
	}
	if err := commitWrites(b.db, b.writes); err != nil {
		return err
	}
	b.values.wrote(b.large)
	if b.wrote != nil {
		b.wrote(len(b.writes))
	}
	b.writes, b.size, b.large = nil, 0, 0
	return nil
}
