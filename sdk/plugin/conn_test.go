package plugin_test

import (
	"context"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/sdk/plugin"
	"github.com/wardroom/wardroom/sdk/secret"
)

// fakeHost is a host's services in memory.
type fakeHost struct {
	mu     sync.Mutex
	within int           // calls of Secret that block
	block  chan struct{} // ends them
	values map[string][]byte
	logged []string
}

func newFakeHost() *fakeHost {
	return &fakeHost{values: map[string][]byte{}, block: make(chan struct{})}
}

func (h *fakeHost) Secret(_ context.Context, ref string) (secret.Value, error) {
	if ref == "blocks" {
		h.mu.Lock()
		h.within++
		h.mu.Unlock()
		<-h.block
	}
	if ref != "vault:db#password" {
		return secret.Value{}, secret.Errorf(secret.CodeForbidden, "the reference is not in the plugin's configuration")
	}
	return secret.NewValue([]byte("hunter2"), "7", time.Time{}), nil
}

func (h *fakeHost) Get(_ context.Context, key string) ([]byte, bool, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	v, ok := h.values[key]
	return v, ok, nil
}

func (h *fakeHost) Put(_ context.Context, key string, value []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.values[key] = value
	return nil
}

func (h *fakeHost) Delete(_ context.Context, key string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.values, key)
	return nil
}

func (h *fakeHost) List(_ context.Context, prefix string) ([]string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var keys []string
	for k := range h.values {
		if strings.HasPrefix(k, prefix) {
			keys = append(keys, k)
		}
	}
	sort.Strings(keys)
	return keys, nil
}

func (h *fakeHost) Log(_ context.Context, level hclog.Level, message string, fields map[string]string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.logged = append(h.logged, level.String()+" "+message+" "+fields["a"])
	return nil
}

func TestInfo(t *testing.T) {
	c := mustStart(t, "plain")
	info, err := c.Info(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	if info.Name != "runtime-child" || info.Version != "1.2.3" || info.Kind != plugin.KindRuntime {
		t.Errorf("info %+v", info)
	}
	if !c.Has("child.tricks") || c.Has("other") {
		t.Errorf("features %v", info.Features)
	}
	schema, err := c.Schema(testContext(t))
	if err != nil || string(schema.Schema) != childSchema || len(schema.Examples) != 1 {
		t.Errorf("schema %+v, %v", schema, err)
	}
}
