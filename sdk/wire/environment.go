package wire

import "strings"

// EnvNamePattern is the regular expression that names of environment variables match.
const EnvNamePattern = `^[A-Za-z_][A-Za-z0-9_]*$`

// ReservedEnvPattern is the regular expression that names match for which ReservedEnv has a reason.
const ReservedEnvPattern = `^(LD_|WARDROOM_|HOME$|TMPDIR$)`

// ReservedEnv returns why no agent may be given a variable of a name, for people; "" when it may. The variables belong to the
// dynamic loader, to runtimes, or to the room that every agent has.
func ReservedEnv(name string) string {
	switch {
	case strings.HasPrefix(name, "LD_"):
		return "variables of the dynamic loader (LD_*) cannot be set"
	case strings.HasPrefix(name, "WARDROOM_"):
		return "names that begin with WARDROOM_ are the runtime's own"
	case name == "HOME" || name == "TMPDIR":
		return "every agent has a home and a temporary directory of its own"
	}
	return ""
}
