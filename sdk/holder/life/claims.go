package life

import (
	"sync"

	"github.com/wardroom/wardroom/sdk/agentcli/local"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// Claims are the ids of agents that are being launched or removed. The zero value has none. Safe for concurrent use.
type Claims struct {
	mu   sync.Mutex // guards held
	held map[string]bool
}

// Claim keeps two calls from working on one id at once. INVALID_SPEC for what is no id, ALREADY_EXISTS, which may be tried again,
// until release is called.
func (c *Claims) Claim(id string) (release func(), err error) {
	if err := local.CheckID(id); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held[id] {
		return nil, &runtime.Error{Code: runtime.CodeAlreadyExists, Message: "agent " + id + " is being started or removed", Retry: true}
	}
	if c.held == nil {
		c.held = map[string]bool{}
	}
	c.held[id] = true
	return func() {
		c.mu.Lock()
		delete(c.held, id)
		c.mu.Unlock()
	}, nil
}

// Held reports whether an id is claimed.
func (c *Claims) Held(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held[id]
}
