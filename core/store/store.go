package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store/atrest"
	"github.com/wardroom/wardroom/core/store/kv"
)

var (
	_ core.Store = (*Store)(nil)
	_ core.Tx    = (*tx)(nil)
)

// Store implements core.Store. All methods are safe for concurrent use. After Close they return an
// INTERNAL_ERROR with Unavailable and the reason store_closed.
type Store struct {
	opts  Options
	open  func() (kv.DB, error) // the database again, after a failure
	log   hclog.Logger
	state *state
	space *space
	queue queue
	stats counters
	seq   atomic.Uint64                  // last sequence number committed, for readers
	audit atomic.Pointer[core.AuditHead] // committed, for readers

	// dbMu guards db. Readers hold it for reading while they use db; the writer takes it to swap db after
	// a failed commit, and Close to end.
	dbMu   sync.RWMutex
	db     kv.DB // nil while it could not be opened again, and after Close
	closed bool  // guarded by dbMu

	floors dueFloors
	broken brokenRecords

	clock     clockBook // begun by Open; RunMaintenance and idempotency keys look at the clock
	retention retentionState
	moved     atomic.Int64  // bytes that collections may have moved within the value log
	values    valueSpace    // for the goroutine that writes: Open's, then the writer's
	orphans   chan struct{} // holds one; told by the writer when an endpoint was deleted

	closing   context.Context // cancelled when Close begins
	cancel    context.CancelFunc
	wg        sync.WaitGroup // the writer and the space monitor
	closeOnce sync.Once
	closeErr  error

	ring      *atrest.Ring // nil: in clear
	resealing resealState

	ballast  atomic.Bool     // is there
	reserved map[string]bool // write-ahead logs with all their blocks; used at open, then by the monitor
	// compacting is held by what uses db for long without dbMu, and by whoever closes it. So is dumping, for reading by dumps,
	// of which there may be several: how long one takes is up to whoever reads it.
	compacting sync.Mutex
	dumping    sync.RWMutex
	retainMu   sync.Mutex // one retention or value log collection at a time
	owed       Retired    // what was retired, and whose space a merge did not give back yet; guarded by retainMu
	owedRuns   int        // runs since it was retired; guarded by retainMu
	merged     mergeMark  // guarded by retainMu
}

// Open opens the store at opts.Path, migrates it to the present schema, and starts its writer and its
// space monitor; Close ends both. The error is for the operator who starts the process.
func Open(ctx context.Context, opts Options) (*Store, error) {
	return open(ctx, opts, migrations)
}

func open(ctx context.Context, opts Options, steps []migration) (*Store, error) {
	opts.setDefaults()
	if opts.Path == "" {
		return nil, errors.New("store: no path given")
	}
	path, err := filepath.Abs(opts.Path)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	opts.Path = path
	if err := ensureDir(path); err != nil {
		return nil, fmt.Errorf("store: open %s: %w", path, err)
	}
	total, err := diskTotal(path)
	if err != nil {
		return nil, fmt.Errorf("store: space of %s: %w", path, err)
	}
	if opts.MinFreeBytes >= total {
		return nil, fmt.Errorf("store: the file system of %s holds %d bytes, but the store is to leave %d bytes free: "+
			"it could never be written; lower the space to be left free or use a larger disk", path, total, opts.MinFreeBytes)
	}
	ring, err := unlock(ctx, opts)
	if err != nil {
		return nil, fmt.Errorf("store: open %s: %w", path, err)
	}
	room, err := makeRoom(opts)
	if err != nil {
		return nil, err
	}
	var db kv.DB
	if room {
		db, err = openBadger(path, ring, opts.Logger)
	} else {
		db, err = openFull(opts, ring)
	}
	if err != nil {
		return nil, err
	}
	s := newStore(opts, db, total)
	s.ring = ring
	s.open = func() (kv.DB, error) { return openBadger(path, ring, opts.Logger) }
	s.values.dir, s.values.moved = path, func() int64 { return s.moved.Swap(0) }
	s.tryReserve()
	if err := s.start(ctx, room, steps); err != nil {
		return nil, fmt.Errorf("store: open %s: %w", path, errors.Join(err, db.Close()))
	}
	return s, nil
}

