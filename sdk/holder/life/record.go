package life

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/wardroom/wardroom/sdk/internal/durable"
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
