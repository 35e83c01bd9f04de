package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

const (
	handshakeTimeout = 10 * time.Second // for the upgrade, and again for the registration
	closeTimeout     = time.Second      // for the server to answer a close
	readBufferSize   = 16 << 10
	writeBufferSize  = 4 << 10

	// defaultHeartbeat is used when the server names no interval.
	defaultHeartbeat = 10 * time.Second
	// silentHeartbeats is how many intervals without any frame of the server mean that it is gone.
	silentHeartbeats = 3
)

// writeBuffers are shared by the connections of the process, so that idle agents hold none.
var writeBuffers sync.Pool

// session is one connection, from its registration to its end. The goroutine of serve reads; pump writes,
// beats and ends the session.
type session struct {
	agent *Agent
	ws    *websocket.Conn
	net   *coalescer
	out   *outbox

	disarm func() bool // has the connection outlive the context of connect; set by dial

	offered    protocol.Register // what the server was asked for
	registered protocol.Registered
	interval   chan time.Duration // new heartbeat intervals; capacity 1
	dead       chan struct{}      // closed when the reader has ended
	heard      atomic.Bool        // something of a frame arrived since the last heartbeat
	useful     atomic.Bool        // a frame arrived after the registration: the server works

	writeMu sync.Mutex // one writer at a time: pump, or the reader before it waits for input

	// The rest is the reading goroutine's.
	fatal   *ConnectError // why to give up, or nil
	decoder decoder
	frame   frame  // the frame at hand
	buf     []byte // reused for each frame
}

// connect dials, registers and returns the session. A *ConnectError means that trying again is in vain.
func (a *Agent) connect(ctx context.Context) (*session, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(a.leaving, cancel)()
	s := &session{
		agent:    a,
		out:      newOutbox(),
		interval: make(chan time.Duration, 1),
		dead:     make(chan struct{}),
	}
	if err := s.dial(ctx); err != nil {
		return nil, err
	}
	err := s.register()
	if !s.disarm() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		_ = s.ws.Close()
		return nil, err
	}
	return s, nil
}

// dial opens the WebSocket. The end of whole interrupts the handshake, and what follows until disarm is called.
func (s *session) dial(whole context.Context) error {
	opts := &s.agent.opts
	dial := opts.DialContext
	if dial == nil {
		dial = (&net.Dialer{Timeout: handshakeTimeout}).DialContext
	}
	dialer := websocket.Dialer{
		NetDialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dial(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			s.net = &coalescer{Conn: conn}
			s.disarm = context.AfterFunc(whole, func() { _ = conn.Close() })
			return s.net, nil
		},
		Proxy:            http.ProxyFromEnvironment,
		TLSClientConfig:  opts.TLS,
		HandshakeTimeout: handshakeTimeout,
		ReadBufferSize:   readBufferSize,
		WriteBufferSize:  writeBufferSize,
		WriteBufferPool:  &writeBuffers,
		Subprotocols:     []string{protocol.Subprotocol},
	}
	header := http.Header{}
	maps.Copy(header, opts.Header)
	if opts.Token != "" {
		header.Set("Authorization", "Bearer "+opts.Token)
	}
	ws, resp, err := dialer.DialContext(whole, s.agent.target.String(), header)
	if err != nil {
		return dialError(resp, err)
	}
	if ws.Subprotocol() != protocol.Subprotocol {
		_ = ws.Close()
		return &ConnectError{Message: fmt.Sprintf("it does not speak %s", protocol.Subprotocol)}
	}
	ws.SetReadLimit(opts.MaxFrameBytes)
	s.ws = ws
	return nil
}

// dialError tells refusals that stay from failures that pass. A proxy or a server that is starting may
// answer anything but 401 and 403, so only these stay.
func dialError(resp *http.Response, err error) error {
	if resp == nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden {
		refused := &ConnectError{Status: resp.StatusCode, Message: http.StatusText(resp.StatusCode)}
		var body struct {
			Error struct{ Code, Message string }
		}
		// The library keeps the beginning of the body, which is all of one of ours.
		if json.NewDecoder(resp.Body).Decode(&body) == nil && body.Error.Message != "" {
			refused.Code, refused.Message = body.Error.Code, body.Error.Message
		}
		return refused
	}
	err = fmt.Errorf("connect: HTTP %s: %w", resp.Status, err)
	if seconds, e := strconv.ParseUint(resp.Header.Get("Retry-After"), 10, 31); e == nil {
		return &busyError{wait: min(time.Duration(seconds)*time.Second, longestWait), err: err}
	}
	return err
}

