package core

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/wardroom/wardroom/sdk/wire"
)

// Bounds of the environment of an agent, which every runtime takes and an operating system can hand over.
const (
	MaxEnv      = 512
	maxEnvPair  = 128<<10 - 2 // bytes of a name and its value, besides the = and the NUL of the operating system
	maxEnvBytes = 256 << 10   // of all names and values
)

var envName = regexp.MustCompile(wire.EnvNamePattern)

// CheckEnv returns all that is wrong with the environment of an agent, in the order of its names. Values may be secret and
// stay out of the reasons.
func CheckEnv(field string, env map[string]string) []Problem {
	var problems []Problem
	bad := func(path, format string, args ...any) {
		problems = append(problems, Problem{Path: path, Reason: fmt.Sprintf(format, args...)})
	}
	size := 0
	for _, name := range slices.Sorted(maps.Keys(env)) {
		value, at := env[name], field+"."+fmt.Sprintf("%.64s", name)
		size += len(name) + len(value)
		switch {
		case !envName.MatchString(name):
			bad(field, "%.64q is not the name of a variable; use letters, digits and _, and no digit first", name)
		case wire.ReservedEnv(name) != "":
			bad(at, "%s", wire.ReservedEnv(name))
		case strings.ContainsRune(value, 0):
			bad(at, "must not hold NUL, which no variable can hold; leave it out, or encode the value")
		case len(name)+len(value) > maxEnvPair:
			bad(at, "must be at most %d bytes with its name; give the agent a file, and its path here", maxEnvPair)
		}
	}
	if len(env) > MaxEnv {
		bad(field, "must be at most %d variables, not %d; leave some out, or give the agent a file", MaxEnv, len(env))
	}
	if size > maxEnvBytes {
		bad(field, "must be at most %d bytes in all, not %d; leave some out, or give the agent a file", maxEnvBytes, size)
	}
	return problems
}
