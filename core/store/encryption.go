package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/atomicfile"
	"github.com/wardroom/wardroom/core/internal/pause"
	"github.com/wardroom/wardroom/core/store/atrest"
	"github.com/wardroom/wardroom/core/store/kv"
)

// An encrypted store has one layer or two. Values are sealed above the port (package atrest), which proves that they were not
// changed or swapped, and lets their key change while the store is in use. With Names Badger encrypts its files as a whole
// below it, which proves nothing, hides the names in keys, and costs more than the sealing. Both have keys that the ring
// keeps, wrapped by a master key.

// RingFile is the ring of data keys in the directory of a store.
const RingFile = "encryption.json"

// maxRingFile bounds what is read of it.
const maxRingFile = 1 << 20

// Encryption holds the settings of an encrypted store.
type Encryption struct {
	// Source has the master key.
	Source atrest.KeySource
	// Names has Badger encrypt its files too, so that the names in its keys cannot be read. It counts when a store is
	// made or first encrypted, and stays as it was then.
	Names bool
	// Progress, which may be nil, is called with the number of records of a store in clear that were encrypted, while Open does that.
	Progress func(done, total int64)
}

// Location is where a store is, with what opens it.
type Location struct {
	Path       string
	Encryption *Encryption // nil: it is in clear
}

// ErrEncrypted says that a store is encrypted, and that no key for it is configured.
var ErrEncrypted = errors.New("the store is encrypted, and no key is configured for it: give it as it was (security.encryption.atRest)")

