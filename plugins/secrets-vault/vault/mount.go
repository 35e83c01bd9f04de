package vault

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/vault/api"
)

const (
	kindKV    = "kv"
	mountLife = 10 * time.Minute
	maxMounts = 1_000

	// settledFor is how long no other look follows one behind the refusal of a path: what is missing is asked for every few seconds.
	settledFor = 10 * time.Second
)

// mount is what is enabled at a path.
type mount struct {
	path    string // ends with a slash
	kind    string // kv, database and so on; empty: not known
	version string // of kv
	looked  time.Time
}

func (m mount) versioned() bool { return m.kind == kindKV && m.version == "2" }

// api returns the path of a request for a secret: with version 2 of the key-value engine data/ stands behind the mount,
// which people leave out as the command line of Vault has them do.
func (m mount) api(path string) string {
	rest, ok := strings.CutPrefix(path, m.path)
	if !m.versioned() || !ok || strings.HasPrefix(rest, "data/") {
		return path
	}
	return m.path + "data/" + rest
}

// mounts are those that were looked at.
type mounts struct {
	client *api.Client

	mu    sync.Mutex // guards all below
	known map[string]mount
	// settled has when a look behind a refusal found the mount of a path as it was.
	settled map[string]time.Time
}

// find returns the mount of a path, if it is known.
func (m *mounts) find(path string) (mount, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for prefix := path; ; {
		i := strings.LastIndexByte(prefix, '/')
		if i < 0 {
			return mount{}, false
		}
		if found, ok := m.known[prefix[:i+1]]; ok {
			return found, time.Since(found.looked) < mountLife
		}
		prefix = prefix[:i]
	}
}

// alike reports whether a secret is asked for in the same way at two mounts.
func (m mount) alike(other mount) bool {
	return m.path == other.path && m.kind == other.kind && m.version == other.version
}

// api returns the path of a request as far as it is known.
func (m *mounts) api(path string) string {
	found, _ := m.find(path)
	return found.api(path)
}

// of returns the mount of a path. One that cannot be looked at is as if nothing were known: the answer to a reading tells.
// The error is that of a token which is not valid.
func (m *mounts) of(ctx context.Context, path string) (mount, error) {
	if found, ok := m.find(path); ok {
		return found, nil
	}
	return m.look(ctx, path)
}

// settle notes that the mount of a path was looked at again, as that is not there or is refused, and had not changed.
func (m *mounts) settle(path string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.settled) >= maxMounts {
		clear(m.settled)
	}
	m.settled[path] = time.Now()
}

// settledNow reports whether the mount of a path was settled a moment ago.
func (m *mounts) settledNow(path string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, ok := m.settled[path]
	return ok && time.Since(at) < settledFor
}

// look asks the server for the mount of a path, and returns what of returns.
func (m *mounts) look(ctx context.Context, path string) (mount, error) {
	found, _ := m.find(path)
	answer, err := m.client.Logical().ReadWithContext(ctx, "sys/internal/ui/mounts/"+path)
	if invalidToken(err) {
		return mount{}, err
	}
	if err != nil || answer == nil {
		return found, nil
	}
	next := mount{looked: time.Now()}
	next.path, _ = answer.Data["path"].(string)
	next.kind, _ = answer.Data["type"].(string)
	if options, ok := answer.Data["options"].(map[string]any); ok {
		next.version, _ = options["version"].(string)
	}
	if next.path == "" || !strings.HasPrefix(path, next.path) {
		return found, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.known) >= maxMounts {
		clear(m.known)
	}
	for prefix := path; len(prefix) > len(next.path); prefix = prefix[:len(prefix)-1] { // what was mounted below it is gone
		delete(m.known, prefix)
	}
	m.known[next.path] = next
	return next, nil
}
