package local

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/wardroom/wardroom/sdk/runtime"
)

var validName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// check refuses what a room of this machine cannot give.
func (r *Rooms) check(spec *runtime.Spec) error {
	if err := CheckEnv("env", spec.Env); err != nil {
		return err
	}
	if spec.Declared != nil {
		if err := CheckEnv("declared.env", spec.Declared.Env); err != nil {
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

// CheckEnv refuses variables that an agent may not be given: those of the dynamic loader and those that belong to its
// room. Its error names field and variable, and never a value. INVALID_SPEC.
func CheckEnv(field string, env map[string]string) error {
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
		case strings.ContainsRune(env[name], 0):
			return runtime.Invalid(at, "holds a NUL byte")
		}
	}
	return nil
}
