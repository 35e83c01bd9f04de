package store

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/hashicorp/go-hclog"
)

// removeLeftovers removes write-ahead and value logs without a byte in them. Badger makes such a file before
// it gives it a size, and empties one before it removes it; a crash in between leaves it, and Badger refuses
// to open the store then. It holds nothing: it was never written, or all that was in it is in tables.
//
// It works under Badger's own lock on the directory, because an empty log of a running store is one that is
// being made. When another process holds the lock, it does nothing and lets Badger say so.
func removeLeftovers(path string, logger hclog.Logger) error {
	unlock, locked, err := lockDir(path)
	if err != nil {
		return fmt.Errorf("store: lock %s: %w", path, err)
	}
	if !locked {
		return nil
	}
	defer unlock()
	entries, err := os.ReadDir(path)
	if err != nil {
		return fmt.Errorf("store: look for empty logs: %w", err)
	}
	for _, entry := range entries {
		if ext := filepath.Ext(entry.Name()); ext != ".mem" && ext != ".vlog" {
			continue
		}
		info, err := entry.Info()
		if err != nil || !info.Mode().IsRegular() || info.Size() > 0 {
			continue // if something is wrong with it, Badger says so
		}
		logger.Info("removing an empty log that a crash left", "file", entry.Name())
		if err := os.Remove(filepath.Join(path, entry.Name())); err != nil {
			return fmt.Errorf("store: remove an empty log that a crash left: %w", err)
		}
	}
	return nil
}
