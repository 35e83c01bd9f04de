package agents

import (
	"errors"
	"io"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// session is one connection of an agent. Its reader goroutine runs all incoming frames, one after the
// other; anyone may send.
type session struct {
	svc    *Service
	conn   *websocket.Conn
	out    outbox
	opened time.Time
	// principal is who made the connection.
	principal core.Principal
	dead      chan struct{}          // closed when the connection is to end
	killed    atomic.Bool            // dead is closed
	why       atomic.Pointer[string] // why the server ends the session, if it does; set once

	agent atomic.Pointer[agent] // nil until registered; set by the reader

	// Belongs to the reader:
	rate bucket
	bad  int // bad frames in a row

	unsettled unsettled
}

// send queues a frame that is appended by build. It reports false when the session ends, also because of
// this frame: the queue is full then.
func (s *session) send(build func([]byte) []byte) bool {
	b := getBuffer()
	*b = build((*b)[:0])
	ok := s.put(*b)
	putBuffer(b)
	return ok
}

// answer is send for the reader: see outbox.putAndWrite.
func (s *session) answer(build func([]byte) []byte) bool {
	b := getBuffer()
	*b = build((*b)[:0])
	sent, full := s.out.putAndWrite(*b, s.svc.config.Load().MaxSendBytes)
	putBuffer(b)
	return s.queued(sent, full)
}

// put queues an encoded frame; see send.
func (s *session) put(payload []byte) bool {
	return s.queued(s.out.put(payload, s.svc.config.Load().MaxSendBytes))
}

func (s *session) queued(sent, full bool) bool {
	switch {
	case sent:
		s.svc.counters.framesSent.Add(1)
	case full:
		s.svc.counters.overflows.Add(1)
		s.shut(closeTryAgain, "the agent reads too slowly", true)
	}
	return sent
}

// sendError answers a frame with an error frame.
func (s *session) sendError(id []byte, code core.Code, message string, fatal bool) {
	now := s.svc.clock.Now()
	s.send(func(b []byte) []byte {
		return appendFrame(b, protocol.TypeError, string(id), now,
			protocol.Error{Code: string(code), Message: message, Fatal: fatal})
	})
}

// shut starts the closing handshake: frames that wait are sent (unless drop), then the close frame, and the
// connection ends when the agent closes its side or the close timeout is over.
func (s *session) shut(code int, reason string, drop bool) {
	s.why.CompareAndSwap(nil, &reason)
	s.out.shut(code, reason, drop, s.svc.config.Load().CloseTimeout)
	s.release()
}

// release wakes the reader if it waits for reports to settle.
func (s *session) release() {
	if s.killed.CompareAndSwap(false, true) {
		close(s.dead)
	}
}

// kill drops the connection at once.
func (s *session) kill() {
	s.out.fail()
	s.release()
	_ = s.conn.NetConn().Close() // an error means that it is closed already
}

// run reads until the connection ends.
func (s *session) run() {
	for !s.killed.Load() {
		buf, err := s.read()
		if s.killed.Load() {
			break
		}
		switch {
		case err == nil:
			s.handle(*buf)
			putBuffer(buf)
		case errors.Is(err, errBinary):
			if s.admit(nil, s.svc.clock.Now()) {
				s.reject(nil, "frames are JSON objects in text messages; this was a binary message")
			}
		default:
			s.ended(err)
		}
		s.gate()
	}
	if a := s.agent.Load(); a != nil {
		s.svc.detach(a, s)
	}
	// The close frame must not be overtaken by a reset, which a close with unread bytes would cause: read
	// on until the agent closes its side, or until the deadline that shut set.
	s.out.flushers.Wait()
	for {
		if _, _, err := s.conn.NextReader(); err != nil {
			break
		}
	}
	s.kill()
}

// errTooBig is returned by read for a message above the limit.
var errTooBig = errors.New("message too big")

// errBinary is returned by read for a binary message, which is skipped.
var errBinary = errors.New("binary message")

// read reads one message into a pooled buffer. It takes the buffer only when a message has begun to come
// in, so that an idle session holds none.
func (s *session) read() (*[]byte, error) {
	kind, r, err := s.conn.NextReader()
	if err != nil {
		return nil, err
	}
	if kind != websocket.TextMessage {
		return nil, errBinary
	}
	limit := s.svc.config.Load().MaxMessage
	buf := getBuffer()
	for {
		b := *buf
		if len(b) == cap(b) {
			b = slices.Grow(b, len(b)+1)
		}
		n, err := r.Read(b[len(b):cap(b)])
		*buf = b[:len(b)+n]
		switch {
		case int64(len(*buf)) > limit:
			err = errTooBig
		case err == nil:
			continue
		case err == io.EOF:
			return buf, nil
		}
		putBuffer(buf)
		return nil, err
	}
}

// ended closes the session after a read error.
func (s *session) ended(err error) {
	var closed *websocket.CloseError
	switch {
	case errors.Is(err, errTooBig):
		s.shut(closeTooBig, "a message is larger than the server takes", false)
	case errors.As(err, &closed) && closed.Code != websocket.CloseAbnormalClosure:
		s.shut(closeNormal, "the agent closed the connection without a disconnect frame", false)
	default: // broken, or not WebSocket any more: nobody reads what waits to be sent
		s.kill()
	}
}

// reason is why the session ended, for events and lists.
func (s *session) reason() string {
	if why := s.why.Load(); why != nil {
		return *why
	}
	return "connection lost"
}
