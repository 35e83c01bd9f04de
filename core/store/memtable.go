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
	size, err := largestMemTable(opts.Dir)
	if err != nil || size <= opts.MemTableSize {
		return err
	}
	logger.Info("writing out what a larger memtable held when the store was not closed", "bytes", size)
	db, err := badger.Open(opts.WithMemTableSize(size))
	if err != nil {
		return err
	}
	return db.Close()
}

// largestMemTable returns the size of the largest memtable that has a log. Badger gives a log twice its size.
func largestMemTable(path string) (size int64, err error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return 0, fmt.Errorf("store: look for logs: %w", err)
	}
	for _, entry := range entries {
		if filepath.Ext(entry.Name()) != ".mem" {
			continue
		}
		if info, err := entry.Info(); err == nil { // gone meanwhile: it is another process' log
			size = max(size, info.Size()/2)
		}
	}
	return size, nil
}
