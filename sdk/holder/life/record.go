package life

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/wardroom/wardroom/sdk/internal/durable"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// WriteRecord replaces the record of a life at path, which outlives a crash of the machine once it returns: what the record names
// may run on elsewhere. Calls for the same path may overlap.
func WriteRecord(path string, data []byte) error { return durable.WriteFile(path, data, true) }

// SweepRecords removes from a directory what interrupted calls of WriteRecord left there. None may be under way.
func SweepRecords(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		if durable.Swept(entry.Name()) {
			err = errors.Join(err, os.Remove(filepath.Join(dir, entry.Name())))
		}
	}
	return err
}

// NoRecord reports whether an error of reading a record is that there is none, or none of a known form. With any other, such as
// that of a process that has no descriptor left, the life that it names may run.
func NoRecord(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || runtime.ErrorCode(err) == runtime.CodeInvalidHandle
}

// Unread returns the error for the record of an agent that cannot be read. INTERNAL.
func Unread(id string, err error) error {
	return runtime.Errorf(runtime.CodeInternal, "what is stored of agent %s cannot be read: %v", id, err)
}
