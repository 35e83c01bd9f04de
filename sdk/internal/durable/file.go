package durable

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// WriteFile replaces path with data, readable by the owner only. The content survives the end of the process
// once WriteFile returns, and a crash of the machine if sync is set.
func WriteFile(path string, data []byte, sync bool) error {
	dir := filepath.Dir(path)
	tmp, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*.tmp") // mode 0600
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	if err == nil && sync {
		err = tmp.Sync()
	}
	if e := tmp.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
		return err
	}
	if sync {
		return SyncDir(dir)
	}
	return nil
}

// SyncDir makes the names in a directory durable.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Swept reports whether a name in a directory is that of a file which an interrupted WriteFile left behind.
func Swept(name string) bool {
	return len(name) > 5 && name[0] == '.' && filepath.Ext(name) == ".tmp"
}

// ReadFile reads a file of at most limit bytes. A larger one is an error, not a part.
func ReadFile(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, &os.PathError{Op: "read", Path: path, Err: errTooLarge}
	}
	return data, nil
}

var errTooLarge = errors.New("larger than it can be")
