package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// system are directories that no agent works in unless they are listed as roots.
var system = []string{"/etc", "/proc", "/sys", "/dev", "/run", "/boot", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/usr", "/var/run"}

func notAllowed(hint, format string, args ...any) error {
	return &runtime.Error{Code: runtime.CodeWorkdirNotAllowed, Field: "workdir", Message: fmt.Sprintf(format, args...), Hint: hint}
}

// workdir checks the directory that a caller wants an agent to work in, and returns its real path.
func (l *Launcher) workdir(path string) (string, error) {
	if !filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
		return "", notAllowed("give the whole path", "%q is not an absolute path", path)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return "", notAllowed("make it first, or leave workdir out for a fresh directory", "%s does not exist", path)
		}
		return "", notAllowed("the service's user needs access to it", "%s cannot be reached: %v", path, errors.Unwrap(err))
	}
	info, err := os.Stat(real)
	if err != nil || !info.IsDir() {
		return "", notAllowed("", "%s is not a directory", path)
	}
	// A work directory that cannot be read, or entered, is of no use; one that cannot be written may be.
	if err := unix.Access(real, unix.R_OK|unix.X_OK); err != nil {
		return "", notAllowed("the service's user needs to read and enter it", "%s cannot be read: %v", path, err)
	}
	if err := l.permitted(real); err != nil {
		return "", err
	}
	return real, nil
}

// permitted tells whether a real path may be a work directory.
func (l *Launcher) permitted(real string) error {
	for _, dir := range []string{l.opts.StateDir, l.rooms(), l.opts.RunDir} {
		if dir, err := filepath.EvalSymlinks(dir); err == nil && within(real, dir) {
			return notAllowed("choose a directory apart from it", "%s belongs to the runtime's own state", real)
		}
	}
	for _, dir := range l.opts.Private {
		if dir, err := filepath.EvalSymlinks(dir); err == nil && within(real, dir) && !l.provided(real) {
			return notAllowed("choose a directory apart from it", "%s belongs to the service's own state", real)
		}
	}
	if len(l.opts.Workdirs) == 0 {
		if real == "/" || slices.ContainsFunc(system, func(dir string) bool { return within(real, dir) }) {
			return notAllowed("list it in the runtime's configuration (workdirs) if that is meant", "%s belongs to the system", real)
		}
		return nil
	}
	for _, root := range l.opts.Workdirs {
		// Resolved each time: what a root leads to may change while the service runs.
		if dir, err := filepath.EvalSymlinks(root); err == nil && within(real, dir) {
			return nil
		}
	}
	return notAllowed("add its root to the runtime's configuration (workdirs)", "%s is in none of the directories that are allowed", real)
}

// within tells whether path is dir or below it. Both are clean.
func within(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}
