package keeper

import "sync"

// ring keeps the last bytes of the output, by their offset in the whole of it. One goroutine puts, at most one
// takes. While somebody takes, nothing that was not taken is overwritten: put waits. Otherwise put never waits.
type ring struct {
	max int

	mu     sync.Mutex
	change sync.Cond // anything below changed
	buf    []byte    // byte number n is at n % len(buf); grows up to max before anything is overwritten
	head   uint64    // bytes put so far
	taker  *taker    // or nil
	ended  bool      // nothing more will be put
}

// taker is who takes at the moment.
type taker struct {
	next uint64 // offset of the first byte not taken; guarded by ring.mu
	stop bool   // take returns nothing more; guarded by ring.mu
}

const firstRing = 8 << 10

func newRing(size int) *ring {
	r := &ring{max: size}
	r.change.L = &r.mu
	return r
}

// put appends p, waiting for the taker if there is one.
func (r *ring) put(p []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(p) > 0 {
		n := min(len(p), r.max)
		for r.taker != nil {
			free := r.max - int(r.head-r.taker.next)
			if free > 0 {
				n = min(n, free)
				break
			}
			r.change.Wait()
		}
		r.grow(n)
		at := int(r.head % uint64(len(r.buf)))
		first := copy(r.buf[at:], p[:n])
		copy(r.buf, p[first:n])
		r.head += uint64(n)
		p = p[n:]
		r.change.Broadcast()
	}
}

// grow makes room for n more bytes, up to max. The old array stays as it is: a taker may be reading it.
func (r *ring) grow(n int) {
	need := min(uint64(r.max), r.head+uint64(n))
	if uint64(len(r.buf)) >= need {
		return
	}
	size := max(firstRing, len(r.buf))
	for uint64(size) < need {
		size *= 2
	}
	grown := make([]byte, min(size, r.max))
	copy(grown, r.buf) // nothing was overwritten yet, so byte n is at n
	r.buf = grown
}

// tail is the offset of the oldest byte; the caller holds mu.
func (r *ring) tail() uint64 {
	if r.head > uint64(r.max) {
		return r.head - uint64(r.max)
	}
	return 0
}

// span returns the offsets of what is kept.
func (r *ring) span() (tail, head uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tail(), r.head
}

// attach makes t the taker, from the offset on, or what is next to it. There is no taker before.
func (r *ring) attach(t *taker, from uint64) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	t.next = min(max(from, r.tail()), r.head)
	r.taker = t
	return t.next
}

// detach lets the ring overwrite again.
func (r *ring) detach(t *taker) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.taker == t {
		r.taker = nil
	}
	r.change.Broadcast()
}

// stop makes take return.
func (r *ring) stop(t *taker) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t.stop = true
	r.change.Broadcast()
}

// take waits for bytes and returns a piece of them, at most limit, which stays untouched until taken is called.
// Nothing means the end: ended reports whether it is that of the output.
func (r *ring) take(t *taker, limit int) (p []byte, ended bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for t.next == r.head && !r.ended && !t.stop {
		r.change.Wait()
	}
	if t.stop || t.next == r.head {
		return nil, !t.stop
	}
	at := int(t.next % uint64(len(r.buf)))
	n := min(int(r.head-t.next), len(r.buf)-at, limit)
	return r.buf[at : at+n], false
}

// taken reports that n bytes of the last take are not needed any more.
func (r *ring) taken(t *taker, n int) {
	r.mu.Lock()
	t.next += uint64(n)
	r.change.Broadcast()
	r.mu.Unlock()
}

// end reports that nothing more will be put.
func (r *ring) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	r.change.Broadcast()
}
