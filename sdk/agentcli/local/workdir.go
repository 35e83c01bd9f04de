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

// WorkdirNotAllowed is the error about a work directory that the caller may not have.
func WorkdirNotAllowed(hint, format string, args ...any) error {
	return &runtime.Error{Code: runtime.CodeWorkdirNotAllowed, Field: "workdir", Message: fmt.Sprintf(format, args...), Hint: hint}
}

// labelThread is the label of agents that the service starts for a thread. It lets nobody else give labels of its names.
const labelThread = "wardroom.thread"

// workdir checks the directory that a caller wants an agent to work in, and returns its real path; empty for none.
// WORKDIR_NOT_ALLOWED.
func (r *Rooms) workdir(spec *runtime.Spec) (string, error) {
	path := spec.Workdir
	if path == "" {
		return "", nil
	}
	if !filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
		return "", WorkdirNotAllowed("give the whole path", "%q is not an absolute path", path)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return "", WorkdirNotAllowed("make it first, or leave workdir out for a fresh directory", "%s does not exist", path)
		}
		return "", WorkdirNotAllowed("the service's user needs access to it", "%s cannot be reached: %v", path, errors.Unwrap(err))
	}
	info, err := os.Stat(real)
	if err != nil || !info.IsDir() {
		return "", WorkdirNotAllowed("", "%s is not a directory", path)
	}
	// A work directory that cannot be read, or entered, is of no use; one that cannot be written may be.
	if err := unix.Access(real, unix.R_OK|unix.X_OK); err != nil {
		return "", WorkdirNotAllowed("the service's user needs to read and enter it", "%s cannot be read: %v", path, err)
	}
	// Workspaces are those of threads, which the service lets in only whom their patterns do. The directory of them all is
	// that of no thread.
	if r.Provided(real) && (spec.Labels[labelThread] == "" || real == RealPath(r.Workspaces)) {
		return "", WorkdirNotAllowed("spawn a thread there: preparation.workspace.workspaceId", "%s belongs to the workspaces of threads", real)
	}
	return real, r.permitted(real)
}

// permitted refuses a real path that may not be a work directory.
func (r *Rooms) permitted(real string) error {
	if below(real, append(slices.Clip(r.Own), r.Dir)) {
		return WorkdirNotAllowed("choose a directory apart from it", "%s belongs to the runtime's own state", real)
	}
	if below(real, r.Private) && !r.Provided(real) {
		return WorkdirNotAllowed("choose a directory apart from it", "%s belongs to the service's own state", real)
	}
	switch {
	case len(r.Workdirs) > 0 && !below(real, r.Workdirs):
		return WorkdirNotAllowed("add its root to the runtime's configuration (workdirs)", "%s is in none of the directories that are allowed", real)
	case len(r.Workdirs) == 0 && (real == "/" || slices.ContainsFunc(system, func(dir string) bool { return within(real, dir) })):
		return WorkdirNotAllowed("list it in the runtime's configuration (workdirs) if that is meant", "%s belongs to the system", real)
	}
	return nil
}

// Provided reports whether a path is in one of the workspaces that the service makes for agents.
func (r *Rooms) Provided(path string) bool {
	return r.Workspaces != "" && within(path, RealPath(r.Workspaces))
}

// below reports whether a real path is one of the directories or below one. They are resolved each time: what they
// lead to may change while the runtime runs.
func below(real string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool {
		dir, err := filepath.EvalSymlinks(dir)
		return err == nil && within(real, dir)
	})
}

// within reports whether path is dir or below it. Both are clean.
func within(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}

// RealPath resolves the links of a path as far as it is there.
func RealPath(path string) string {
	rest := ""
	for dir := filepath.Clean(path); ; dir = filepath.Dir(dir) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		if dir == filepath.Dir(dir) {
			return filepath.Clean(path)
		}
		rest = filepath.Join(filepath.Base(dir), rest)
	}
}
