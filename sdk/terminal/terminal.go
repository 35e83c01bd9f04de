package terminal

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/wardroom/wardroom/sdk/runtime"
)

const (
	ackEvery   = 128 << 10 // bytes of output
	inputChunk = 512 << 10 // bytes of one message of ours; the server takes twice as much
	keepBuffer = 1 << 20   // a larger receive buffer is not kept
	sendLimit  = 30 * time.Second
)

var _ runtime.Terminal = (*Terminal)(nil)

// Terminal is the terminal of an agent behind a WebSocket. It is a runtime.Terminal.
type Terminal struct {
	conn     *websocket.Conn
	readOnly bool
	silence  time.Duration
	ctx      context.Context // of the call that attached: the terminal ends with it
	stop     func() bool     // of the watch over ctx

	viewers func(total int, viewers []Viewer) // or nil

	// Used by Recv only.
	buf   []byte
	next  uint64         // offset of the byte that comes next
	ahead *control       // announces the next binary message
	fatal *runtime.Error // what the server said before it closed
	end   error          // what every later Recv returns
	acks  bool           // the server wants acknowledgements
	took  uint64         // bytes of binary messages that Recv returned
	acked uint64         // of them, acknowledged

	write sync.Mutex // serialises messages

	mu        sync.Mutex // guards all below
	closed    bool
	cancelled bool
	said      *runtime.Error // the server's answer to an earlier Input or Resize
}

func newTerminal(ctx context.Context, conn *websocket.Conn, readOnly bool, silence time.Duration) *Terminal {
	t := &Terminal{ctx: ctx, conn: conn, readOnly: readOnly, silence: silence, stop: func() bool { return true }}
	conn.SetReadLimit(maxOutput)
	conn.SetPingHandler(func(data string) error {
		_ = conn.SetReadDeadline(time.Now().Add(silence))
		err := conn.WriteControl(websocket.PongMessage, []byte(data), time.Now().Add(closeGrace))
		if errors.Is(err, websocket.ErrCloseSent) {
			return nil
		}
		return err
	})
	return t
}

// attached waits for the server's word that the agent is there.
func (t *Terminal) attached(deadline time.Time) error {
	_ = t.conn.SetReadDeadline(deadline)
	for {
		kind, data, err := t.conn.ReadMessage()
		if err != nil {
			return t.failed(err)
		}
		var c control
		if kind != websocket.TextMessage || json.Unmarshal(data, &c) != nil {
			return runtime.Errorf(runtime.CodeInternal, "the server's first message is not one of %s", Subprotocol)
		}
		switch c.Type {
		case controlAttached:
			t.acks = c.Window > 0
			return nil
		case controlError:
			return answered(c.Error)
		}
	}
}

// answered makes sure that an error message holds an error.
func answered(e *runtime.Error) *runtime.Error {
	if e == nil {
		return runtime.Errorf(runtime.CodeInternal, "the server reports an error without telling which")
	}
	return e
}

// Recv implements runtime.Terminal.
func (t *Terminal) Recv() (runtime.Frame, error) {
	// Who asks for more has taken what came before.
	if t.acks && t.end == nil && t.took-t.acked >= ackEvery {
		t.acked = t.took
		data, err := json.Marshal(ack{Type: controlAck, Bytes: t.took})
		if err == nil {
			_ = t.send(websocket.TextMessage, data) // a connection that is lost says so below
		}
	}
	for t.end == nil {
		_ = t.conn.SetReadDeadline(time.Now().Add(t.silence))
		kind, reader, err := t.conn.NextReader()
		if err == nil {
			err = t.read(reader)
		}
		if err != nil {
			t.end = t.failed(err)
			break
		}
		if kind == websocket.BinaryMessage {
			return t.output(), nil
		}
		if frame, ok := t.control(); ok {
			return frame, nil
		}
	}
	return runtime.Frame{}, t.end
}