// register sends the register frame and waits for its answer.
func (s *session) register() error {
	a := s.agent
	s.offered = a.registration()
	pushFrame(s.out, protocol.TypeRegister, "", s.offered)
	if err := s.flush(); err != nil {
		return err
	}
	if err := s.ws.SetReadDeadline(time.Now().Add(handshakeTimeout)); err != nil {
		return err
	}
	for {
		if err := s.read(); err != nil {
			if refused := closeRefusal(err); refused != nil {
				return refused
			}
			return fmt.Errorf("register: %w", err)
		}
		switch p := &s.frame.Payload; s.frame.Type {
		case protocol.TypeRegistered:
			r, err := p.registered()
			if err != nil {
				return fmt.Errorf("register: %w", err)
			}
			s.registered = r
			return s.ws.SetReadDeadline(time.Time{})
		case protocol.TypeError:
			e := protocol.Error{Code: p.Code, Message: p.Message, Fatal: p.Fatal}
			if refused := refusal(e); refused != nil {
				return refused
			}
			return fmt.Errorf("register: %s: %s", p.Code, p.Message)
		}
	}
}

// registration describes the agent as it is now.
func (a *Agent) registration() protocol.Register {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := protocol.Register{
		Name:         a.opts.Name,
		Capabilities: a.offer.capabilities,
		Region:       a.opts.Region,
		Metadata:     a.opts.Metadata,
		Config: protocol.RegisterConfig{
			MaxConcurrentTasks: a.offer.maxTasks,
			TaskTimeout:        a.opts.TaskTimeout.Milliseconds(),
		},
	}
	if t := a.opts.Threads; t != nil {
		r.Config.Threads = &protocol.ThreadOffer{Max: t.Max, Types: t.Types}
	}
	if a.id != "" {
		r.Resume = &protocol.Resume{AgentID: a.id, Token: a.token, Tasks: a.ledger.unsettled(), Threads: a.threads.list()}
	}
	return r
}

// serve serves the session until the connection is lost or the agent stops, and returns why it ended.
func (s *session) serve(ctx, work context.Context) error {
	a, r := s.agent, s.registered
	a.remember(r)
	a.maxFrame.Store(r.Config.MaxMessageBytes)
	a.ledger.limit(r.Config.MessagesPerSecond)
	a.threads.limit(r.Config.MessagesPerSecond)
	a.opts.Logger.Info("agent registered", "agent", r.AgentID, "resumed", r.Resumed)
	if a.opts.OnRegistered != nil {
		a.opts.OnRegistered(r)
	}
	s.net.beforeRead = s.flushAnswers
	if !r.Resumed {
		a.inbox.reset() // the messages were for an agent that is gone
	}
	a.ledger.attach(s.out, r.Resumed)
	a.threads.attach(s.out, r.Resumed)
	a.attach(s.out, &s.offered)

	var pump sync.WaitGroup
	pump.Go(func() { s.pump(ctx) })
	if a.threads != nil {
		pump.Go(func() { a.threads.send(s) })
	}
	err := s.receive(work)
	a.detach()
	a.ledger.detach()
	a.threads.detach()
	close(s.dead)
	_ = s.ws.Close()
	pump.Wait()
	if refused := closeRefusal(err); refused != nil {
		return refused
	}
	return err
}

// read reads one frame into s.frame, skipping what is not a text message. A frame that cannot be decoded is
// logged and skipped: the server keeps what it is owed and sends it again.
func (s *session) read() error {
	for {
		kind, r, err := s.ws.NextReader()
		if err != nil {
			return err
		}
		if err := s.readAll(r); err != nil {
			return err
		}
		if kind != websocket.TextMessage {
			continue
		}
		if err := s.decoder.decode(s.buf, &s.frame); err != nil {
			s.agent.opts.Logger.Warn("agent got a frame it cannot read", "agent", s.registered.AgentID, "error", err)
			continue
		}
		return nil
	}
}

