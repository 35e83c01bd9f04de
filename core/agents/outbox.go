package agents

import (
	"encoding/binary"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/clip"
)

// outbox is the way out of a session: one buffer of framed bytes, and a goroutine that writes whatever has
// gathered in one system call and ends when nothing is left.
//
// It frames messages itself instead of calling gorilla's writer, which makes one write per message and
// allows one writer at a time. A server's frame is a header of two to ten bytes before the payload (no
// mask, no compression), and net.Conn serializes writes, so gorilla's own control frames cannot be torn.
type outbox struct {
	conn   net.Conn
	clock  core.Clock
	watch  core.Stopwatch
	broken func() // called by the flush goroutine when a write failed

	since    atomic.Int64   // time of watch at which the write of the piece in progress began; 0: none
	flushers sync.WaitGroup // the flush goroutine

	mu       sync.Mutex // guards all below
	buf      *[]byte    // waits to be written; nil when nothing does
	inflight int        // bytes of the write in progress
	extra    int        // bytes above the limit that putBeyond allowed, until the queue is empty
	writing  bool       // the flush goroutine runs
	closing  bool       // a close frame was queued, or the connection failed: nothing more is taken
}

// Buffers above maxPooled go to the garbage collector, so that one burst is not kept for ever.
const maxPooled = 64 << 10

var bufferPool = sync.Pool{New: func() any { b := make([]byte, 0, 4096); return &b }}

func getBuffer() *[]byte { return bufferPool.Get().(*[]byte) }

func putBuffer(b *[]byte) {
	if cap(*b) <= maxPooled {
		*b = (*b)[:0]
		bufferPool.Put(b)
	}
}

// put queues one text message. full tells that the queue would grow over limit: the caller closes the
// session. sent is false then, and when the session is closing. A message larger than limit is taken by an
// empty queue, else it could never be sent.
func (o *outbox) put(payload []byte, limit int) (sent, full bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closing {
		return false, false
	}
	queued := o.inflight
	if o.buf != nil {
		queued += len(*o.buf)
	}
	if queued > 0 && queued+len(payload) > limit+o.extra {
		return false, true
	}
	o.append(websocket.TextMessage, payload)
	return true, false
}

// putAndWrite is put for the reader of the session, which has nothing else to do: it writes by itself
// unless the flush goroutine is at it. Waking a goroutine for a single small frame costs more than the
// frame. An agent that does not read holds up its own reader only, until the sweep ends the write.
func (o *outbox) putAndWrite(payload []byte, limit int) (sent, full bool) {
	o.mu.Lock()
	idle := !o.writing && !o.closing
	if idle {
		o.writing = true // so that append leaves the writing to us
		o.flushers.Add(1)
	}
	o.mu.Unlock()
	sent, full = o.put(payload, limit)
	if idle {
		o.flush()
	}
	return sent, full
}

// putBeyond queues one text message that does not count against the limit: what is sent again on a resume
// was within it before, and refusing it would only make the agent resume again.
func (o *outbox) putBeyond(payload []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closing {
		return false
	}
	o.extra += len(payload)
	o.append(websocket.TextMessage, payload)
	return true
}

// pong queues the answer to a ping, if there is room.
func (o *outbox) pong(payload string, limit int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closing || (o.buf != nil && len(*o.buf)+len(payload) > limit) {
		return
	}
	o.append(websocket.PongMessage, []byte(payload))
}

// shut queues a close frame as the last one and bounds the rest of the connection's life by timeout, in real
// time: it is a network deadline. Frames that wait are sent before it, unless drop is set. It returns false
// if the session was closing already.
func (o *outbox) shut(code int, reason string, drop bool, timeout time.Duration) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closing {
		return false
	}
	if drop && o.buf != nil {
		*o.buf = (*o.buf)[:0]
	}
	reason = clip.Text(reason, 123) // a control frame holds 125 bytes, two of them the code
	o.append(websocket.CloseMessage, websocket.FormatCloseMessage(code, reason))
	o.closing = true
	_ = o.conn.SetDeadline(time.Now().Add(timeout)) // an error means that it is closed already
	return true
}

// fail refuses further frames after the connection broke.
func (o *outbox) fail() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closing = true
}

// append frames a message and sees to it that it is flushed. o.mu is held.
func (o *outbox) append(opcode int, payload []byte) {
	if o.buf == nil {
		o.buf = getBuffer()
	}
	b := append(*o.buf, 0x80|byte(opcode)) // FIN: messages are never split
	switch n := len(payload); {
	case n < 126:
		b = append(b, byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, 126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, 127), uint64(n))
	}
	*o.buf = append(b, payload...)
	if !o.writing {
		o.writing = true
		o.flushers.Add(1)
		go o.flush()
	}
}

// pieceSize is the most that one write takes, in bytes: an agent that is slow, but reads, gets on from piece to piece.
const pieceSize = 64 << 10

// write writes a buffer piece by piece.
func (o *outbox) write(buf []byte) error {
	defer o.since.Store(0)
	for len(buf) > 0 {
		o.since.Store(o.watch.At(o.clock.Now()))
		n, err := o.conn.Write(buf[:min(len(buf), pieceSize)])
		if err != nil {
			return err
		}
		buf = buf[n:]
	}
	return nil
}

// flush writes until nothing waits.
func (o *outbox) flush() {
	defer o.flushers.Done()
	for {
		o.mu.Lock()
		buf := o.buf
		o.buf = nil
		if buf == nil || len(*buf) == 0 {
			o.writing, o.inflight, o.extra = false, 0, 0
			o.mu.Unlock()
			return
		}
		o.inflight = len(*buf)
		o.mu.Unlock()

		err := o.write(*buf)
		putBuffer(buf)
		if err != nil {
			o.mu.Lock()
			o.closing, o.writing, o.inflight, o.buf = true, false, 0, nil
			o.mu.Unlock()
			o.broken()
			return
		}
	}
}
