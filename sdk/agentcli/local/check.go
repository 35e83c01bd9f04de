package local

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/wardroom/wardroom/sdk/runtime"
)

var validName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// check refuses what a room of this machine cannot give.
func (r *Rooms) check(spec *runtime.Spec) error {
	if err := checkNames("env", spec.Env); err != nil {
		return err
	}
	if spec.Declared != nil {
		if err := checkNames("declared.env", spec.Declared.Env); err != nil {
			return err
		}
	}
	if r.Limits {
		return nil
	}
	for field, asked := range map[string]bool{
		"limits.memoryBytes": spec.Limits.MemoryBytes != 0, "limits.cpu": spec.Limits.CPU != 0, "limits.pids": spec.Limits.PIDs != 0,
	} {
		if asked {
			return runtime.Invalid(field, "this runtime cannot hold agents to limits; leave it out, or choose another runtime")
		}
	}
	return nil
}

// checkNames refuses variables of the dynamic loader and those that belong to the room. It never shows a value.
func checkNames(field string, env map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		at := field + "." + name
		switch {
		case !validName.MatchString(name):
			return runtime.Invalid(field, "%q is not the name of an environment variable", name)
		case strings.HasPrefix(name, "LD_"):
			return runtime.Invalid(at, "variables of the dynamic loader (LD_*) cannot be set")
		case strings.HasPrefix(name, "WARDROOM_"):
			return runtime.Invalid(at, "names that begin with WARDROOM_ are the runtime's own")
		case name == "HOME" || name == "TMPDIR":
			return runtime.Invalid(at, "every agent has a home and a temporary directory of its own")
		}
	}
	return nil
}

// workdir returns the real path of the directory that a caller wants; empty for none. WORKDIR_NOT_ALLOWED.
func (r *Rooms) workdir(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	refuse := func(hint, format string, args ...any) error {
		return &runtime.Error{Code: runtime.CodeWorkdirNotAllowed, Field: "workdir", Message: fmt.Sprintf(format, args...), Hint: hint}
	}
	if !filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
		return "", refuse("give the whole path", "%q is not an absolute path", path)
	}
	real, err := filepath.EvalSymlinks(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", refuse("make it first, or leave workdir out for a fresh directory", "%s does not exist", path)
	case err != nil:
		return "", refuse("the runtime's user needs access to it", "%s cannot be reached", path)
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return "", refuse("", "%s is not a directory", path)
	}
	if own, err := filepath.EvalSymlinks(r.Dir); err == nil && within(real, own) {
		return "", refuse("choose a directory apart from it", "%s belongs to the runtime's own state", real)
	}
	if len(r.Workdirs) == 0 {
		return real, nil
	}
	for _, root := range r.Workdirs {
		// Resolved each time: what a root leads to may change while the runtime runs.
		if dir, err := filepath.EvalSymlinks(root); err == nil && within(real, dir) {
			return real, nil
		}
	}
	return "", refuse("add its root to the runtime's configuration", "%s is in none of the directories that are allowed", real)
}

// within tells whether path is dir or below it. Both are clean.
func within(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}
