package scaffold

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/wardroom/wardroom/core"
)

// write makes a directory with files, all or nothing.
func write(dir string, files map[string]string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return core.Invalid("dir", "%s is not a directory that can be read", dir)
	case len(entries) > 0:
		return core.Conflict("directory", dir, "", "%s is not empty; choose another directory", dir)
	}
	failed := func(err error) error {
		return core.Errorf(core.CodeForbidden, "%s cannot be made: %s", dir, reason(err)).WithCause(err)
	}
	parent := filepath.Dir(filepath.Clean(dir))
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return failed(err)
	}
	temp, err := os.MkdirTemp(parent, ".new-*")
	if err != nil {
		return failed(err)
	}
	defer func() { _ = os.RemoveAll(temp) }() // nothing, after the rename
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(temp, name), []byte(text), 0o644); err != nil {
			return failed(err)
		}
	}
	if err := os.Chmod(temp, 0o755); err != nil {
		return failed(err)
	}
	// Renaming takes the place of an empty directory, and of no other.
	if err := os.Rename(temp, dir); err != nil {
		return failed(err)
	}
	return nil
}

// reason is the innermost text of an error, without the path, which the caller names.
func reason(err error) string {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err.Error()
}
