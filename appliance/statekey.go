package appliance

import (
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store/atrest"
	"github.com/wardroom/wardroom/sdk/plugin"
)

// stateKeyFile holds what the keys of plugins are derived from: runtimes encrypt the environments of agents under theirs. In an
// encrypted store it is wrapped by the master key. After a restore without it agents that have stopped cannot be restarted.
const stateKeyFile = "plugins.key"

// aboutStateKey is the purpose for which the master key wraps the key.
const aboutStateKey = "wardroom keys of plugins"

// maxStateKeyFile bounds what is read of a wrapped key.
const maxStateKeyFile = 64 << 10

// stateKeys has the keys of plugins. It is safe for concurrent use.
type stateKeys struct {
	path   string
	source atrest.KeySource // nil: the store is in clear

	mu      sync.Mutex // guards all below
	key     [plugin.StateKeySize]byte
	wrapped string // id of the master key that wraps it in the file; empty: none does
}

// openStateKeys reads the key in the directory of the store, and makes one at the first start. master is the id of the key that
// the store is encrypted by: the file is wrapped by that from then on. CONFLICT when the file can be read by others, is damaged, or
// was wrapped by a key that is not there; nothing is changed then.
func openStateKeys(ctx context.Context, dir string, source atrest.KeySource, master string) (*stateKeys, error) {
	k := &stateKeys{path: filepath.Join(dir, stateKeyFile), source: source}
	text, err := readPrivate(k.path, maxStateKeyFile)
	var stored atrest.Wrapped
	switch {
	case errors.Is(err, os.ErrNotExist) || err == nil && len(text) == len(k.key):
		if k.key, err = sealKey(dir, stateKeyFile); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	case json.Unmarshal(text, &stored) != nil || len(stored.Data) == 0:
		return nil, core.Errorf(core.CodeConflict, "%s is no key; remove it to get a new one: agents that have stopped cannot be restarted then", k.path)
	case source == nil:
		return nil, core.Errorf(core.CodeConflict, "%s belongs to an encrypted store (key %s), and this one is in clear; remove it to get a new one: "+
			"agents that have stopped cannot be restarted then", k.path, stored.KeyID)
	default:
		key, err := source.Unwrap(ctx, stored, aboutStateKey)
		if errors.Is(err, atrest.ErrKey) {
			return nil, core.Errorf(core.CodeConflict, "%s: %s; remove it to get a new one: agents that have stopped cannot be restarted then", k.path, err)
		}
		if err != nil {
			return nil, fmt.Errorf("unwrap the key of plugins: %w", err)
		}
		if len(key) != len(k.key) {
			return nil, core.Errorf(core.CodeConflict, "%s holds a key of another length", k.path)
		}
		k.key, k.wrapped = [plugin.StateKeySize]byte(key), stored.KeyID
	}
	return k, k.rewrap(ctx, master)
}

// rewrap has the file wrapped by the present master key, unless it is already.
func (k *stateKeys) rewrap(ctx context.Context, master string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.source == nil || k.wrapped == master {
		return nil
	}
	w, err := k.source.Wrap(ctx, k.key[:], aboutStateKey)
	if err != nil {
		return fmt.Errorf("wrap the key of plugins: %w", err)
	}
	text, err := json.Marshal(w)
	if err != nil {
		return err
	}
	if err := writePrivate(k.path, text); err != nil {
		return fmt.Errorf("keep the key of plugins: %w", err)
	}
	k.wrapped = w.KeyID
	return nil
}

// of returns the key of one plugin. It implements pluginhost.StateKeys.
func (k *stateKeys) of(_ context.Context, name string) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return hkdf.Key(sha256.New, k.key[:], nil, "wardroom plugin state "+name, plugin.StateKeySize)
}
