package local

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/wire"
)

var validName = regexp.MustCompile(wire.EnvNamePattern)

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
		case wire.ReservedEnv(name) != "":
			return runtime.Invalid(at, "%s", wire.ReservedEnv(name))
		case strings.ContainsRune(env[name], 0):
			return runtime.Invalid(at, "holds a NUL byte")
		}
	}
	return nil
}
