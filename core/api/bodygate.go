package api

import (
	"sync"

	"github.com/wardroom/wardroom/core"
)

// Bounds of request bodies that are being sent, in bytes. Two bodies of the largest size that is taken fit in any case.
const (
	freeBody       = 64 << 10 // of each body, which are not counted
	bodiesOfClient = 128 << 20
	shareOfClient  = 4 // all clients may send so many times as much as one may
)

// limitSignIn bounds bodies that strangers send: by freeBody, so that they take no share.
const limitSignIn = "signIn"

// bodyGate counts the bytes of request bodies that are being sent: a client that sends many, and does not end them, must not take the
// memory of all. What is small passes whatever others do. The zero value is ready.
type bodyGate struct {
	mu       sync.Mutex // guards all below
	all      int64
	byClient map[string]int64
}

// take counts more bytes of a client, whose bodies may have largest bytes each. RATE_LIMITED when the client sends as much as one may,
// and INTERNAL_ERROR with Unavailable when all together do.
func (g *bodyGate) take(client string, n, largest int64) error {
	most := max(bodiesOfClient, 2*largest)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.byClient[client]+n > most {
		e := core.RateLimited(most, 0, retryHeld, "this client is sending as many large bodies at once as one client may")
		e.Details["by"] = "client"
		return e
	}
	if g.all+n > shareOfClient*most {
		return core.Unavailable("busy", "too many large bodies are being sent; try again")
	}
	if g.byClient == nil {
		g.byClient = map[string]int64{}
	}
	g.all += n
	g.byClient[client] += n
	return nil
}

// give takes back what was counted.
func (g *bodyGate) give(client string, n int64) {
	if n == 0 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.all -= n
	if g.byClient[client] -= n; g.byClient[client] == 0 {
		delete(g.byClient, client)
	}
}

// heldBody is what one request has counted. It is used by one goroutine.
type heldBody struct {
	gate    *bodyGate
	client  string
	largest int64
	taken   int64
}

// grow counts a body that has so many bytes, or will have. Its errors are those of take.
func (h *heldBody) grow(bytes int64) error {
	more := bytes - freeBody - h.taken
	if more <= 0 {
		return nil
	}
	if err := h.gate.take(h.client, more, h.largest); err != nil {
		return err
	}
	h.taken += more
	return nil
}

// leave takes back what was counted.
func (h *heldBody) leave() { h.gate.give(h.client, h.taken) }
