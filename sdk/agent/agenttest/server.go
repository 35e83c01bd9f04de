package agenttest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// Options are what a Server does by itself.
type Options struct {
	// Heartbeat is the interval told to agents. Default one minute: no heartbeats during a test.
	Heartbeat time.Duration
	// MaxMessageBytes is sent to agents; 0 sends nothing.
	MaxMessageBytes int64
	// MessagesPerSecond is sent to agents; 0 sends nothing.
	MessagesPerSecond int
	// Token, when set, must be the bearer credential of every connect; others get 401.
	Token string
	// Refuse, when set, sees each registration and may return an error frame to send instead of an answer.
	Refuse func(protocol.Register) *protocol.Error
}

// Server is a scripted control plane. Safe for concurrent use.
type Server struct {
	URL string // base address, http

	opts     Options
	http     *httptest.Server
	accepted chan *Conn
	closed   chan struct{}
	readers  sync.WaitGroup

	mu     sync.Mutex // guards all below
	count  int
	tokens map[string]string // resume token by agent id
	conns  map[*Conn]bool
}

// NewServer starts a server on a free loopback port. Close ends it.
func NewServer(opts Options) *Server {
	opts.Heartbeat = cmp.Or(opts.Heartbeat, time.Minute)
	s := &Server{
		opts:     opts,
		accepted: make(chan *Conn, 64),
		closed:   make(chan struct{}),
		tokens:   make(map[string]string),
		conns:    make(map[*Conn]bool),
	}
	mux := http.NewServeMux()
	mux.HandleFunc(protocol.Path, s.connect)
	s.http = httptest.NewServer(mux)
	s.URL = s.http.URL
	return s
}

// Close drops all connections and stops.
func (s *Server) Close() {
	close(s.closed)
	s.DropAll()
	s.http.Close()
	s.readers.Wait()
}

// DropAll cuts all connections without a word, as the death of the process does.
func (s *Server) DropAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.Drop()
	}
}

// Forget makes the server not know its agents any more: no resume succeeds.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.tokens)
}

// SetMaxMessageBytes changes the limit that is sent to later sessions, as a restart with another configuration does.
func (s *Server) SetMaxMessageBytes(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opts.MaxMessageBytes = n
}

// Accept returns the next session that was registered.
func (s *Server) Accept(ctx context.Context) (*Conn, error) {
	select {
	case c := <-s.accepted:
		return c, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("no agent registered: %w", ctx.Err())
	}
}

// connect serves one connection up to its registration, and starts its reader.
func (s *Server) connect(w http.ResponseWriter, r *http.Request) {
	if s.opts.Token != "" && r.Header.Get("Authorization") != "Bearer "+s.opts.Token {
		http.Error(w, "unauthorized", http.StatusUnauthorized)
		return
	}
	upgrader := websocket.Upgrader{Subprotocols: []string{protocol.Subprotocol}}
	ws, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	c := &Conn{ws: ws, changed: make(chan struct{})}
	ws.SetPongHandler(c.pong)
	s.mu.Lock()
	select {
	case <-s.closed:
		s.mu.Unlock()
		_ = ws.Close()
		return
	default:
	}
	s.conns[c] = true
	s.readers.Add(1)
	s.mu.Unlock()
	defer s.readers.Done()

	if err := s.register(c); err != nil {
		_ = ws.Close()
		s.remove(c)
		return
	}
	select {
	case s.accepted <- c:
	case <-s.closed:
	}
	c.read()
	s.remove(c)
}

func (s *Server) remove(c *Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

// register reads the register frame and answers it.
func (s *Server) register(c *Conn) error {
	_, data, err := c.ws.ReadMessage()
	if err != nil {
		return err
	}
	var f protocol.Envelope
	if err := json.Unmarshal(data, &f); err != nil {
		return err
	}
	if f.Type != protocol.TypeRegister {
		return fmt.Errorf("the first frame is %s, not register", f.Type)
	}
	if err := json.Unmarshal(f.Payload, &c.Register); err != nil {
		return err
	}
	if s.opts.Refuse != nil {
		if refusal := s.opts.Refuse(c.Register); refusal != nil {
			return errors.Join(c.Send(protocol.TypeError, f.ID, refusal), errors.New("refused"))
		}
	}
	c.Registered = s.answer(c.Register)
	return c.Send(protocol.TypeRegistered, f.ID, c.Registered)
}

// answer decides whether a registration takes up an earlier session. Each session has a new token.
func (s *Server) answer(r protocol.Register) protocol.Registered {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	a := protocol.Registered{
		ResumeToken:  fmt.Sprintf("token-%d", s.count),
		Capabilities: r.Capabilities,
		Config: protocol.RegisteredConfig{
			HeartbeatInterval: s.opts.Heartbeat.Milliseconds(),
			TaskTimeout:       30000,
			MaxMessageBytes:   s.opts.MaxMessageBytes,
			MessagesPerSecond: s.opts.MessagesPerSecond,
		},
	}
	if r.Resume != nil && r.Resume.Token != "" && s.tokens[r.Resume.AgentID] == r.Resume.Token {
		a.AgentID, a.Resumed = r.Resume.AgentID, true
	} else {
		a.AgentID = fmt.Sprintf("agent-%d", s.count)
	}
	s.tokens[a.AgentID] = a.ResumeToken
	return a
}
