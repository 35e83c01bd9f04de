package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/wardroom/wardroom/sdk/netlimit"
	"github.com/wardroom/wardroom/sdk/runtime"
)

const (
	shutdownGrace  = 5 * time.Second
	stopStall      = time.Second // how long a client may take nothing once the server stops
	maxConnections = 10_000
)

// Server serves one runtime. New makes it, Run serves until its context ends; Handler can be served elsewhere.
// Ending a server ends connections, not agents.
type Server struct {
	o       Options
	handler http.Handler

	mu       sync.Mutex // guards all below
	name     string     // of the runtime, once it told
	listener *netlimit.Listener
	closing  bool
	sockets  sync.WaitGroup // open WebSockets, which http.Server forgets; Add under mu while not closing
}

// New checks the options; it opens nothing.
func New(o Options) (*Server, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	s := &Server{o: o}
	s.handler = s.routes()
	return s, nil
}

// Handler returns what serves all routes. Its WebSockets end with the context of their requests.
func (s *Server) Handler() http.Handler { return s.handler }

// Open listens. Run does it by itself; Open before it tells the address, and lets errors be seen early.
func (s *Server) Open() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener != nil {
		return nil
	}
	listener, err := net.Listen("tcp", s.o.Listen)
	if err != nil {
		return fmt.Errorf("the runtime server cannot listen: %w", err)
	}
	s.listener = netlimit.New(listener, netlimit.Limits{Stall: streamWrite, Total: maxConnections})
	return nil
}

// Addr returns the address that the server listens on; empty before Open.
func (s *Server) Addr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener == nil {
		return ""
	}
	return s.listener.Addr().String()
}

// Run serves until ctx ends, and then ends streams and waits for calls that are running, for a while. A Server
// runs once.
func (s *Server) Run(ctx context.Context) error {
	if err := s.Open(); err != nil {
		return err
	}
	base, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	server := &http.Server{
		Handler:           s.handler,
		BaseContext:       func(net.Listener) context.Context { return base },
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ConnContext:       netlimit.ConnContext,
		ConnState:         netlimit.ConnState,
		ErrorLog:          s.o.Logger.StandardLogger(nil),
	}
	s.o.Logger.Info("the runtime server listens", "address", s.Addr(), "token", s.o.Token != "")
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(s.listener) }()
	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	cancel() // ends streams and sockets; calls end with an error
	// The caller's context has ended: this one bounds the way out.
	grace, stop := context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
	defer stop()
	s.listener.Drain(stopStall)
	if server.Shutdown(grace) != nil {
		_ = server.Close()
	}
	s.sockets.Wait()
	if err == nil {
		err = <-failed
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// enter counts a WebSocket in, unless the server is closing; the caller calls s.sockets.Done.
func (s *Server) enter() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return runtime.Errorf(runtime.CodeUnavailable, "the server goes down")
	}
	s.sockets.Add(1)
	return nil
}

// runtimeName returns the name of the runtime; empty as long as it does not tell.
func (s *Server) runtimeName(ctx context.Context) string {
	s.mu.Lock()
	name := s.name
	s.mu.Unlock()
	if name != "" {
		return name
	}
	capabilities, err := s.o.Runtime.Capabilities(ctx)
	if err != nil {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.name = capabilities.Name
	return s.name
}
