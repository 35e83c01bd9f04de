package limits

import (
	"sync"

	"github.com/wardroom/wardroom/core"
)

// Holds says how many things that last one principal may have open at once. 0 is no limit.
type Holds struct {
	Streams int // of events, logs and threads
	Sockets int // terminals
}

// holds counts what principals have open. The zero value is ready. It keeps nothing of those who have nothing open.
type holds struct {
	mu   sync.Mutex // guards open
	open map[held]int
}

type held struct {
	client string
	kind   core.HoldKind
}

// take counts one more, up to most of them; 0 is no limit. The function that it returns gives it back, and is called once.
func (h *holds) take(client string, kind core.HoldKind, most int) (release func(), ok bool) {
	if most <= 0 {
		return func() {}, true
	}
	key := held{client, kind}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open[key] >= most {
		return nil, false
	}
	if h.open == nil {
		h.open = map[held]int{}
	}
	h.open[key]++
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.open[key]--; h.open[key] <= 0 {
			delete(h.open, key)
		}
	}, true
}

// Hold counts something that lasts for a client. ok is false when it has as many as it may, which is limit.
func (g *Gate) Hold(client string, kind core.HoldKind) (release func(), limit int, ok bool) {
	rules := g.rules.Load()
	if !rules.Limited {
		return func() {}, 0, true
	}
	limit = rules.Holds.Streams
	if kind == core.HoldSocket {
		limit = rules.Holds.Sockets
	}
	release, ok = g.holds.take(client, kind, limit)
	if !ok {
		g.refused(client)
	}
	return release, limit, ok
}
