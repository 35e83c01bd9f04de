package pluginhost

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"

	"github.com/wardroom/wardroom/sdk/plugin"
)

// Bounds of a plugin's key-value store. It is for cursors and marks, not for data.
const (
	kvKeys  = 1000
	kvBytes = 4 << 20 // of all keys and values
)

// kv is a plugin's key-value store: one file, written anew with each change. It is safe for concurrent use; one
// process uses it.
type kv struct {
	path string

	mu     sync.Mutex        // guards all below
	values map[string][]byte // nil: not read yet
	bytes  int
}

func newKV(path string) *kv { return &kv{path: path} }

// load reads the file on first use. Called with mu held.
func (k *kv) load() error {
	if k.values != nil {
		return nil
	}
	values := map[string][]byte{}
	data, err := readBounded(k.path, 3*kvBytes) // base64 and the keys' escapes
	if err == nil {
		err = json.Unmarshal(data, &values)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &plugin.Error{Code: plugin.CodeInternal, Message: "the key-value store of the plugin cannot be read", Hint: "look at " + k.path}
	}
	k.values, k.bytes = values, 0
	for key, value := range values {
		k.bytes += len(key) + len(value)
	}
	return nil
}

// store writes next, which replaces what there was only when it is on disk. Called with mu held.
func (k *kv) store(next map[string][]byte, bytes int) error {
	data, err := json.Marshal(next)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(k.path), 0o700)
	}
	if err == nil {
		err = writeFile(k.path, data, 0o600)
	}
	if err != nil {
		return &plugin.Error{Code: plugin.CodeInternal, Message: "the key-value store of the plugin cannot be written", Retry: true}
	}
	k.values, k.bytes = next, bytes
	return nil
}

// Get implements plugin.KV.
func (k *kv) Get(_ context.Context, key string) ([]byte, bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.load(); err != nil {
		return nil, false, err
	}
	value, ok := k.values[key]
	return append([]byte{}, value...), ok, nil
}

// Put implements plugin.KV.
func (k *kv) Put(_ context.Context, key string, value []byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.load(); err != nil {
		return err
	}
	old, known := k.values[key]
	bytes := k.bytes + len(value) - len(old)
	if !known {
		bytes += len(key)
	}
	if bytes > kvBytes || !known && len(k.values) >= kvKeys {
		return &plugin.Error{Code: plugin.CodeTooLarge, Message: "the plugin's key-value store is full: it holds 1000 keys and 4 MiB at most"}
	}
	next := k.copy()
	next[key] = append([]byte{}, value...)
	return k.store(next, bytes)
}

// Delete implements plugin.KV.
func (k *kv) Delete(_ context.Context, key string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.load(); err != nil {
		return err
	}
	old, known := k.values[key]
	if !known {
		return nil
	}
	next := k.copy()
	delete(next, key)
	return k.store(next, k.bytes-len(key)-len(old))
}

// List implements plugin.KV.
func (k *kv) List(_ context.Context, prefix string) ([]string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.load(); err != nil {
		return nil, err
	}
	var keys []string
	for key := range k.values {
		if strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	sort.Strings(keys)
	return keys, nil
}

func (k *kv) copy() map[string][]byte {
	next := make(map[string][]byte, len(k.values)+1)
	maps.Copy(next, k.values)
	return next
}
