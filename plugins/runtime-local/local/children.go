package local

import (
	"maps"
	"sync"

	"github.com/wardroom/wardroom/sdk/holder"
	"github.com/wardroom/wardroom/sdk/holder/life"
)

// children are the holders that this process started, whichever configuration they are of. Safe for concurrent use.
type children struct {
	claims life.Claims

	mu       sync.Mutex
	holdings map[int]*holder.Holding // by pid, to be reaped
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
	maps.DeleteFunc(c.holdings, func(_ int, h *holder.Holding) bool { return h.Reap(false) })
}
