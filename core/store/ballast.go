package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/dgraph-io/badger/v4"

	"github.com/wardroom/wardroom/core/store/atrest"
	"github.com/wardroom/wardroom/core/store/kv"
)

// The ballast is a file of twice openFree bytes that holds nothing. Opening the database writes tables through memory maps
// after a crash, and on a full disk that would kill the process without a word: so on a full disk the ballast is
// removed first, the store opens in the room it leaves and takes no writes, and the ballast comes back once there is
// room again. It is enough for a second start, should the first one end in a crash. Where it is not there, the store is opened for reading only.

const ballastFile = "reserve"

// openFree is the space that opening needs.
const openFree = 32 << 20

// roomToOpen returns the space that opening needs, of a store with that budget. Twice as much is less than the budget, so
// that a store that opens in the room of the ballast takes no writes.
func roomToOpen(minFree uint64) uint64 { return min(openFree, minFree/8*3) }

// makeRoom drops the ballast if the file system has not the room that opening needs, and reports whether it has now.
func makeRoom(opts Options) (bool, error) {
	need := roomToOpen(opts.MinFreeBytes)
	free, err := opts.DiskFree(opts.Path)
	if err != nil {
		return false, fmt.Errorf("store: space of %s: %w", opts.Path, err)
	}
	if free >= need {
		return true, nil
	}
	ballast := filepath.Join(opts.Path, ballastFile)
	if err := os.Remove(ballast); errors.Is(err, os.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("store: make room: %w", err)
	}
	opts.Logger.Warn("the disk is full: the store opens in the room that was kept for it", "free", free, "needed", need)
	free, err = opts.DiskFree(opts.Path)
	if err != nil {
		return false, fmt.Errorf("store: space of %s: %w", opts.Path, err)
	}
	return free >= need, nil
}

// layBallast makes the ballast if it is not there and leaves room for writes. Failures are no reason to stop: without
// it the store works as well as before.
func (s *Store) layBallast() {
	if s.opts.Path == "" || s.ballast.Load() {
		return
	}
	need := 2 * roomToOpen(s.opts.MinFreeBytes)
	if !s.space.roomFor(need) {
		return
	}
	path := filepath.Join(s.opts.Path, ballastFile)
	if info, err := os.Stat(path); err == nil && uint64(info.Size()) == need {
		s.ballast.Store(true)
		return
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err == nil {
		err = errors.Join(allocate(f, int64(need)), f.Truncate(int64(need)), f.Close())
	}
	if err != nil {
		s.log.Debug("no room can be kept for a start on a full disk", "error", errors.Join(err, os.Remove(path)))
		return
	}
	s.ballast.Store(true)
}

// dropBallast gives the room of the ballast to what makes room; it is made again once there is some.
func (s *Store) dropBallast() {
	if err := os.Remove(filepath.Join(s.opts.Path, ballastFile)); err == nil {
		s.measure()
		s.space.settle()
	}
	s.ballast.Store(false)
}

// closeDB closes the database if there is room for the tables that its memtables become: they are written through memory
// maps, and on a full disk that would kill the process amid its end. The ballast is given up for them. Without room the
// database is left as a crash leaves it: the logs of the memtables hold all that was acknowledged, and the next start reads
// them. The caller holds dbMu.
func (s *Store) closeDB() error {
	if db := badgerOf(s.db); db == nil || db.Opts().ReadOnly {
		return s.db.Close()
	}
	logs, err := filepath.Glob(filepath.Join(s.opts.Path, "*.mem"))
	if err != nil {
		return err
	}
	// A table may be larger than what it is made of, by the index and where nothing compresses.
	need := uint64(len(logs)) * 2 * memTable
	free, err := s.opts.DiskFree(s.opts.Path)
	if err == nil && free < need {
		s.dropBallast()
		free, err = s.opts.DiskFree(s.opts.Path)
	}
	if err != nil || free < need {
		s.log.Warn("the disk is full: the store is left to the next start as it is", "free", free, "needed", need, "error", err)
		return nil
	}
	return s.db.Close()
}

// openFull opens a store on a full disk for reading only. The error is for the operator who starts the process.
func openFull(opts Options, ring *atrest.Ring) (kv.DB, error) {
	free, _ := opts.DiskFree(opts.Path) // it was asked a moment ago
	full := func(why error) error {
		return fmt.Errorf("store: open %s: %d MiB free on disk, %d MiB needed: free some space and start again%w",
			opts.Path, free>>20, roomToOpen(opts.MinFreeBytes)>>20, why)
	}
	for _, name := range []string{badger.ManifestFilename, discardFile} { // it would make them
		if _, err := os.Stat(filepath.Join(opts.Path, name)); err != nil {
			return nil, full(errNew)
		}
	}
	size, err := largestLog(opts.Path)
	if err == nil {
		err = errors.Join(removeLeftovers(opts.Path, opts.Logger), trimLogs(opts.Path, tableKey(ring), opts.Logger))
	}
	if err != nil {
		return nil, full(fmt.Errorf(": %w", err))
	}
	// What the logs hold is read into memory, and stays there: nothing is written. Badger keeps the files of the logs open
	// then, also after Close; they are empty once the database was opened for writing.
	db, err := badger.Open(badgerOptions(opts.Path, tableKey(ring), opts.Logger).WithReadOnly(true).WithMemTableSize(max(memTable, size)))
	if err != nil {
		return nil, full(fmt.Errorf(": %w", err))
	}
	layers, err := layered(db, ring)
	if err != nil {
		return nil, full(fmt.Errorf(": %w", err))
	}
	return layers, nil
}

var errNew = errors.New("; there is nothing to read in it yet")
