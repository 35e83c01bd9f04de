// Package kv is the port under core/store: an ordered map from keys to values with snapshots and durable batches, and
// nothing else. It owns what every such map promises, and knows nothing of what the keys mean: core/store does, which alone
// uses it and puts Badger behind it; tests put memory there.
package kv

// DB is an ordered map of keys, which are not empty, to values, which may be. Snapshots may be taken from any goroutine.
type DB interface {
	// Snapshot returns the keys as the last commit left them. The caller discards it.
	Snapshot() Snapshot
	// Begin returns an empty batch on top of the last commit. One goroutine commits at a time: what another batch
	// committed since may be lost otherwise.
	Begin() Batch
	// Limits returns what a batch may hold. They never change.
	Limits() Limits
	// Close gives up what the map holds of the machine. Snapshots and batches are discarded before.
	Close() error
}

// Limits bound a batch.
type Limits struct {
	Size     int64 // of keys and values in bytes, but for those of Large and more
	Count    int64 // of keys
	Large    int64 // values of so many bytes and more are kept apart: they count by their key only
	Overhead int64 // of Size, of each entry beside its key and value
	ReadOnly bool  // no batch may be committed
}

// Snapshot is a view of the keys that does not change. It is used by one goroutine at a time.
type Snapshot interface {
	// Get calls fn with the value of a key and returns what fn does, and whether the key is there. The value is valid
	// during the call, and must not be changed. A nil fn only asks.
	Get(key []byte, fn func(value []byte) error) (found bool, err error)
	// Iterate returns an iterator over the keys with a prefix, in order or backwards. It stands nowhere until its first
	// Seek, and is closed before the snapshot is discarded.
	Iterate(prefix []byte, backwards bool) Iterator
	// Discard gives up the snapshot. Safe to call twice.
	Discard()
}

// Batch is a Snapshot that sees its own writes. Keys and values handed to it must not be changed before it ends.
type Batch interface {
	Snapshot
	Set(key, value []byte) error
	Delete(key []byte) error
	// Commit makes all writes durable and visible at once. After an error it is unknown whether they are.
	Commit() error
}

// Iterator walks keys. A batch is not written while one of its iterators is open.
type Iterator interface {
	// Seek goes to the first key from key on in the iterator's direction, which is key itself if it is there.
	Seek(key []byte)
	Next()
	// Key returns the key at which the iterator stands, and false at the end. The key is valid until the iterator moves.
	Key() (key []byte, ok bool)
	// Value calls fn with the value of that key. The value is valid during the call, and must not be changed.
	Value(fn func(value []byte) error) error
	// Size returns the length of that value without reading it; large values may count a little more.
	Size() int64
	Close()
}
