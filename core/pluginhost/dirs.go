package pluginhost

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// A plugin has a directory of its own in each of the host's. Its key-value store is apart from them: the host
// alone writes there.

// stateDir makes and returns the directory for what a plugin keeps.
func (h *Host) stateDir(plugin string) (string, error) {
	return private(filepath.Join(h.opts.StateDir, "data", plugin))
}

// runDir makes and returns the directory for a plugin's own sockets.
func (h *Host) runDir(plugin string) (string, error) {
	return private(filepath.Join(h.opts.RunDir, "run", plugin))
}

// kvFile is where the key-value store of a plugin is.
func (h *Host) kvFile(plugin string) string {
	return filepath.Join(h.opts.StateDir, "kv", plugin+".json")
}

// private makes a directory for this user alone.
func private(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o700)
}

// MakeDir makes a directory of plugins, and those above it, unless it is there. The service can look into what is made, whatever
// umask who installs has.
func MakeDir(dir string) error {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	err := os.Mkdir(dir, 0o755)
	if above := filepath.Dir(dir); errors.Is(err, fs.ErrNotExist) && above != dir {
		if err := MakeDir(above); err != nil {
			return err
		}
		err = os.Mkdir(dir, 0o755) // some file systems take no directory and have no other error for it
	}
	if err != nil {
		return err
	}
	return os.Chmod(dir, 0o755)
}
