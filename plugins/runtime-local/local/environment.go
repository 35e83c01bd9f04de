package local

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// Names of the marks by which processes of an agent are known, even when nothing else is left of it.
const (
	markID    = "WARDROOM_AGENT_ID"
	markNonce = "WARDROOM_AGENT_NONCE"
)

const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// allowed are the variables that an agent gets from the service's own environment; nothing else of it reaches
// an agent, and so no secret of the service.
var allowed = []string{
	"PATH", "LANG", "LANGUAGE", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
}

var validName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// checkNames refuses variables that an agent may not be given: those of the dynamic loader and those that are
// this runtime's own. Values never get into an error.
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
		case strings.ContainsRune(env[name], 0):
			return runtime.Invalid(at, "holds a NUL byte")
		}
	}
	return nil
}

// environment is what every command of a room gets.
func (l *Launcher) environment(room agentcli.Room) []string {
	env := map[string]string{"PATH": defaultPath}
	for _, pair := range l.opts.Environ {
		name, value, ok := strings.Cut(pair, "=")
		if ok && value != "" && (slices.Contains(allowed, name) || strings.HasPrefix(name, "LC_")) {
			env[name] = value
		}
	}
	if env["LANG"] == "" && env["LC_ALL"] == "" && env["LC_CTYPE"] == "" {
		env["LANG"] = "C.UTF-8" // without it programs write question marks for most characters
	}
	maps.Copy(env, l.opts.Env)
	env["TERM"], env["COLORTERM"] = "xterm-256color", "truecolor"
	env["HOME"], env["TMPDIR"] = room.Home, room.Temp
	if a := l.isolation.user; a != nil {
		env["USER"], env["LOGNAME"] = a.name, a.name
	}
	list := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return list
}

// marked returns the environment with the marks of a life, and none that somebody else put there.
func marked(env []string, h handle) []string {
	out := make([]string, 0, len(env)+2)
	for _, pair := range env {
		if !strings.HasPrefix(pair, "WARDROOM_AGENT_") {
			out = append(out, pair)
		}
	}
	return append(out, markID+"="+h.ID, markNonce+"="+h.Nonce.String())
}
