package local

import (
	"sync"

	"github.com/wardroom/wardroom/sdk/holder"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// children are the holders that this process started, whichever configuration they are of. Safe for concurrent use.
type children struct {
	mu       sync.Mutex
	holdings map[int]*holder.Holding // by pid, to be reaped
	busy     map[string]bool         // ids of agents that are being launched or removed
}

// claim keeps two calls from working on one id at once.
func (c *children) claim(id string) (release func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy[id] {
		return nil, &runtime.Error{Code: runtime.CodeAlreadyExists, Message: "agent " + id + " is being started or removed", Retry: true}
	}
	if c.busy == nil {
		c.busy = map[string]bool{}
	}
	c.busy[id] = true
	return func() {
		c.mu.Lock()
		delete(c.busy, id)
		c.mu.Unlock()
	}, nil
}

func (c *children) add(h *holder.Holding) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.holdings == nil {
		c.holdings = map[int]*holder.Holding{}
	}
	c.holdings[h.Holder.PID] = h
}

// reap waits for those that have ended.
func (c *children) reap() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for pid, h := range c.holdings {
		if h.Reap(false) {
			delete(c.holdings, pid)
		}
	}
}