// OpenOn opens a store on a database without a directory, in memory for one, which Close closes. Path and
// MinFreeBytes of the options are ignored, and Encryption: an encrypted one is an atrest.DB.
func OpenOn(ctx context.Context, db kv.DB, opts Options) (*Store, error) {
	opts.Path, opts.MinFreeBytes = "", 0
	if opts.DiskFree == nil {
		opts.DiskFree = func(string) (uint64, error) { return noDisk, nil }
	}
	opts.setDefaults()
	s := newStore(opts, db, noDisk)
	if d, ok := db.(*atrest.DB); ok {
		s.ring = d.Ring()
	}
	s.open = func() (kv.DB, error) { return db, nil }
	if err := s.start(ctx, true, migrations); err != nil {
		return nil, fmt.Errorf("store: open: %w", err)
	}
	return s, nil
}

// noDisk is the free space of a store without a disk.
const noDisk = 1 << 62

func newStore(opts Options, db kv.DB, total uint64) *Store {
	return &Store{
		opts: opts, log: opts.Logger, db: db, state: newState(), space: newSpace(opts.MinFreeBytes, total), orphans: make(chan struct{}, 1),
		resealing: resealState{wake: make(chan struct{}, 1)},
	}
}

// start brings an opened database to the present schema, reads what is kept in memory, and starts the goroutines.
// Without room on disk it is for reading only.
func (s *Store) start(ctx context.Context, room bool, steps []migration) (err error) {
	w := &writer{s: s}
	w.tx.w = w
	if room {
		err = s.migrate(ctx, steps)
	} else {
		w.failed = errFull
		s.space.fail(errFull)
		err = checkSchema(s.db, steps)
	}
	if err == nil {
		err = w.load()
	}
	if err != nil {
		return err
	}
	if err := s.beginClock(ctx); err != nil {
		s.log.Error("what was known of the clock cannot be read", "error", err)
		s.clock.begin(clockRecord{}, time.Time{}, s.opts.Clock.Now())
	}
	if room && s.opts.Path != "" {
		s.dropFormer()
	}
	s.measure()
	s.queue.wake = make(chan struct{}, 1)
	s.closing, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	s.wg.Add(2)
	go w.run()
	go s.monitor()
	if s.ring != nil {
		s.wg.Add(1)
		go s.reseal()
	}
	return nil
}

// openBadger opens the database and turns the common failures into something an operator can act on.
func openBadger(path string, ring *atrest.Ring, logger hclog.Logger) (kv.DB, error) {
	if err := removeLeftovers(path, logger); err != nil {
		return nil, err
	}
	if err := shortenManifest(path, logger); err != nil {
		return nil, err
	}
	opts := badgerOptions(path, tableKey(ring), logger)
	var db *badger.DB
	err := flushLarger(opts, logger)
	if err == nil {
		db, err = badger.Open(opts)
	}
	switch {
	case err == nil:
		layers, err := layered(db, ring)
		if err != nil {
			return nil, fmt.Errorf("store: open %s: %w", path, err)
		}
		return layers, nil
	case strings.Contains(err.Error(), "Cannot acquire directory lock"):
		return nil, inUse(path)
	case errors.Is(err, badger.ErrEncryptionKeyMismatch) && ring == nil:
		return nil, fmt.Errorf("store: open %s: %w", path, errRingGone)
	case errors.Is(err, badger.ErrEncryptionKeyMismatch):
		return nil, fmt.Errorf("store: open %s: the files of the store and its data keys in %s do not belong together", path, RingFile)
	case strings.Contains(err.Error(), "external magic number doesn't match"):
		return nil, fmt.Errorf("store: %s holds the data of another program: %w", path, err)
	}
	return nil, fmt.Errorf("store: open %s: %w", path, err)
}

// inUse returns the error for a store that another process has.
func inUse(path string) error {
	owner := "another process"
	if pid, err := os.ReadFile(filepath.Join(path, "LOCK")); err == nil {
		if id := strings.TrimSpace(string(pid)); id != "" {
			owner = "process " + id
		}
	}
	return core.Conflict("store", path, "", "store: %s is in use by %s: a store belongs to one process at a time", path, owner)
}

