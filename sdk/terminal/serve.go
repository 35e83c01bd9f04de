package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"github.com/wardroom/wardroom/sdk/netlimit"
	"github.com/wardroom/wardroom/sdk/runtime"
)

const (
	maxSize    = 1000    // columns or rows
	maxInput   = 1 << 20 // bytes of one message of a client
	closeGrace = 2 * time.Second
	ackWindow  = 1 << 20 // bytes of output under way to a viewer that acknowledges
)

// Limits bound a viewer. Zero values are the defaults.
type Limits struct {
	Ping  time.Duration // between pings; 0: 20 s. A viewer that was silent for three of them is cut
	Write time.Duration // for the network to take what is queued; 0: 30 s
	// Join is how long output is gathered at most for a viewer that acknowledges and has half a window to take: each message costs it
	// much more than its bytes do. 0: 10 ms.
	Join time.Duration
}

func (l Limits) join() time.Duration {
	if l.Join <= 0 {
		return 10 * time.Millisecond
	}
	return l.Join
}

func (l Limits) ping() time.Duration {
	if l.Ping <= 0 {
		return 20 * time.Second
	}
	return l.Ping
}

func (l Limits) write() time.Duration {
	if l.Write <= 0 {
		return 30 * time.Second
	}
	return l.Write
}

// session is one viewer's connection.
type session struct {
	conn   *websocket.Conn
	term   runtime.Terminal
	limits Limits
	queue  *queue
	// limited is set if the connection itself ends when the viewer takes nothing. One that is slow then keeps it, which a
	// deadline for a whole message would not let it.
	limited bool

	others func() ([]Viewer, <-chan struct{}) // or nil

	exit *runtime.Exit // set by receive before it ends

	// Of a viewer that acknowledges; window is 0 if it does not.
	window int
	sent   atomic.Uint64 // bytes of binary messages
	acked  atomic.Uint64 // of them, what the viewer took
	acks   chan struct{} // holds one: acked grew
	// What was taken from the queue and waits for the window. Used by write only.
	rest *batch
	at   int // part of rest that comes next
}

// Serve joins a terminal to a connection that Upgrade made, and returns when either ended or ctx did. It closes
// both. The error tells why it ended, for a log: nil when the agent ended or the viewer left in good order.
func Serve(ctx context.Context, conn *websocket.Conn, term runtime.Terminal, limits Limits) error {
	return serve(ctx, conn, term, limits, nil, 0)
}

func serve(
	ctx context.Context, conn *websocket.Conn, term runtime.Terminal, limits Limits, others func() ([]Viewer, <-chan struct{}), window int,
) error {
	s := &session{
		others: others, conn: conn, term: term, limits: limits, queue: newQueue(conn.Subprotocol() == Subprotocol),
		limited: netlimit.Limited(conn.NetConn()), window: window, acks: make(chan struct{}, 1),
	}
	// A write that is stuck may not outlive ctx by long; the deadline of the write itself is up to 30 s away.
	stop := context.AfterFunc(ctx, func() { _ = conn.NetConn().SetWriteDeadline(time.Now().Add(closeGrace)) })
	defer stop()
	inner, cancel := context.WithCancel(ctx)

	var wg sync.WaitGroup
	received, left := make(chan error, 1), make(chan error, 1)
	wg.Go(func() { received <- s.receive(inner) })
	wg.Go(func() { left <- s.input() })

	err := s.write(ctx, received, left)
	cancel()
	_ = term.Close()
	_ = conn.Close()
	wg.Wait()
	for _, b := range []*batch{s.rest, s.queue.take()} {
		if b != nil {
			b.release()
		}
	}
	return err
}

// receive reads the terminal until it ends.
func (s *session) receive(ctx context.Context) error {
	for {
		frame, err := s.term.Recv()
		if err != nil {
			return err
		}
		if frame.Exit != nil {
			s.exit = frame.Exit
		}
		if err := s.queue.put(ctx, &frame); err != nil {
			return err
		}
	}
}

