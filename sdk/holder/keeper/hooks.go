package keeper

import (
	"slices"
	"sync"
	"time"

	"github.com/wardroom/wardroom/sdk/holder/wire"
)

// Bounds of what waits for an answer.
const (
	maxHooks     = 64
	maxHookBytes = 16 << 20
)

// hookTime bounds how long a hook command may take to say what it wants, and to take the answer.
const hookTime = 30 * time.Second

// hooks are the calls that wait for an answer. They outlive the client: a new one gets all of them again.
type hooks struct {
	mu      sync.Mutex
	next    uint64
	waiting []*hookCall // in the order of their numbers
	bytes   int
}

type hookCall struct {
	wire.HookCall
	answer chan []byte // one
	told   uint64      // number of the client that has it; guarded by hooks.mu
}

// size is what the call counts: its name is as long as the process that made it wants.
func (c *hookCall) size() int { return len(c.Name) + len(c.Payload) }

// add makes a call wait; nil if there are too many.
func (h *hooks) add(name string, payload []byte) *hookCall {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.waiting) >= maxHooks || h.bytes+len(name)+len(payload) > maxHookBytes {
		return nil
	}
	h.next++
	call := &hookCall{
		HookCall: wire.HookCall{What: wire.KindHookCall, Call: h.next, Name: name, Payload: append([]byte(nil), payload...)},
		answer:   make(chan []byte, 1),
	}
	h.waiting = append(h.waiting, call)
	h.bytes += call.size()
	return call
}

// remove takes a call out; false if it was answered or removed before.
func (h *hooks) remove(number uint64) (*hookCall, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, call := range h.waiting {
		if call.Call == number {
			h.waiting = append(h.waiting[:i], h.waiting[i+1:]...)
			h.bytes -= call.size()
			return call, true
		}
	}
	return nil, false
}

// reply answers a call, if it still waits.
func (h *hooks) reply(number uint64, body []byte) {
	if call, ok := h.remove(number); ok {
		call.answer <- append([]byte(nil), body...)
	}
}

// tell tells a client of a call, unless it knows.
func (h *hooks) tell(c *control, call *hookCall) {
	h.mu.Lock()
	known := call.told == c.number
	call.told = c.number
	h.mu.Unlock()
	if !known {
		c.send(call.HookCall)
	}
}

// tellAll tells a new client of the calls that wait.
func (h *hooks) tellAll(c *control) {
	h.mu.Lock()
	list := slices.Clone(h.waiting)
	h.mu.Unlock()
	for _, call := range list {
		h.tell(c, call)
	}
}

// serveHook takes one call from a hook command and stays until it is answered or abandoned.
func (k *Keeper) serveHook(conn *sock, frames *wire.Reader) {
	_ = conn.SetReadDeadline(time.Now().Add(hookTime))
	kind, body, err := frames.Next()
	if err != nil || kind != wire.KindHookRequest {
		return
	}
	request, err := wire.ParseHookCall(kind, body)
	if err != nil || len(request.Payload) > wire.MaxPayload {
		return
	}
	call := k.hooks.add(request.Name, request.Payload)
	if call == nil {
		return
	}
	if c := k.client(); c != nil {
		k.hooks.tell(c, call)
	}

	gone := make(chan struct{})
	_ = conn.SetReadDeadline(time.Time{})
	k.wg.Go(func() {
		defer close(gone)
		var b [1]byte
		_, _ = conn.Read(b[:]) // nothing comes but the end
	})
	select {
	case answer := <-call.answer:
		_ = conn.SetWriteDeadline(time.Now().Add(hookTime))
		_ = wire.Write(conn, wire.HookAnswer{What: wire.KindHookReply, Body: answer})
	case <-gone:
		if _, ok := k.hooks.remove(call.Call); ok {
			k.tell(wire.HookAnswer{What: wire.KindHookGone, Call: call.Call})
		}
	}
	_ = conn.Close()
	<-gone
}
