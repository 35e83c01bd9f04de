package scaffold

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/wardroom/wardroom/core"
)

// write makes a directory, all or nothing: fill puts its files into a temporary one that is renamed, or whose files move up into a
// directory that is there. The directory does not exist or is empty, but for former: where fill moves what is there now, to be removed
// at the end, or moved back.
func write(dir string, fill func(temp string) error, former string) error {
	entries, err := os.ReadDir(dir)
	there := err == nil && former == ""
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return core.Invalid("dir", "%s is not a directory that can be read", dir)
	case len(entries) > 0 && former == "":
		return core.Conflict("directory", dir, "", "%s is not empty; choose another directory", dir)
	}
	failed := func(err error) error {
		return core.Errorf(core.CodeForbidden, "%s cannot be made: %s", dir, reason(err)).WithCause(err)
	}
	parent := filepath.Dir(filepath.Clean(dir))
	if there { // it stays, as the one that somebody works in, or that a link leads to
		parent = dir
	}
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return failed(err)
	}
	temp, err := os.MkdirTemp(parent, ".new-*")
	if err != nil {
		return failed(err)
	}
	defer func() { _ = os.RemoveAll(temp) }() // nothing, after the rename
	if err := os.Chmod(temp, 0o755); err != nil {
		return failed(err)
	}
	if err := fill(temp); err != nil {
		return failed(err)
	}
	if there {
		if err := moveUp(temp, dir); err != nil {
			return failed(err)
		}
		return nil
	}
	if err := os.Rename(temp, dir); err != nil {
		if former != "" {
			_ = os.Rename(former, dir)
		}
		return failed(err)
	}
	if former != "" {
		if err := os.RemoveAll(former); err != nil {
			return failed(err)
		}
	}
	return nil
}

// moveUp moves what is in temp into the directory that temp is in.
func moveUp(temp, dir string) error {
	entries, err := os.ReadDir(temp)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := os.Rename(filepath.Join(temp, entry.Name()), filepath.Join(dir, entry.Name())); err != nil {
			return err
		}
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
