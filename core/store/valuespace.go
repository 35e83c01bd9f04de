package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// valueSlack is what is reserved of a value log file beyond what is about to be written: heads and sums of entries.
const valueSlack = 1 << 20

// valueSpace sees to it that the file of the value log which is written has blocks for what is about to be written
// there: it is memory-mapped and made of holes, and a write to a hole on a full disk ends the process. The zero value,
// but for dir, is ready. It is used by one goroutine at a time.
type valueSpace struct {
	dir  string
	file string // that was written last
	used int64  // at most; what was written there, as far as we know
	upTo int64  // it has blocks up to here
	// moved counts what a collection may have moved to the file.
	moved func() int64
}

// reserve gives blocks for so many bytes of large values.
func (v *valueSpace) reserve(bytes int64) error {
	if bytes == 0 {
		return nil
	}
	entries, err := os.ReadDir(v.dir)
	if err != nil {
		return fmt.Errorf("reserve space for large values: %w", err)
	}
	newest := ""
	for _, entry := range entries {
		if name := entry.Name(); strings.HasSuffix(name, ".vlog") && name > newest { // numbers of six digits
			newest = name
		}
	}
	if newest == "" {
		return nil
	}
	if newest != v.file {
		v.file, v.used, v.upTo = newest, 0, 0
	}
	if v.moved != nil {
		v.used += v.moved()
	}
	need := v.used + bytes + valueSlack
	if need <= v.upTo {
		return nil
	}
	f, err := os.OpenFile(filepath.Join(v.dir, newest), os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("reserve space for large values: %w", err)
	}
	info, err := f.Stat()
	if err == nil && info.Size() > 0 {
		// used may be more than what was written. Badger maps a file as a whole, and begins another one before its end.
		err = allocate(f, min(need, info.Size()))
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("reserve space for large values: %w", err)
	}
	v.upTo = need
	return nil
}

// wrote says that so many bytes were written.
func (v *valueSpace) wrote(bytes int64) { v.used += bytes }
