package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dgraph-io/badger/v4"

	"github.com/wardroom/wardroom/core/internal/atomicfile"
	"github.com/wardroom/wardroom/core/store/atrest"
	"github.com/wardroom/wardroom/core/store/kv"
)

// A store in clear is encrypted by a copy: files of a database keep what was overwritten until they are merged, so that only new
// files are sure to hold nothing in clear. The copy lies in a directory below the store, whose name says how far it is. Each
// step is one rename, or may be done again:
//
//	encrypting          the copy grows; after a crash it goes on behind its last key
//	encrypting-whole    the copy is whole, proved and on disk; the files in clear are being removed
//	encrypting-moving   they are gone; those of the copy are being moved to where they were
//	encrypting-done     all are there; the directory is being removed
const (
	convertDir    = "encrypting"
	convertWhole  = convertDir + "-whole"
	convertMoving = convertDir + "-moving"
	convertDone   = convertDir + "-done"
)

// convert encrypts the store at opts.Path, which no process uses, and puts it in the place of the one in clear.
func convert(ctx context.Context, opts Options) error {
	dir := filepath.Join(opts.Path, convertDir)
	if err := roomToConvert(opts); err != nil {
		return err
	}
	ring, err := readRing(ctx, dir, opts.Encryption)
	if err == nil && ring == nil {
		_, err = atrest.NewEnvelope(ctx, opts.Encryption.Source) // the key is there, before anything is touched
	}
	if err != nil {
		return err
	}
	from, err := openBadger(opts.Path, nil, opts.Logger) // which also keeps others out
	if err != nil {
		return err
	}
	if ring == nil {
		if ring, err = opts.Encryption.makeRing(ctx, dir, opts.Clock.Now()); err != nil {
			return errors.Join(err, from.Close())
		}
	}
	to, err := openBadger(dir, ring, opts.Logger)
	if err != nil {
		return errors.Join(err, from.Close())
	}
	opts.Logger.Info("the store is being encrypted; a start after a crash goes on with it")
	values := &valueSpace{dir: dir}
	err = copyRecords(ctx, from, to, values, opts.Encryption.Progress)
	if err == nil {
		err = sameRecords(ctx, from, to)
	}
	// What it was copied from is closed last, as its lock keeps others out.
	err = errors.Join(err, to.Close())
	if err == nil {
		err = syncFiles(dir)
	}
	if err == nil {
		if err = os.Rename(dir, filepath.Join(opts.Path, convertWhole)); err == nil {
			err = syncPath(opts.Path)
		}
	}
	if err = errors.Join(err, from.Close()); err != nil {
		return err
	}
	if err := finishConversion(opts.Path, nil); err != nil {
		return err
	}
	opts.Logger.Info("the store is encrypted")
	return nil
}

// roomToConvert refuses to begin, or go on, where the copy has no room beside what is there.
func roomToConvert(opts Options) error {
	sizeOf := func(dir string) (n uint64) {
		for _, ext := range []string{"*.sst", "*.vlog", "*.mem"} {
			files, _ := filepath.Glob(filepath.Join(dir, ext)) // the pattern is good
			for _, file := range files {
				if info, err := os.Stat(file); err == nil {
					n += uint64(blocksOf(info))
				}
			}
		}
		return n
	}
	free, err := opts.DiskFree(opts.Path)
	if err != nil {
		return fmt.Errorf("free space: %w", err)
	}
	size, have := sizeOf(opts.Path), sizeOf(filepath.Join(opts.Path, convertDir))
	// Sealed values do not compress.
	need := max(2*size, have) - have + opts.MinFreeBytes
	if free < need {
		return fmt.Errorf("%d MiB are free on disk, and %d MiB are needed to copy the store: nothing was changed; free some space, "+
			"or start without security.encryption.atRest", free>>20, need>>20)
	}
	return nil
}

// copyRecords copies what is behind the last key of a copy.
func copyRecords(ctx context.Context, from, to kv.DB, values *valueSpace, progress func(done, total int64)) error {
	txn := from.Snapshot()
	defer txn.Discard()
	var done, total int64
	err := scan(txn, nil, nil, false, func(_, _ []byte) (bool, error) {
		total++
		return true, ctx.Err()
	})
	if err != nil {
		return err
	}
	last, done, err := lastKey(ctx, to)
	if err != nil {
		return err
	}
	tell := func() {
		if progress != nil {
			progress(min(done, total), total)
		}
	}
	tell()
	load := newBulk(to, values)
	load.wrote = func(records int) {
		done += int64(records)
		tell()
	}
	err = scan(txn, nil, last, true, func(key, value []byte) (bool, error) {
		if bytes.Equal(key, last) {
			return true, nil
		}
		return true, errors.Join(load.put(key, value), ctx.Err())
	})
	if err != nil {
		return err
	}
	return load.flush()
}

