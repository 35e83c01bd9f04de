package pluginhost

import (
	"os"
	"path/filepath"
)

// writeAtomic replaces a file so that a reader, and a machine that loses power, sees the old one or the new one.
func writeAtomic(path string, data []byte, mode os.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return commit(f, path, mode, err)
}

// commit makes a temporary file the one at path, or removes it when err is set.
func commit(f *os.File, path string, mode os.FileMode, err error) error {
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
		return err
	}
	return syncDir(filepath.Dir(path))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }() // only synced
	return d.Sync()
}
