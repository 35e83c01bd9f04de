package local

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// mark names the variable by which the processes of a room are known, whoever their parent is. Its value is the
// directory of the room.
const mark = "WARDROOM_AGENT_ROOM"

const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// allowed are the variables that agents get from the environment of the runtime; nothing else of it reaches them,
// and so no secret of the service.
var allowed = []string{
	"PATH", "LANG", "LANGUAGE", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
}

// environment is what every command of a room gets, sorted.
func (r *Rooms) environment(room agentcli.Room, base string) []string {
	environ := r.Environ
	if environ == nil {
		environ = os.Environ()
	}
	env := map[string]string{"PATH": defaultPath}
	for _, pair := range environ {
		name, value, ok := strings.Cut(pair, "=")
		if ok && value != "" && (slices.Contains(allowed, name) || strings.HasPrefix(name, "LC_")) {
			env[name] = value
		}
	}
	if env["LANG"] == "" && env["LC_ALL"] == "" && env["LC_CTYPE"] == "" {
		env["LANG"] = "C.UTF-8" // without it programs write question marks for most characters
	}
	maps.Copy(env, r.Env)
	env["TERM"], env["COLORTERM"] = "xterm-256color", "truecolor"
	env["HOME"], env["TMPDIR"] = room.Home, room.Temp
	if !r.Unmarked {
		env[mark] = base
	}
	list := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return list
}

// LookPath implements agentcli.Finder: it finds a command as the rooms will. CLI_NOT_FOUND.
func (r *Rooms) LookPath(_ context.Context, name string) (string, error) {
	return lookPath(name, r.environment(agentcli.Room{}, ""))
}

// lookPath finds a command on the PATH of the agent. CLI_NOT_FOUND.
func lookPath(name string, env []string) (string, error) {
	notFound := &runtime.Error{
		Code: runtime.CodeCLINotFound, Message: fmt.Sprintf("the command %q was not found", name),
		Hint: "install it, or put its directory on the PATH of the service, or set PATH in the environment that the runtime gives to agents",
	}
	if strings.ContainsRune(name, '/') {
		if filepath.IsAbs(name) && executable(name) {
			return name, nil
		}
		return "", notFound
	}
	path := ""
	for _, pair := range env {
		if value, ok := strings.CutPrefix(pair, "PATH="); ok {
			path = value
		}
	}
	for _, dir := range filepath.SplitList(path) {
		// A relative entry would mean another command in every directory.
		if full := filepath.Join(dir, name); name != "" && filepath.IsAbs(dir) && executable(full) {
			return full, nil
		}
	}
	return "", notFound
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && unix.Access(path, unix.X_OK) == nil
}
