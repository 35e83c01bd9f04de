package pluginhost

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/secret"
)

// passed are the variables of the host that every plugin gets. Everything else of the host's environment,
// which holds the host's own secrets, stays where it is.
var passed = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ", "LANG", "LANGUAGE",
	"LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_MESSAGES", "LC_MONETARY", "LC_NUMERIC", "LC_TIME",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "XDG_RUNTIME_DIR",
	"KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", // in a pod: where its cluster is
}

// reservedEnv begins the names that belong to the protocol between host and plugin.
var reservedEnv = []string{"PLUGIN_", "WARDROOM_PLUGIN"}

// checkEnv refuses variables that would change the protocol between host and plugin.
func checkEnv(plugin string, vars map[string]string) error {
	for name, value := range vars {
		for _, prefix := range reservedEnv {
			if strings.HasPrefix(name, prefix) {
				return core.Invalid("plugins."+plugin+".env."+name, "is set by the host; names that begin with %s may not be used", prefix)
			}
		}
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(value, "\x00") {
			return core.Invalid("plugins."+plugin+".env", "holds a name or a value that no environment can hold")
		}
	}
	return nil
}

// environ builds the environment of a plugin: what is passed on, what its settings say, and what the host
// tells it, each over the one before.
func environ(lookup func(string) (string, bool), own, host map[string]string) []string {
	vars := map[string]string{}
	for _, name := range passed {
		if value, ok := lookup(name); ok {
			vars[name] = value
		}
	}
	for _, layer := range []map[string]string{own, host} {
		maps.Copy(vars, layer)
	}
	list := make([]string, 0, len(vars))
	for name, value := range vars {
		list = append(list, name+"="+value)
	}
	sort.Strings(list)
	return list
}

// longestSocketDir keeps the path of a socket in the directory below the 108 bytes that a socket address has:
// go-plugin adds "/plugin-dir" and "/plugin" with up to ten digits each.
const longestSocketDir = 108 - 1 - len("/plugin-dir0123456789/plugin0123456789")

// socketDir makes the directory of the plugins' sockets, for this user alone.
func socketDir(runDir string) (string, error) {
	dir := runDir + "/plugins"
	if len(dir) > longestSocketDir {
		return "", core.Invalid("run directory", "%s is too long: a socket in it would be beyond the system's 108 bytes; use one of at most %d bytes",
			runDir, longestSocketDir-len("/plugins"))
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", core.Errorf(core.CodeInternal, "the directory %s of the plugins' sockets cannot be made", dir).WithCause(err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return "", core.Errorf(core.CodeInternal, "the directory %s of the plugins' sockets cannot be closed to others", dir).WithCause(err)
	}
	return dir, sweepSockets(dir)
}

// sweepSockets removes what a host that was killed has left behind.
func sweepSockets(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return core.Errorf(core.CodeInternal, "the directory %s of the plugins' sockets cannot be read", dir).WithCause(err)
	}
	for _, entry := range entries {
		if entry.IsDir() && strings.HasPrefix(entry.Name(), "plugin-dir") {
			if err := os.RemoveAll(dir + "/" + entry.Name()); err != nil {
				return core.Errorf(core.CodeInternal, "a left-over socket in %s cannot be removed", dir).WithCause(err)
			}
		}
	}
	return nil
}

// resolved returns the settings of the plugin with the values of its environment that references name, as they are now. They
// are hidden in what it says from then on.
func (c *child) resolved(ctx context.Context) (Spec, *failure) {
	s := c.spec
	found := false
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		if _, ok, err := core.ParseSecretRef(s.Env[name]); !ok && err == nil {
			continue
		}
		if c.host.opts.Secrets == nil {
			return s, &failure{reason: "its variable " + name + " refers to a secret, and no provider of secrets is configured"}
		}
		v, err := c.host.opts.Secrets(ctx, s.Name, s.Env[name])
		if err != nil {
			e := secret.AsError(err)
			return s, &failure{reason: "its variable " + name + " refers to a secret that cannot be had: " + e.Message, hint: cmp.Or(e.Hint, "wardroom secret test REFERENCE shows why; it is tried again by itself")}
		}
		text := string(v.Reveal())
		if strings.Contains(text, "\x00") {
			return s, &failure{reason: "its variable " + name + " refers to a secret that is no text"}
		}
		if !found {
			s.Env = maps.Clone(s.Env)
		}
		s.Env[name], found = text, true
		c.hidden.add(name, text)
	}
	return s, nil
}

// hidden takes secret values out of the texts of a plugin. It is safe for concurrent use.
type hidden struct {
	given   []string                            // by the configuration
	replace atomic.Pointer[func(string) string] // nil: to be made

	mu       sync.Mutex          // guards what follows, and is held while replace is made
	lookedUp map[string][]string // the latest values of each reference, and of each variable that is one, oldest first
}

// maxFormer is how many values of a reference are hidden: a plugin may have former ones still.
const maxFormer = 8

func newHidden(secrets []string) *hidden {
	return &hidden{given: secrets, lookedUp: map[string][]string{}}
}

// add hides a value that a reference has as well. There are no more references than the settings of the plugin name.
func (h *hidden) add(ref, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	was := h.lookedUp[ref]
	if len(text) > longestLine || slices.Contains(was, text) {
		return
	}
	now := append(was, text)
	h.lookedUp[ref] = now[max(len(now)-maxFormer, 0):]
	h.replace.Store(nil)
}

func (h *hidden) redact(text string) string {
	if replace := h.replace.Load(); replace != nil {
		return (*replace)(text)
	}
	return h.renewed()(text)
}

// renewed returns replace, which it makes where another has not.
func (h *hidden) renewed() func(string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if replace := h.replace.Load(); replace != nil {
		return *replace
	}
	all := slices.Clone(h.given)
	for _, values := range h.lookedUp {
		all = append(all, values...)
	}
	replace := redactor(all)
	h.replace.Store(&replace)
	return replace
}

// redactor replaces the secrets of a plugin in what it says: it may put them into an error or its log.
func redactor(secrets []string) func(string) string {
	const shortest = 6 // a shorter one is no secret, and would blot out half of a text
	var list []string
	for _, s := range secrets {
		for _, form := range forms(s) {
			if len(form) >= shortest {
				list = append(list, form)
			}
		}
	}
	if len(list) == 0 {
		return func(s string) string { return s }
	}
	// The longest first, so that one that is part of another leaves nothing of it.
	slices.SortFunc(list, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	var pairs []string
	for _, s := range slices.Compact(list) {
		pairs = append(pairs, s, "***")
	}
	return strings.NewReplacer(pairs...).Replace
}

// forms are the texts that a plugin shows a secret as: itself, and without the line's end that a file gave it; each of its
// lines, which a log has one by one; and all of them within quotes, of Go and of JSON.
func forms(secret string) []string {
	list := []string{secret}
	for line := range strings.SplitSeq(secret, "\n") {
		list = append(list, strings.TrimSpace(line))
	}
	for _, s := range slices.Clone(list) {
		list = append(list, strings.Trim(fmt.Sprintf("%q", s), `"`))
		for _, html := range []bool{true, false} {
			var text strings.Builder
			encoder := json.NewEncoder(&text)
			encoder.SetEscapeHTML(html)
			_ = encoder.Encode(s) // a text always encodes
			list = append(list, strings.Trim(strings.TrimSpace(text.String()), `"`))
		}
	}
	return list
}
