package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core/store/atrest"
	"github.com/wardroom/wardroom/core/store/kv"
)

// Restore makes a store at dir from a dump. dir must be empty or not exist. The store is built beside it
// and takes the name only once the dump proved whole and everything is on disk, so a failure or a crash
// leaves nothing at dir. With encryption the store is encrypted. An older schema is migrated at the next Open; a newer one is refused.
func Restore(ctx context.Context, r io.Reader, dir string, encryption *Encryption, progress func(records uint64)) (Summary, error) {
	var sum Summary
	dir, err := filepath.Abs(dir)
	if err != nil {
		return sum, fmt.Errorf("store: restore: %w", err)
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return sum, fmt.Errorf("store: restore: %s is not empty: restore into a new directory and then switch to it", dir)
	} else if err != nil && !errors.Is(err, os.ErrNotExist) {
		return sum, fmt.Errorf("store: restore: %w", err)
	}
	parent := filepath.Dir(dir)
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return sum, fmt.Errorf("store: restore: %w", err)
	}
	if err := clearRestores(dir); err != nil {
		return sum, fmt.Errorf("store: restore: clear away what one before left: %w", err)
	}
	temp, err := os.MkdirTemp(parent, filepath.Base(dir)+restoreInfix)
	if err != nil {
		return sum, fmt.Errorf("store: restore: %w", err)
	}
	sum, err = restoreInto(ctx, r, temp, encryption, progress)
	if err == nil {
		err = takePlace(temp, dir)
	}
	if err != nil {
		return sum, fmt.Errorf("store: restore: %w", errors.Join(err, os.RemoveAll(temp)))
	}
	return sum, nil
}

// restoreInfix follows the name of the store in that of a directory in which one is made.
const restoreInfix = ".restore-"

// clearRestores removes what restores into dir that were killed left beside it.
func clearRestores(dir string) error {
	entries, err := os.ReadDir(filepath.Dir(dir))
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if number, ok := strings.CutPrefix(entry.Name(), filepath.Base(dir)+restoreInfix); !ok || !entry.IsDir() || strings.Trim(number, "0123456789") != "" {
			continue
		}
		if err := os.RemoveAll(filepath.Join(filepath.Dir(dir), entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

func restoreInto(ctx context.Context, r io.Reader, dir string, encryption *Encryption, progress func(uint64)) (Summary, error) {
	if err := roomToRestore(dir, 0); err != nil {
		return Summary{}, err
	}
	var ring *atrest.Ring
	if encryption != nil {
		var err error
		if ring, err = encryption.makeRing(ctx, dir, time.Now()); err != nil {
			return Summary{}, err
		}
	}
	// Nothing counts before the last rename, so syncing each commit would only cost time: closing the
	// database syncs its files.
	opened, err := badger.Open(badgerOptions(dir, tableKey(ring), hclog.NewNullLogger()).WithSyncWrites(false))
	if err != nil {
		return Summary{}, err
	}
	db := sealed(badgerDB{opened}, ring)
	load := newBulk(db, &valueSpace{dir: dir})
	load.room = func(bytes int64) error { return roomToRestore(dir, bytes) }
	sum, err := decodeDump(r, progress, func(key, value []byte) error {
		return errors.Join(load.put(key, value), ctx.Err())
	})
	if err == nil {
		err = load.flush()
	}
	if err == nil {
		err = checkRestored(db, sum)
	}
	return sum, errors.Join(err, db.Close())
}

// restoreFree is how many bytes a restore leaves free: the database writes through memory maps what it was given before, and on a
// full disk that would kill the process.
const restoreFree = 96 << 20

func roomToRestore(dir string, bytes int64) error {
	free, err := diskFree(dir)
	if err != nil {
		return fmt.Errorf("free space: %w", err)
	}
	if need := restoreFree + uint64(bytes); free < need {
		return fmt.Errorf("the disk is full: %d MiB are free, and %d MiB needed to go on; free some space, or restore to a larger disk", free>>20, need>>20)
	}
	return nil
}

// checkRestored refuses a dump whose records could not be a store of ours.
func checkRestored(db kv.DB, sum Summary) error {
	have, err := readSchema(db)
	switch known := schemaVersion(migrations); {
	case err != nil:
		return err
	case have != sum.Schema || have == 0:
		return fmt.Errorf("%w: its header says schema version %d, its records say %d", ErrDump, sum.Schema, have)
	case have > known:
		return fmt.Errorf("the dump has schema version %d, but this program knows versions up to %d", have, known)
	}
	return nil
}

// takePlace gives the finished directory its name and makes the name durable.
func takePlace(temp, dir string) error {
	if err := syncFiles(temp); err != nil {
		return err
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.Rename(temp, dir); err != nil {
		return err
	}
	return syncPath(filepath.Dir(dir))
}

// syncFiles syncs the files of a directory and the directory itself.
func syncFiles(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := syncPath(filepath.Join(dir, entry.Name())); err != nil {
			return err
		}
	}
	return syncPath(dir)
}

func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
