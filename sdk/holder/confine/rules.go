package confine

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// MinABI is the first version of Landlock that Rules with directories work with: in the one before it no file can be
// moved from one directory to another, which package managers and compilers do.
const MinABI = 2

// Rules say what a command is kept from. The zero value keeps it from nothing but new privileges.
type Rules struct {
	// Landlock puts the command into a domain of its own: it cannot trace, nor look into the memory or the environment
	// of, processes outside of it, and cannot signal them or reach their abstract sockets where the kernel knows that.
	Landlock bool
	// Shut are real paths of what the command may neither read, list, change nor run, with all that is below. Open and
	// Readable are what it may use all the same; Readable without changing it. Everything else stays as its user may use
	// it, with this exception: where a directory leads to a shut one, it cannot be listed, and what is made in it after
	// the start, or directly in it by the command, cannot be used, because Landlock knows rules that allow and none that
	// deny. Needs Landlock; none: the file system is as it is, and the command may mount.
	Shut, Open, Readable []string
}

// maxEntries bounds how many entries of directories that lead to a shut one get a rule; what is beyond is shut too.
const maxEntries = 1 << 15

// errEntries says that there are more.
var errEntries = errors.New("too many files beside the directories that are shut")

// allowed calls add for every path that a command may use in full: all that leads to nothing shut. The error is that
// of a directory that cannot be read, and the rest is left out.
func allowed(shut []string, add func(path string)) error {
	left := maxEntries
	var walk func(dir string) error
	walk = func(dir string) error {
		if leads, whole := toward(dir, shut); whole {
			return nil
		} else if !leads {
			add(dir)
			return nil
		}
		d, err := os.Open(dir)
		if err != nil {
			return err
		}
		defer func() { _ = d.Close() }() // only read from
		for {
			entries, err := d.ReadDir(512)
			for _, entry := range entries {
				if left--; left < 0 {
					return errEntries
				}
				path := filepath.Join(dir, entry.Name())
				switch {
				case entry.Type()&(os.ModeSymlink|os.ModeSocket) != 0: // what a link leads to has its own rule
				case entry.Type()&os.ModeDevice != 0 && entry.Type()&os.ModeCharDevice == 0:
					// A disk holds all files, whatever their rights are.
				default:
					if err := walk(path); err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, os.ErrPermission) {
						return err
					}
				}
			}
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
		}
	}
	return walk("/")
}

// toward reports whether something shut lies below a path, or the path itself is shut.
func toward(path string, shut []string) (leads, whole bool) {
	for _, dir := range shut {
		if Within(path, dir) {
			return false, true
		}
		leads = leads || Within(dir, path)
	}
	return leads, false
}

// Within reports whether path is dir or below it. Both are clean and absolute.
func Within(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}