// input reads the connection until it ends. It returns nil when the viewer closed it.
func (s *session) input() error {
	silence := 3 * s.limits.ping()
	s.conn.SetReadLimit(maxInput)
	s.conn.SetPongHandler(func(string) error { return s.conn.SetReadDeadline(time.Now().Add(silence)) })
	for {
		if err := s.conn.SetReadDeadline(time.Now().Add(silence)); err != nil {
			return err
		}
		kind, data, err := s.conn.ReadMessage()
		if err != nil {
			if websocket.IsCloseError(err, websocket.CloseNormalClosure, websocket.CloseGoingAway, websocket.CloseNoStatusReceived) {
				return nil
			}
			return err
		}
		if err := s.take(kind, data); err != nil {
			s.queue.complain(err)
		}
	}
}

// take acts on one message of the client.
func (s *session) take(kind int, data []byte) error {
	if kind == websocket.TextMessage {
		if cols, rows, ok := parseResize(data); ok {
			return s.term.Resize(cols, rows)
		}
		if s.queue.rich {
			if bytes, ok := parseAck(data); ok && s.window > 0 {
				return s.acknowledged(bytes)
			}
			return invalid("type", `a text message must be {"type":"resize","cols":N,"rows":N}; keyboard data goes into binary messages`)
		}
	}
	if len(data) == 0 {
		return nil
	}
	return s.term.Input(data)
}

// acknowledged takes in how many bytes of all that were sent the viewer took.
func (s *session) acknowledged(bytes uint64) error {
	if sent := s.sent.Load(); bytes > sent {
		return invalid("bytes", fmt.Sprintf("acknowledges %d bytes, of which %d were sent", bytes, sent))
	}
	if bytes > s.acked.Load() { // only the goroutine of input stores
		s.acked.Store(bytes)
		signal(s.acks)
	}
	return nil
}

// room reports whether the window has room for a message of output.
func (s *session) room(n int) bool {
	if s.window == 0 {
		return true
	}
	open := int(s.sent.Load() - s.acked.Load())
	return open+n <= s.window || n > s.window*3/4 && open <= s.window/4
}

// joins reports whether what is queued waits for more to go out with it: the viewer has enough to take, and it is no whole message.
func (s *session) joins() bool {
	return s.window > 0 && int(s.sent.Load()-s.acked.Load()) >= s.window/2 && s.queue.size() < maxMessage
}

// write writes what is queued until there is no more, and says goodbye.
func (s *session) write(ctx context.Context, received, left <-chan error) error {
	if s.queue.rich {
		if err := s.message(websocket.TextMessage, control{Type: controlAttached, Window: s.window}.encode()); err != nil {
			return err
		}
	}
	ping := time.NewTicker(s.limits.ping())
	defer ping.Stop()
	joined := time.NewTimer(s.limits.join())
	joined.Stop()
	defer joined.Stop()
	joining := false // joined will go off
	told := 0
	changed, err := s.tellOthers(&told)
	if err != nil {
		return err
	}
	for {
		ready := s.queue.ready
		if s.rest != nil {
			ready = nil
		}
		select {
		case <-changed:
			if changed, err = s.tellOthers(&told); err != nil {
				return err
			}
		case <-ready:
			if s.joins() {
				if !joining {
					joined.Reset(s.limits.join())
				}
				joining = true
				continue
			}
			joining = false
			if err := s.flush(); err != nil {
				return err
			}
		case <-joined.C:
			joining = false
			if err := s.flush(); err != nil {
				return err
			}
		case <-s.acks:
			if err := s.flush(); err != nil {
				return err
			}
		case <-ping.C:
			if err := s.conn.WriteControl(websocket.PingMessage, nil, s.deadline()); err != nil {
				return fmt.Errorf("pinging the viewer: %w", err)
			}
		case err := <-left:
			return err
		case <-ctx.Done():
			s.goodbye(websocket.CloseGoingAway, endedHere, left)
			return context.Cause(ctx)
		case err := <-received:
			if ctx.Err() != nil {
				s.goodbye(websocket.CloseGoingAway, endedHere, left)
				return context.Cause(ctx)
			}
			if done, flushErr := s.flushAll(ctx, left); !done {
				return flushErr
			}
			return s.ended(err, left)
		}
	}
}

