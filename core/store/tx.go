package store

import (
	"bytes"
	"fmt"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store/kv"
)

// maxValue is the largest record. Badger's bound is one value log file.
const maxValue = valueLogFile - 1<<20

// entryOverhead is what Badger adds to a key and value in its bound on a transaction, timestamp included,
// rounded up.
const entryOverhead = 32

// write is one pending change of a key; a nil value deletes it.
type write struct {
	key, value []byte
}

// refDelta changes how many records refer to a definition.
type refDelta struct {
	hash    string
	by      int64
	stored  bool // the definition itself was written
	dropped bool // the definition itself was deleted
}

// tx implements core.Tx for one closure: it reads the batch so far and buffers its own writes until the
// writer adds them to the batch. It is used by the writer goroutine only, one closure after the other.
type tx struct {
	w       *writer
	writes  []write
	size    int64 // in Badger's terms, with the counters and references it touches; without what lies in the value log
	large   int64 // bytes that go to the value log
	count   int64 // of entries, likewise
	seq     uint64
	audit   core.AuditHead // with what the closure adds
	events  []core.Event
	by      string   // principal whom they are put down to, or ""
	after   []func() // of AfterCommit
	changes []execChange
	refs    []refDelta
	shrinks bool                       // some of refs are negative
	orphans bool                       // an endpoint was deleted
	tallies map[uint32]*deliveryCounts // what the closure changes of the counts of deliveries, by number of the webhook
	dues    map[uint32]int64           // the earliest next attempts that the closure adds, by number of the webhook
	index   writeIndex                 // of writes, once there are many
}

func (t *tx) reset(seq uint64) {
	clear(t.writes)
	clear(t.events)
	clear(t.after)
	clear(t.changes)
	t.writes, t.events, t.after, t.changes, t.refs = t.writes[:0], t.events[:0], t.after[:0], t.changes[:0], t.refs[:0]
	t.size, t.large, t.count, t.seq, t.shrinks, t.orphans = 0, 0, 0, seq, false, false
	t.audit = t.w.batchAudit
	clear(t.tallies)
	clear(t.dues)
	t.index.reset()
}

// AfterCommit implements core.Tx.
func (t *tx) AfterCommit(fn func()) { t.after = append(t.after, fn) }

// get returns the value of key as the closure sees it, or nil if there is none. The value may be shared.
func (t *tx) get(key []byte) ([]byte, error) {
	if i := t.index.find(t.writes, key); i >= 0 {
		return t.writes[i].value, nil
	}
	return get(t.w.txn, key)
}

func (t *tx) set(key, value []byte) error {
	if err := checkKey(key); err != nil {
		return err
	}
	if value == nil {
		value = []byte{}
	}
	if len(value) > maxValue {
		return core.Invalid("body", "is too large: one record holds up to %d bytes", maxValue)
	}
	t.writes = append(t.writes, write{key, value})
	t.reserve(entrySize(key, value, t.w.limits))
	t.large += largeSize(key, value, t.w.limits.Large)
	return nil
}

func checkKey(key []byte) error {
	if len(key) > maxKey {
		return core.Invalid("name", "is too long: the store keeps names of up to about 50,000 bytes")
	}
	return nil
}

func (t *tx) delete(key []byte) {
	if len(key) > maxKey {
		return // cannot be there
	}
	t.writes = append(t.writes, write{key: key})
	t.reserve(entrySize(key, nil, t.w.limits))
}

// reserve accounts for one entry of the batch.
func (t *tx) reserve(size int64) {
	t.size += size
	t.count++
}

// lsmCost is how often the bytes of small values are written until they come to rest: to the file that a memtable
// becomes, and to one that it is merged into. The write-ahead log has its blocks before.
const lsmCost = 2

// bytes returns the bytes that the closure takes on the disk.
func (t *tx) bytes() int64 { return lsmCost*t.size + t.large }

// change notes that an execution moves on, with the room its counters need.
func (t *tx) change(c execChange) {
	t.changes = append(t.changes, c)
	t.reserve(int64(len(c.new.pattern)+len(c.old.pattern)) + 2*entryOverhead + 64)
}

// refer notes that one more or one less record refers to a definition.
func (t *tx) refer(d refDelta) {
	t.refs = append(t.refs, d)
	t.shrinks = t.shrinks || d.by < 0
	t.reserve(int64(len(d.hash)) + entryOverhead + 8)
}

func (t *tx) setJSON(key []byte, record any) error {
	var err error
	value := t.take(func(b []byte) []byte {
		b, err = appendJSON(b, record)
		return b
	})
	if err != nil {
		return err
	}
	return t.set(key, value)
}

// scan calls fn with each key under prefix as the closure sees it: first those of the batch that the
// closure did not touch, then the closure's own.
func (t *tx) scan(prefix []byte, fn func(key, value []byte) error) error {
	own := map[string][]byte{}
	for _, w := range t.writes {
		if bytes.HasPrefix(w.key, prefix) {
			own[string(w.key)] = w.value
		}
	}
	err := scan(t.w.txn, prefix, nil, true, func(key, value []byte) (bool, error) {
		if _, ok := own[string(key)]; ok {
			return true, nil
		}
		return true, fn(key, value)
	})
	if err != nil {
		return err
	}
	for key, value := range own {
		if value == nil {
			continue
		}
		if err := fn([]byte(key), value); err != nil {
			return err
		}
	}
	return nil
}

// run calls the closure and turns a panic into an error of that closure alone.
func (t *tx) run(fn func(t *tx) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = core.AsError(fmt.Errorf("store: transaction panicked: %v", p))
			t.w.s.log.Error("transaction panicked", "panic", p, "stack", stack())
		}
	}()
	return fn(t)
}

// entrySize returns the bytes that the database counts for an entry: large values lie in the value log.
func entrySize(key, value []byte, limits kv.Limits) int64 {
	if int64(len(value)) >= limits.Large {
		return int64(len(key)) + entryOverhead
	}
	return int64(len(key)+len(value)) + entryOverhead + limits.Overhead
}

// largeSize returns the bytes that an entry takes in the value log: 0 for a value that is not large.
func largeSize(key, value []byte, threshold int64) int64 {
	if int64(len(value)) < threshold {
		return 0
	}
	return int64(len(key)+len(value)) + 2*entryOverhead
}

// put hands a write to a batch.
func put(batch kv.Batch, w write) error {
	if w.value == nil {
		return batch.Delete(w.key)
	}
	return batch.Set(w.key, w.value)
}

// take builds a key or value in the batch's buffer.
func (t *tx) take(build func(dst []byte) []byte) []byte { return t.w.buf.take(build) }

func (t *tx) key(prefix, id string) []byte {
	return t.take(func(b []byte) []byte { return appendKey(b, prefix, id) })
}
