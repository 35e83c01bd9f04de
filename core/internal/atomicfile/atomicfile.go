// Package atomicfile replaces files at once: a reader, and a machine that loses power, sees the old content or the
// new one.
//
// It does not lock, and makes no directories. Services of core call it; sdk/internal/durable is the sdk's own, which
// third parties get without core.
package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
)

// Write replaces the file at path. Its new name may be lost with the power; SyncDir keeps it.
func Write(path string, data []byte, mode os.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return Commit(f, path, mode, err)
}

// Commit closes a temporary file in the directory of path and makes it the one at path, or removes it if err, which
// is then returned, or anything it does fails.
func Commit(f *os.File, path string, mode os.FileMode, err error) error {
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // what remains of the failure
	}
	return err
}

// SyncDir makes the names in a directory durable.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