// read reads one message into the buffer, which it uses again and again.
func (t *Terminal) read(reader io.Reader) error {
	if cap(t.buf) > keepBuffer {
		t.buf = nil
	}
	if t.buf == nil {
		t.buf = make([]byte, 0, 4<<10)
	}
	t.buf = t.buf[:0]
	for {
		if len(t.buf) == cap(t.buf) {
			t.buf = append(t.buf, 0)[:len(t.buf)]
		}
		n, err := reader.Read(t.buf[len(t.buf):cap(t.buf)])
		t.buf = t.buf[:len(t.buf)+n]
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (t *Terminal) output() runtime.Frame {
	t.took += uint64(len(t.buf))
	frame := runtime.Frame{Data: t.buf}
	if c := t.ahead; c != nil {
		t.ahead = nil
		t.next = c.Offset
		frame.Repaint, frame.Lost, frame.Cols, frame.Rows = c.Type == controlRepaint, c.Lost, c.Cols, c.Rows
	}
	if !frame.Repaint {
		t.next += uint64(len(t.buf))
	}
	frame.Offset = t.next
	return frame
}

// control acts on a text message. It reports whether it is a frame of its own.
func (t *Terminal) control() (runtime.Frame, bool) {
	var c control
	if err := json.Unmarshal(t.buf, &c); err != nil {
		return runtime.Frame{}, false // of a later version of the protocol
	}
	switch c.Type {
	case controlOutput, controlRepaint:
		t.ahead = &c
	case controlResized:
		t.next = c.Offset
		return runtime.Frame{Offset: c.Offset, Lost: c.Lost, Cols: c.Cols, Rows: c.Rows}, true
	case controlExit:
		exit := runtime.Exit{Reason: c.Reason}
		if c.Code != nil {
			exit.Code = *c.Code
		}
		t.end = io.EOF
		return runtime.Frame{Offset: c.Offset, Exit: &exit}, true
	case controlViewers:
		if t.viewers != nil {
			t.viewers(c.Total, c.Viewers)
		}
	case controlError:
		t.fatal = answered(c.Error)
		t.mu.Lock()
		t.said = t.fatal
		t.mu.Unlock()
		return runtime.Frame{}, false
	}
	t.fatal = nil
	return runtime.Frame{}, false
}

// failed returns why the connection ended.
func (t *Terminal) failed(err error) error {
	t.mu.Lock()
	closed, cancelled := t.closed, t.cancelled
	t.mu.Unlock()
	var ended *websocket.CloseError
	switch {
	case cancelled:
		return ContextError(t.ctx)
	case closed:
		return io.EOF
	case errors.As(err, &ended) && ended.Code == websocket.CloseNormalClosure:
		return io.EOF
	case errors.As(err, &ended) && ended.Code >= 4000 && t.fatal != nil:
		return t.fatal
	case errors.As(err, &ended) && ended.Code == CloseUnknownAgent:
		return runtime.Errorf(runtime.CodeNotFound, "%s", ended.Text)
	}
	e := runtime.Errorf(runtime.CodeUnavailable, "the connection of the terminal was lost")
	e.Retry = true
	return e
}

// Input implements runtime.Terminal. What the server answers to it comes back from a later call.
func (t *Terminal) Input(p []byte) error {
	if t.readOnly {
		return runtime.Errorf(runtime.CodeForbidden, "the terminal was opened read-only")
	}
	for len(p) > 0 {
		n := min(len(p), inputChunk)
		if err := t.send(websocket.BinaryMessage, p[:n]); err != nil {
			return err
		}
		p = p[n:]
	}
	return t.answer()
}

// Resize implements runtime.Terminal.
func (t *Terminal) Resize(cols, rows int) error {
	if cols < 1 || cols > maxSize || rows < 1 || rows > maxSize {
		return invalid("size", "columns and rows must be from 1 to 1000")
	}
	data, err := json.Marshal(resize{Type: controlResize, Cols: cols, Rows: rows})
	if err != nil {
		return runtime.AsError(err)
	}
	if err := t.send(websocket.TextMessage, data); err != nil {
		return err
	}
	return t.answer()
}

func (t *Terminal) send(kind int, data []byte) error {
	t.write.Lock()
	defer t.write.Unlock()
	if err := t.conn.SetWriteDeadline(time.Now().Add(sendLimit)); err == nil {
		if err = t.conn.WriteMessage(kind, data); err == nil {
			return nil
		}
	}
	return runtime.Errorf(runtime.CodeUnavailable, "the terminal is closed")
}

// answer returns what the server said about an earlier call, once.
func (t *Terminal) answer() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if said := t.said; said != nil {
		t.said = nil
		return said
	}
	return nil
}

// Close implements runtime.Terminal.
func (t *Terminal) Close() error {
	t.shut(false)
	t.stop()
	return nil
}

// cancel ends the terminal with its context.
func (t *Terminal) cancel() { t.shut(true) }

func (t *Terminal) shut(cancelled bool) {
	t.mu.Lock()
	first := !t.closed
	if first {
		t.closed, t.cancelled = true, cancelled
	}
	t.mu.Unlock()
	if first {
		// Best effort, and not at the cost of waiting for a network that is stuck.
		_ = t.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), time.Now().Add(100*time.Millisecond))
		_ = t.conn.Close()
	}
}