// Close answers the updates that were queued before it, stops the goroutines and closes the files; on a full disk, in the room
// that is kept for a start, and without even that it leaves the files as a crash does, for the next start. Safe to call twice.
func (s *Store) Close() error {
	s.closeOnce.Do(func() {
		s.queue.close()
		s.cancel()
		s.wg.Wait()
		s.compacting.Lock()
		defer s.compacting.Unlock()
		s.dumping.Lock()
		defer s.dumping.Unlock()
		s.dbMu.Lock()
		defer s.dbMu.Unlock()
		s.closed = true
		if s.db != nil {
			s.closeErr = s.closeDB()
			s.db = nil
		}
	})
	return s.closeErr
}

var errClosed = core.Unavailable("store_closed", "the store is closed")

// view runs fn in a read transaction over a consistent snapshot.
func (s *Store) view(ctx context.Context, fn func(txn kv.Snapshot) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.dbMu.RLock()
	defer s.dbMu.RUnlock()
	txn, err := s.snapshot()
	if err != nil {
		return err
	}
	defer txn.Discard()
	err = fn(txn)
	if d := asDamage(err); d != nil && d.key != nil {
		s.note(d.key, d)
	}
	var known *core.Error
	if err == nil || errors.As(err, &known) || ctx.Err() != nil {
		return err
	}
	return core.AsError(fmt.Errorf("store: read: %w", err))
}

// snapshot returns the keys as they are. The caller holds dbMu, and whoever discards it later than that holds dumping too.
func (s *Store) snapshot() (kv.Snapshot, error) {
	if s.closed {
		return nil, errClosed
	}
	if s.db == nil {
		return nil, core.Unavailable("store_failed", "the store is being reopened after a failure")
	}
	return s.db.Snapshot(), nil
}

// get returns a copy of a key's value, or nil if the key does not exist.
func get(txn kv.Snapshot, key []byte) ([]byte, error) {
	c := copiers.Get().(*copier)
	_, err := txn.Get(key, c.take)
	value := c.value
	c.value = nil
	copiers.Put(c)
	return value, err
}

// copier saves get the allocations of a closure and of what it writes to.
type copier struct {
	value []byte
	take  func(value []byte) error
}

var copiers = sync.Pool{New: func() any {
	c := new(copier)
	c.take = func(value []byte) error {
		c.value = append(make([]byte, 0, len(value)), value...) // not nil if it is empty
		return nil
	}
	return c
}}

// scan calls fn with each key under prefix from seek on, in order, until fn returns false or an error.
// Key and value are valid during the call only; value is nil unless values is set.
func scan(txn kv.Snapshot, prefix, seek []byte, values bool, fn func(key, value []byte) (bool, error)) error {
	it := txn.Iterate(prefix, false)
	defer it.Close()
	if seek == nil {
		seek = prefix
	}
	it.Seek(seek)
	var more bool
	key, ok := it.Key()
	withValue := func(value []byte) (err error) {
		more, err = fn(key, value)
		return err
	}
	for ; ok; key, ok = it.Key() {
		var err error
		if values {
			err = it.Value(withValue)
		} else {
			more, err = fn(key, nil)
		}
		if err != nil || !more {
			return err
		}
		it.Next()
	}
	return nil
}

// scanBack calls fn with each key under prefix that sorts before end, newest first; nil end means all.
func scanBack(txn kv.Snapshot, prefix, end []byte, fn func(key []byte) (bool, error)) error {
	it := txn.Iterate(prefix, true)
	defer it.Close()
	seek := end
	if seek == nil {
		seek = append(append(make([]byte, 0, len(prefix)+1), prefix...), 0xFF)
	}
	it.Seek(seek)
	for key, ok := it.Key(); ok; key, ok = it.Key() {
		if end == nil || string(key) < string(end) {
			if more, err := fn(key); err != nil || !more {
				return err
			}
		}
		it.Next()
	}
	return nil
}

// read decodes the JSON record under key; NOT_FOUND with what and id if there is none.
func read(txn kv.Snapshot, key []byte, what, id string, into any) error {
	found, err := txn.Get(key, func(value []byte) error { return decodeJSON(what, id, value, into) })
	if err == nil && !found {
		return core.NotFound(what, id)
	}
	if d := asDamage(err); d != nil {
		d.key = slices.Clone(key)
	}
	return err
}

// alive is the check of methods that read memory only.
func (s *Store) alive(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.dbMu.RLock()
	defer s.dbMu.RUnlock()
	if s.closed {
		return errClosed
	}
	return nil
}