// tellOthers tells the viewer who else is there, told being how many it knows of, and returns what is closed when that changes.
func (s *session) tellOthers(told *int) (<-chan struct{}, error) {
	if !s.queue.rich || s.others == nil {
		return nil, nil
	}
	others, changed := s.others()
	if len(others) == 0 && *told == 0 {
		return changed, nil
	}
	*told = len(others)
	c := control{Type: controlViewers, Total: len(others), Viewers: others[:min(len(others), maxViewers)]}
	return changed, s.message(websocket.TextMessage, c.encode())
}

// ended closes the connection after the terminal ended with err.
func (s *session) ended(err error, left <-chan error) error {
	if errors.Is(err, io.EOF) {
		s.goodbye(websocket.CloseNormalClosure, exitReason(s.exit), left)
		return nil
	}
	if s.queue.rich {
		_ = s.message(websocket.TextMessage, control{Type: controlError, Error: runtime.AsError(err)}.encode())
	}
	s.goodbye(CloseCode(err), runtime.AsError(err).Message, left)
	return err
}

func exitReason(exit *runtime.Exit) string {
	switch {
	case exit == nil:
		return "agent stopped"
	case exit.Reason == "":
		return fmt.Sprintf("agent stopped: exit code %d", exit.Code)
	default:
		return fmt.Sprintf("agent stopped: %s, exit code %d", exit.Reason, exit.Code)
	}
}

// flush writes what waits for the window, or else what is queued, as far as there is room.
func (s *session) flush() error {
	if s.rest == nil {
		s.rest, s.at = s.queue.take(), 0
	}
	if s.rest == nil {
		return nil
	}
	for ; s.at < len(s.rest.parts); s.at++ {
		p := s.rest.parts[s.at]
		if p.kind == websocket.BinaryMessage {
			if !s.room(p.end - p.start) {
				return nil // on with the next acknowledgement
			}
			s.sent.Add(uint64(p.end - p.start)) // before it is there, and acknowledged
		}
		if err := s.message(p.kind, s.rest.buf[p.start:p.end]); err != nil {
			return err
		}
	}
	s.rest.release()
	s.rest = nil
	return nil
}

// flushAll writes all there is, once nothing more comes. It returns false when the viewer left or ctx ended meanwhile, or the
// viewer acknowledges nothing for as long as the network may take.
func (s *session) flushAll(ctx context.Context, left <-chan error) (done bool, err error) {
	for {
		if err := s.flush(); err != nil {
			return false, err
		}
		if s.rest == nil { // what came while the rest waited comes next
			if s.rest, s.at = s.queue.take(), 0; s.rest == nil {
				return true, nil
			}
			continue
		}
		timer := time.NewTimer(s.limits.write())
		select {
		case <-s.acks:
			timer.Stop()
		case err := <-left:
			timer.Stop()
			return false, err
		case <-ctx.Done():
			timer.Stop()
			s.goodbye(websocket.CloseGoingAway, endedHere, left)
			return false, context.Cause(ctx)
		case <-timer.C:
			return false, errors.New("the viewer acknowledges nothing")
		}
	}
}

// deadline is that of one write to the viewer; zero: none.
func (s *session) deadline() time.Time {
	if s.limited {
		return time.Time{}
	}
	return time.Now().Add(s.limits.write())
}

func (s *session) message(kind int, data []byte) error {
	if err := s.conn.SetWriteDeadline(s.deadline()); err != nil {
		return err
	}
	if err := s.conn.WriteMessage(kind, data); err != nil {
		return fmt.Errorf("writing to the viewer: %w", err)
	}
	return nil
}

// goodbye sends a close message and waits a little for the answer: closing at once may throw away what the
// viewer has not read yet.
func (s *session) goodbye(code int, reason string, left <-chan error) {
	if SendClose(s.conn, code, reason) != nil {
		return
	}
	select {
	case <-left:
	case <-time.After(closeGrace):
	}
}