// readRing opens the ring in a directory; nil when there is none.
func readRing(ctx context.Context, dir string, e *Encryption) (*atrest.Ring, error) {
	path := filepath.Join(dir, RingFile)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if e == nil {
		return nil, ErrEncrypted
	}
	if info.Size() > maxRingFile {
		return nil, fmt.Errorf("%s is too large to be a ring of data keys", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return atrest.OpenRing(ctx, e.Source, data, saveRing(path))
}

// openRing opens the ring of a store that is used as it is: nil for one in clear.
func openRing(ctx context.Context, dir string, e *Encryption) (*atrest.Ring, error) {
	ring, err := readRing(ctx, dir, e)
	if err != nil || ring != nil {
		return ring, err
	}
	if _, err := os.Stat(filepath.Join(dir, badger.KeyRegistryFileName)); err == nil {
		return nil, checkClear(dir)
	}
	return nil, nil
}

var errRingGone = fmt.Errorf("the store is encrypted, and the file %s with its data keys is gone: put it back from a copy of the directory, "+
	"or restore a backup", RingFile)

// notSealed refuses a database in clear whose values are sealed.
func notSealed(db kv.DB) error {
	txn := db.Snapshot()
	defer txn.Discard()
	for _, key := range schemaKeys {
		value, err := get(txn, []byte(key))
		if err != nil {
			return err
		}
		if atrest.Unopened(value) {
			return errRingGone
		}
	}
	return nil
}

// checkClear refuses files that are encrypted by a key that is gone.
func checkClear(dir string) error {
	registry, err := badger.OpenKeyRegistry(badger.KeyRegistryOptions{Dir: dir, ReadOnly: true})
	if errors.Is(err, badger.ErrEncryptionKeyMismatch) {
		return errRingGone
	}
	if err != nil {
		return err
	}
	return registry.Close()
}

// makeRing makes the ring of a new store.
func (e *Encryption) makeRing(ctx context.Context, dir string, now time.Time) (*atrest.Ring, error) {
	return atrest.NewRing(ctx, e.Source, e.Names, now, saveRing(filepath.Join(dir, RingFile)))
}

func saveRing(path string) func(data []byte) error {
	return func(data []byte) error {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := atomicfile.Write(path, data, 0o600); err != nil {
			return err
		}
		return atomicfile.SyncDir(filepath.Dir(path))
	}
}

// unlock returns the ring of the store at opts.Path, nil for one that is to be in clear. A new store gets one, and one in clear is
// encrypted. Nothing is changed when the key is missing or wrong.
func unlock(ctx context.Context, opts Options) (*atrest.Ring, error) {
	if err := finishConversion(opts.Path, nil); err != nil {
		return nil, err
	}
	ring, err := openRing(ctx, opts.Path, opts.Encryption)
	if err != nil || ring != nil {
		return ring, err
	}
	if opts.Encryption == nil {
		return nil, dropConversion(opts.Path)
	}
	if ring, err = firstRing(ctx, opts); err != nil || ring != nil {
		return ring, err
	}
	if err := convert(ctx, opts); err != nil {
		return nil, fmt.Errorf("encrypt the store: %w", err)
	}
	return openRing(ctx, opts.Path, opts.Encryption)
}

// firstRing makes the ring of a new store; nil where there is a store in clear. It works under Badger's lock, and looks for a ring
// once more under it: one that another process made, at the same time, has the keys of what that process writes.
func firstRing(ctx context.Context, opts Options) (*atrest.Ring, error) {
	unlock, locked, err := lockDir(opts.Path)
	if err != nil {
		return nil, err
	}
	if !locked {
		return nil, inUse(opts.Path)
	}
	defer unlock()
	ring, err := openRing(ctx, opts.Path, opts.Encryption)
	if err != nil || ring != nil {
		return ring, err
	}
	if _, err := os.Stat(filepath.Join(opts.Path, badger.ManifestFilename)); !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return opts.Encryption.makeRing(ctx, opts.Path, opts.Clock.Now())
}

// tableKey is the key of Badger's files, nil where they are not encrypted.
func tableKey(ring *atrest.Ring) []byte {
	if ring == nil {
		return nil
	}
	return ring.TableKey()
}

// layered puts the ring of a store over the database that was opened, or checks that it needs none. The database is closed
// where that fails.
func layered(db *badger.DB, ring *atrest.Ring) (kv.DB, error) {
	if ring == nil {
		if err := notSealed(badgerDB{db}); err != nil {
			return nil, errors.Join(err, db.Close())
		}
	}
	return sealed(badgerDB{db}, ring), nil
}

// sealed puts a ring over a database, unless the store is in clear.
func sealed(db kv.DB, ring *atrest.Ring) kv.DB {
	if ring == nil {
		return db
	}
	return atrest.Seal(db, ring)
}

// badgerOf returns the Badger below a database; nil when it has none.
func badgerOf(db kv.DB) *badger.DB {
	if d, ok := db.(*atrest.DB); ok {
		db = d.Unwrap()
	}
	if d, ok := db.(badgerDB); ok {
		return d.DB
	}
	return nil
}

// EncryptionStatus is how a store is encrypted.
type EncryptionStatus struct {
	Enabled bool
	atrest.RingStatus
	Resealing bool  // records that other data keys sealed are being sealed anew
	Done      int64 // records looked at by it
	Total     int64 // as counted at its beginning
	Failed    string
}

// resealState is how far the sealing of records by the present data key is.
type resealState struct {
	wake chan struct{}

	rotating sync.Mutex // held while the key changes, so that the next change sees that records are being sealed; taken before mu

	mu     sync.Mutex // guards all below
	done   int64
	total  int64
	failed string
}

// EncryptionStatus returns how the store is encrypted.
func (s *Store) EncryptionStatus() EncryptionStatus {
	if s.ring == nil {
		return EncryptionStatus{}
	}
	st := EncryptionStatus{Enabled: true, RingStatus: s.ring.Status()}
	st.Resealing = st.DataKeys > 1
	r := &s.resealing
	r.mu.Lock()
	defer r.mu.Unlock()
	st.Done, st.Total, st.Failed = r.done, r.total, r.failed
	return st
}

// RotateKey has everything that is written from now on sealed by a new data key, wraps all keys by the master key that the
// source has now, and has what is there sealed anew in the background. CONFLICT for a store in clear, while that goes on, and
// when the source has no key.
func (s *Store) RotateKey(ctx context.Context) (EncryptionStatus, error) {
	if err := s.alive(ctx); err != nil {
		return EncryptionStatus{}, err
	}
	if s.ring == nil {
		return EncryptionStatus{}, core.Errorf(core.CodeConflict, "the store is not encrypted: see security.encryption.atRest")
	}
	if readOnly, reason := s.State(); readOnly {
		return EncryptionStatus{}, core.Unavailable("store_read_only", "the store is read-only: %s", reason)
	}
	s.resealing.rotating.Lock()
	defer s.resealing.rotating.Unlock()
	if st := s.EncryptionStatus(); st.Resealing {
		return st, core.Errorf(core.CodeConflict, "the records are still being sealed by data key %d: %d of %d looked at", st.DataKey, st.Done, st.Total)
	}
	if err := s.ring.Rotate(ctx, s.opts.Clock.Now()); err != nil {
		if errors.Is(err, atrest.ErrKey) {
			return EncryptionStatus{}, core.Errorf(core.CodeConflict, "the key was not changed: %s", err)
		}
		return EncryptionStatus{}, fmt.Errorf("store: change the key: %w", err)
	}
	s.resealing.mu.Lock()
	s.resealing.done, s.resealing.total, s.resealing.failed = 0, 0, ""
	s.resealing.mu.Unlock()
	st := s.EncryptionStatus()
	s.log.Info("the data key of the store was changed", "dataKey", st.DataKey, "masterKey", st.MasterKey)
	pause.Wake(s.resealing.wake)
	return st, nil
}

// FileEnvelope makes the key of a dump or a backup; ok is false for a store in clear.
func (s *Store) FileEnvelope(ctx context.Context) (e atrest.Envelope, ok bool, err error) {
	if s.ring == nil {
		return e, false, nil
	}
	if e, err = s.ring.FileEnvelope(ctx); errors.Is(err, atrest.ErrKey) {
		err = core.Errorf(core.CodeConflict, "%s", err)
	}
	return e, true, err
}

const (
	// resealKeys and resealBytes bound what is sealed anew in a transaction, so that requests do not wait for it for long.
	resealKeys  = 256
	resealBytes = 256 << 10
	// resealRetry is the time between two tries after a failure, such as a full disk.
	resealRetry = time.Minute
)

// reseal seals records by the current data key while there are others, and drops those then.
func (s *Store) reseal() {
	defer s.wg.Done()
	tick := make(chan struct{}, 1)
	for {
		if s.ring.Status().DataKeys > 1 {
			err := s.resealAll(s.closing)
			s.resealing.mu.Lock()
			s.resealing.failed = ""
			if err != nil && s.closing.Err() == nil {
				s.resealing.failed = oneLine(err.Error())
				s.log.Error("records are still sealed by a former data key; this is tried again", "error", s.resealing.failed)
				s.opts.Clock.AfterFunc(resealRetry, func() { pause.Wake(tick) })
			}
			s.resealing.mu.Unlock()
		}
		select {
		case <-s.closing.Done():
			return
		case <-s.resealing.wake:
		case <-tick:
		}
	}
}

// resealAll goes over all records until it finds none of a former data key: a batch may have begun before the key changed.
func (s *Store) resealAll(ctx context.Context) error {
	for round := 0; ; round++ {
		found, err := s.resealRound(ctx, round == 0)
		if err != nil {
			return err
		}
		if found == 0 {
			break
		}
	}
	if err := s.ring.Drop(); err != nil {
		return err
	}
	s.log.Info("all records are sealed by the present data key", "dataKey", s.ring.Status().DataKey)
	return nil
}

// resealRound goes over the records once. In the first round it counts them before.
func (s *Store) resealRound(ctx context.Context, first bool) (found int64, err error) {
	r := &s.resealing
	if first {
		var total int64
		err := s.view(ctx, func(txn kv.Snapshot) error {
			return scan(txn, nil, nil, false, func(_, _ []byte) (bool, error) {
				total++
				return true, s.closing.Err()
			})
		})
		if err != nil {
			return 0, err
		}
		r.mu.Lock()
		r.done, r.total = 0, total
		r.mu.Unlock()
	}
	var from []byte
	for {
		keys, looked, next, err := s.staleKeys(ctx, from)
		if err != nil {
			return found, err
		}
		unopened := 0
		if len(keys) > 0 {
			if unopened, err = s.resealKeys(ctx, keys); err != nil {
				return found, err
			}
		}
		found += int64(len(keys) - unopened)
		if first {
			r.mu.Lock()
			r.done = min(r.done+looked, r.total)
			r.mu.Unlock()
		}
		if next == nil {
			return found, nil
		}
		from = next
	}
}

// maxLook bounds how many keys are looked at under one snapshot.
const maxLook = 4096

// staleKeys returns keys whose values are sealed by a former data key, how many were looked at, and where to go on; nil at the end.
func (s *Store) staleKeys(ctx context.Context, from []byte) (keys [][]byte, looked int64, next []byte, err error) {
	err = s.view(ctx, func(txn kv.Snapshot) error {
		it := txn.Iterate(nil, false)
		defer it.Close()
		if from == nil {
			from = []byte{0}
		}
		it.Seek(from)
		size := int64(0)
		db, ok := s.db.(*atrest.DB)
		if !ok {
			return errors.New("the store is in clear")
		}
		for ; ; it.Next() {
			key, ok := it.Key()
			if !ok {
				return nil
			}
			if len(keys) >= resealKeys || size >= resealBytes || looked >= maxLook {
				next = slices.Clone(key)
				return nil
			}
			looked++
			stale, err := db.Stale(it)
			if err != nil {
				return err
			}
			if stale {
				keys = append(keys, slices.Clone(key))
				size += it.Size()
			}
		}
	})
	return keys, looked, next, err
}

// resealKeys writes values again as they are. unopened is the number of those that cannot be read, and stay.
func (s *Store) resealKeys(ctx context.Context, keys [][]byte) (unopened int, err error) {
	err = s.update(ctx, true, func(t *tx) error {
		unopened = 0 // it may run twice
		for _, key := range keys {
			value, err := t.get(key)
			switch {
			case err != nil:
				return err
			case atrest.Unopened(value):
				unopened++
			case value != nil:
				if err := t.set(t.take(func(b []byte) []byte { return append(b, key...) }), value); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return unopened, err
}
