package terminal

import (
	"context"
	"sync"

	"github.com/gorilla/websocket"

	"github.com/wardroom/wardroom/sdk/runtime"
)

const (
	maxQueued  = 256 << 10 // bytes taken from the terminal ahead of the network
	maxMessage = 128 << 10 // frames are joined up to here
)

// part is one message of a batch.
type part struct {
	kind  int // websocket.TextMessage or websocket.BinaryMessage
	start int // in the batch's buffer
	end   int
	open  bool // more output may be joined
}

// batch is messages that wait for the network. What came while the last batch was written goes out together,
// so many small frames cost one message; a single one is held up only as session.joins has it.
type batch struct {
	buf   []byte
	parts []part
}

var batches = sync.Pool{New: func() any { return new(batch) }}

func (b *batch) message(kind int, data []byte) {
	start := len(b.buf)
	b.buf = append(b.buf, data...)
	b.parts = append(b.parts, part{kind: kind, start: start, end: len(b.buf)})
}

// release gives the buffers back. One that grew large for one frame is dropped.
func (b *batch) release() {
	if cap(b.buf) > 4*maxQueued {
		b.buf = nil
	}
	b.buf, b.parts = b.buf[:0], b.parts[:0]
	batches.Put(b)
}

// queue hands frames from the goroutine that reads the terminal to the one that writes the network. It is
// bounded: when the network is slow the terminal is not read, and drops for this viewer what it must.
type queue struct {
	rich  bool
	ready chan struct{} // holds one: something is queued
	space chan struct{} // holds one: something was taken

	text  textEncoder // of the plain protocol; used by put only
	next  uint64      // offset after the last output; used by put only
	known bool        // next counts

	mu  sync.Mutex // guards cur
	cur *batch     // nil: empty
}

func newQueue(rich bool) *queue {
	return &queue{rich: rich, ready: make(chan struct{}, 1), space: make(chan struct{}, 1)}
}

// put queues a frame, after waiting for space. It copies the frame's data.
func (q *queue) put(ctx context.Context, f *runtime.Frame) error {
	q.mu.Lock()
	for q.cur != nil && len(q.cur.buf) >= maxQueued {
		q.mu.Unlock()
		select {
		case <-q.space:
		case <-ctx.Done():
			return ctx.Err()
		}
		q.mu.Lock()
	}
	if q.cur == nil {
		q.cur, _ = batches.Get().(*batch)
	}
	if q.rich {
		q.putRich(q.cur, f)
	} else {
		q.putPlain(q.cur, f)
	}
	q.mu.Unlock()
	signal(q.ready)
	return nil
}

// complain queues a control message about something that the client did.
func (q *queue) complain(err error) {
	if !q.rich {
		return
	}
	q.mu.Lock()
	if q.cur == nil {
		q.cur, _ = batches.Get().(*batch)
	}
	// A client that does not read cannot make the queue grow without end.
	if len(q.cur.buf) < maxQueued {
		q.cur.message(websocket.TextMessage, control{Type: controlError, Error: runtime.AsError(err)}.encode())
	}
	q.mu.Unlock()
	signal(q.ready)
}

// size returns how many bytes are queued.
func (q *queue) size() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.cur == nil {
		return 0
	}
	return len(q.cur.buf)
}

// take returns what is queued, or nil.
func (q *queue) take() *batch {
	q.mu.Lock()
	b := q.cur
	q.cur = nil
	q.mu.Unlock()
	signal(q.space)
	return b
}

func (q *queue) putPlain(b *batch, f *runtime.Frame) {
	start := len(b.buf)
	if f.Repaint || f.Lost > 0 {
		b.buf = q.text.flush(b.buf)
	}
	b.buf = q.text.append(b.buf, f.Data)
	if f.Exit != nil {
		b.buf = q.text.flush(b.buf)
	}
	if len(b.buf) > start {
		b.join(websocket.TextMessage, start)
	}
}

func (q *queue) putRich(b *batch, f *runtime.Frame) {
	begin := f.Offset - uint64(len(f.Data))
	if f.Repaint {
		begin = f.Offset
	}
	switch {
	case len(f.Data) > 0 && f.Repaint:
		b.message(websocket.TextMessage, announce(controlRepaint, f, f.Offset).encode())
		b.message(websocket.BinaryMessage, f.Data)
	case len(f.Data) > 0:
		if !q.known || begin != q.next || f.Cols != 0 || f.Lost != 0 {
			b.message(websocket.TextMessage, announce(controlOutput, f, begin).encode())
		}
		start := len(b.buf)
		b.buf = append(b.buf, f.Data...)
		b.join(websocket.BinaryMessage, start)
	case f.Cols != 0 || f.Lost != 0 || !q.known && f.Exit == nil:
		b.message(websocket.TextMessage, announce(controlResized, f, f.Offset).encode())
	}
	q.next, q.known = f.Offset, true
	if f.Exit != nil {
		code := f.Exit.Code
		b.message(websocket.TextMessage, control{Type: controlExit, Offset: f.Offset, Code: &code, Reason: f.Exit.Reason}.encode())
	}
}

func announce(kind string, f *runtime.Frame, offset uint64) control {
	return control{Type: kind, Offset: offset, Lost: f.Lost, Cols: f.Cols, Rows: f.Rows}
}

// join makes the buffer from start on part of the last message, if that is output too, or a message of its own.
func (b *batch) join(kind, start int) {
	if n := len(b.parts); n > 0 {
		last := &b.parts[n-1]
		if last.open && last.kind == kind && last.end == start && len(b.buf)-last.start <= maxMessage {
			last.end = len(b.buf)
			return
		}
	}
	b.parts = append(b.parts, part{kind: kind, start: start, end: len(b.buf), open: true})
}

// signal puts a token into a channel that holds one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
