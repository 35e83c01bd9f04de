package store

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/dgraph-io/badger/v4"
	"github.com/hashicorp/go-hclog"
)

// flushLarger opens and closes a store that was not closed and whose memtables were larger than ours, as an earlier
// version had them: Badger reads the log of a memtable into one of the size that is asked for, and panics if it does
// not fit. Closing makes files of them.
func flushLarger(opts badger.Options, logger hclog.Logger) error {
	size, err := largestLog(opts.Dir)
	// Badger gives a log twice the size of its memtable. One that is no larger than a memtable fits in any case.
	if err != nil || size <= opts.MemTableSize || size == 2*opts.MemTableSize {
		return err
	}
	logger.Info("writing out what a larger memtable held when the store was not closed", "bytes", size)
	db, err := badger.Open(opts.WithMemTableSize(size))
	if err != nil {
		return err
	}
	return db.Close()
}

// largestLog returns the size of the largest log of a memtable; a memtable of that size holds what is in it.
func largestLog(path string) (size int64, err error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return 0, fmt.Errorf("store: look for logs: %w", err)
	}
	for _, entry := range entries {
		if filepath.Ext(entry.Name()) != ".mem" {
			continue
		}
		if info, err := entry.Info(); err == nil { // gone meanwhile: it is another process' log
			size = max(size, info.Size())
		}
	}
	return size, nil
}
