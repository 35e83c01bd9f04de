package codex

import "sync/atomic"

// passage is the way of a message into the composer, and into no dialog that comes in front of it meanwhile. It is safe for concurrent
// use.
type passage struct{ met atomic.Bool }

// open reports whether the next part of the message may be typed: no dialog stands, and none did.
func (p *passage) open(rows []string) bool {
	if !free(rows) {
		p.met.Store(true)
	}
	return !p.met.Load()
}

// shut reports whether a dialog was met: the message, or a part of it, was not typed.
func (p *passage) shut() bool { return p.met.Load() }