// readAll reads all of r into s.buf. Each part of it is a word of the server: a large frame may take longer, on a slow
// line, than a server may be silent.
func (s *session) readAll(r io.Reader) error {
	buf := s.buf[:0]
	if cap(buf) > maxSpare {
		buf = nil
	}
	for {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		s.heard.Store(true)
		if err != nil {
			s.buf = buf
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

// receive reads frames and acts on them until the connection ends.
func (s *session) receive(work context.Context) error {
	for {
		if err := s.read(); err != nil {
			return err
		}
		s.useful.Store(true)
		s.act(work)
		if s.fatal != nil {
			return s.fatal
		}
	}
}

// act acts on s.frame.
func (s *session) act(work context.Context) {
	a, p := s.agent, &s.frame.Payload
	switch s.frame.Type {
	case protocol.TypeTask:
		t := &Task{Task: p.task(), agent: a}
		t.entry.frameID = s.frame.ID
		if t = a.ledger.admit(t); t == nil {
			return
		}
		if !a.opts.Inline {
			a.begin(work, t)
			return
		}
		began := time.Now()
		a.runInline(work, t)
		if time.Since(began) > inlineHold || s.out.size() > corkBytes/4 {
			s.flushAnswers()
		}
	case protocol.TypeTaskAck:
		a.ledger.acknowledge(p.TaskID)
	case protocol.TypeTaskCancelled:
		a.ledger.cancel(p.TaskID, p.Reason)
	case protocol.TypeMessage:
		a.take(work, p.delivery())
	case protocol.TypeMessageReply:
		a.ledger.replied(s.frame.ID, Reply{MessageID: p.MessageID, From: p.From, Content: p.Content})
	case protocol.TypeThreadSpawn, protocol.TypeThreadInput, protocol.TypeThreadStop, protocol.TypeThreadAck:
		if a.threads != nil {
			s.actThread()
		}
	case protocol.TypeConfigUpdate:
		var c protocol.RegisteredConfig
		if err := p.config(&c); err != nil {
			a.opts.Logger.Warn("agent got a config it cannot read", "agent", s.registered.AgentID, "error", err)
			return
		}
		s.reconfigure(c)
	case protocol.TypeError:
		e := protocol.Error{Code: p.Code, Message: p.Message, Fatal: p.Fatal}
		if !e.Fatal && a.threads.refused(s.frame.ID, e) {
			return
		}
		if !e.Fatal && (a.ledger.refused(s.frame.ID, e) || a.refused(s.frame.ID, e)) {
			return
		}
		a.opts.Logger.Warn("agent got an error from the server", "agent", s.registered.AgentID,
			"code", e.Code, "message", e.Message, "fatal", e.Fatal)
		s.fatal = refusal(e)
	}
	// Anything else, heartbeat_ack among it, has done its work by arriving; new kinds of frames are ignored
	// so that a newer server can be served.
}

// actThread acts on a frame about a thread. These are decoded a second time, as what they are.
func (s *session) actThread() {
	var f struct {
		Spawn protocol.ThreadSpawn
		Input protocol.ThreadInput
		Stop  protocol.ThreadStop
		Ack   protocol.ThreadAck
	}
	payload := map[protocol.Type]any{
		protocol.TypeThreadSpawn: &f.Spawn, protocol.TypeThreadInput: &f.Input,
		protocol.TypeThreadStop: &f.Stop, protocol.TypeThreadAck: &f.Ack,
	}[s.frame.Type]
	envelope := struct {
		Payload any `json:"payload"`
	}{payload}
	if err := json.Unmarshal(s.buf, &envelope); err != nil {
		s.agent.opts.Logger.Warn("agent got a frame it cannot read", "agent", s.registered.AgentID, "error", err)
		return
	}
	switch th := s.agent.threads; s.frame.Type {
	case protocol.TypeThreadSpawn:
		th.spawn(f.Spawn)
	case protocol.TypeThreadInput:
		th.input(f.Input)
	case protocol.TypeThreadStop:
		th.stop(f.Stop)
	case protocol.TypeThreadAck:
		th.acknowledge(f.Ack.ThreadID, f.Ack.Sequence)
	}
}

// reconfigure takes over a changed config of the session.
func (s *session) reconfigure(c protocol.RegisteredConfig) {
	if c.MaxMessageBytes > 0 {
		s.agent.maxFrame.Store(c.MaxMessageBytes)
	}
	if c.MessagesPerSecond > 0 {
		s.agent.ledger.limit(c.MessagesPerSecond)
		s.agent.threads.limit(c.MessagesPerSecond)
	}
	if c.HeartbeatInterval <= 0 {
		return
	}
	select {
	case <-s.interval: // one that pump has not taken is out of date
	default:
	}
	s.interval <- millis(c.HeartbeatInterval)
}
