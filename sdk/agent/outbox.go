package agent

import (
	"sync"
)

// outbox holds the frames of one session that wait to be written, back to back in one buffer. Frames are
// encoded straight into it. Safe for concurrent use.
type outbox struct {
	wake chan struct{} // has an element when the writer is to look; capacity 1

	mu    sync.Mutex // guards all below
	buf   []byte
	ends  []int // end of each frame in buf
	woken bool  // a wake was given since the last take

	spareBuf  []byte // what the last take handed out, for reuse
	spareEnds []int
}

// maxSpare is the largest buffer kept for reuse: one huge answer shall not be paid for for ever.
const maxSpare = 256 << 10

func newOutbox() *outbox { return &outbox{wake: make(chan struct{}, 1)} }

// push appends the frame that encode appends. Quiet leaves the writer asleep: the caller, the reading
// goroutine, writes the frame out itself before it waits for more input.
func (o *outbox) push(quiet bool, encode func(b []byte) []byte) {
	o.mu.Lock()
	o.buf = encode(o.buf)
	o.ends = append(o.ends, len(o.buf))
	wake := !quiet && !o.woken
	if wake {
		o.woken = true
	}
	o.mu.Unlock()
	if wake {
		select {
		case o.wake <- struct{}{}:
		default:
		}
	}
}

// size is the number of bytes that wait.
func (o *outbox) size() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.buf)
}

// take hands out all frames that wait: the buffer and the end of each frame in it. They are valid until
// done gives them back.
func (o *outbox) take() (buf []byte, ends []int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.woken = false
	if len(o.ends) == 0 {
		return nil, nil
	}
	buf, ends = o.buf, o.ends
	o.buf, o.ends = o.spareBuf, o.spareEnds
	o.spareBuf, o.spareEnds = nil, nil
	return buf, ends
}

// done gives back what take handed out.
func (o *outbox) done(buf []byte, ends []int) {
	if cap(buf) > maxSpare {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.spareBuf, o.spareEnds = buf[:0], ends[:0]
}
