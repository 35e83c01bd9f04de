package api

import (
	"sync"

	"github.com/wardroom/wardroom/core"
)

// Bounds of requests to triggers, whose bodies are read before anybody knows who sends them.
const (
	limitHook         = "hook"
	maxHookBody       = 1 << 20 // bytes
	maxHooks          = 256     // bodies that are read at once
	maxHooksOfAddress = 64      // of one address
)

// hookGate bounds the bodies of strangers that are held at once. The zero value is ready.
type hookGate struct {
	mu       sync.Mutex // guards all below
	all      int
	byOrigin map[string]int
}

// enter takes a place for a body that comes from an address, until leave. INTERNAL_ERROR with Unavailable when there is
// none.
func (g *hookGate) enter(origin string) (leave func(), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.all >= maxHooks || g.byOrigin[origin] >= maxHooksOfAddress {
		return nil, core.Unavailable("busy", "too many requests to triggers are under way; try again")
	}
	if g.byOrigin == nil {
		g.byOrigin = map[string]int{}
	}
	g.all++
	g.byOrigin[origin]++
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.all--
		if g.byOrigin[origin]--; g.byOrigin[origin] == 0 {
			delete(g.byOrigin, origin)
		}
	}, nil
}