// lastKey returns the last key, nil when there is none, and how many there are.
func lastKey(ctx context.Context, db kv.DB) (last []byte, n int64, err error) {
	txn := db.Snapshot()
	defer txn.Discard()
	err = scan(txn, nil, nil, false, func(key, _ []byte) (bool, error) {
		last = append(last[:0], key...)
		n++
		return true, ctx.Err()
	})
	return last, n, err
}

// sameRecords proves that a copy reads as what it was made of.
func sameRecords(ctx context.Context, from, to kv.DB) error {
	here, there := from.Snapshot(), to.Snapshot()
	defer here.Discard()
	defer there.Discard()
	other := there.Iterate(nil, false)
	defer other.Close()
	other.Seek([]byte{0})
	differs := errors.New("the copy is not what it was made of, and was not used: remove the directory " + convertDir + " in the store's, and start again")
	err := scan(here, nil, nil, true, func(key, value []byte) (bool, error) {
		copied, ok := other.Key()
		if !ok || !bytes.Equal(copied, key) {
			return false, differs
		}
		err := other.Value(func(v []byte) error {
			if !bytes.Equal(v, value) {
				return differs
			}
			return nil
		})
		other.Next()
		return true, errors.Join(err, ctx.Err())
	})
	if err != nil {
		return err
	}
	if _, more := other.Key(); more {
		return differs
	}
	return nil
}

// finishConversion goes on where a conversion stopped after its copy was whole. Safe to call at any time on a store that is not
// open. step, for tests, is called before each change.
func finishConversion(path string, step func() error) error {
	if step == nil {
		step = func() error { return nil }
	}
	there := func(name string) bool {
		_, err := os.Stat(filepath.Join(path, name))
		return err == nil
	}
	if !there(convertWhole) && !there(convertMoving) && !there(convertDone) {
		return nil
	}
	unlock, locked, err := lockDir(path)
	if err != nil {
		return err
	}
	if !locked {
		return nil // whoever has it is at it; Badger says who
	}
	defer unlock()
	rename := func(from, to string) error {
		if err := step(); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(path, from), filepath.Join(path, to)); err != nil {
			return err
		}
		return atomicfile.SyncDir(path)
	}
	if there(convertWhole) {
		if err := eachFile(path, isDatabaseFile, func(name string) error {
			if err := step(); err != nil {
				return err
			}
			return os.Remove(filepath.Join(path, name))
		}); err != nil {
			return err
		}
		if err := errors.Join(atomicfile.SyncDir(path), rename(convertWhole, convertMoving)); err != nil {
			return err
		}
	}
	if there(convertMoving) {
		from := filepath.Join(path, convertMoving)
		if err := eachFile(from, func(name string) bool { return name == RingFile || isDatabaseFile(name) }, func(name string) error {
			if err := step(); err != nil {
				return err
			}
			return os.Rename(filepath.Join(from, name), filepath.Join(path, name))
		}); err != nil {
			return err
		}
		if err := errors.Join(atomicfile.SyncDir(path), rename(convertMoving, convertDone)); err != nil {
			return err
		}
	}
	if err := step(); err != nil {
		return err
	}
	return os.RemoveAll(filepath.Join(path, convertDone))
}

// isDatabaseFile reports whether a file of a store's directory is Badger's.
func isDatabaseFile(name string) bool {
	switch filepath.Ext(name) {
	case ".sst", ".vlog", ".mem":
		return true
	}
	return name == badger.ManifestFilename || name == badger.KeyRegistryFileName || name == discardFile
}

func eachFile(dir string, which func(name string) bool, fn func(name string) error) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !entry.Type().IsRegular() || !which(entry.Name()) {
			continue
		}
		if err := fn(entry.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// dropConversion removes a copy that was begun, of a store that is to stay in clear. One that another process makes stays.
func dropConversion(path string) error {
	unlock, locked, err := lockDir(path)
	if err != nil || !locked {
		return err // Badger reports it
	}
	defer unlock()
	return os.RemoveAll(filepath.Join(path, convertDir))
}
