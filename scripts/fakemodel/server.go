package fakemodel

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of a connection.
const (
	headerTimeout = 10 * time.Second
	bodyTimeout   = time.Minute
	idleTimeout   = 2 * time.Minute
	writeTimeout  = 30 * time.Second // for each piece, so that a client that never reads does not stay
	maxHeader     = 256 << 10
)

// Server is the endpoint. New makes one, Start opens it, and Close ends it; it is not started twice. All
// methods are safe for concurrent use.
type Server struct {
	options Options
	log     *record
	gate    *gate
	wrong   wrongs
	ids     atomic.Uint64
	model   atomic.Uint64 // model requests so far
	places  chan struct{} // one for each model request that is being answered
	dumps   atomic.Int64

	conns sync.WaitGroup // one for each connection, until its goroutine ends
	done  chan struct{}  // closed when nothing runs any more
	err   error          // why serving ended, if not by Close or lifetime; read after done

	mu     sync.Mutex // guards everything below
	url    string
	cancel context.CancelFunc // non-nil once started
	closed bool               // before it was started
}

// New makes a server, without side effects. Start reports options that cannot be used.
func New(o Options) *Server {
	o = o.withDefaults()
	return &Server{
		options: o,
		log:     newRecord(o),
		gate:    newGate(),
		places:  make(chan struct{}, max(o.MaxInflight, 0)),
		done:    make(chan struct{}),
	}
}

// Start listens and serves until Close, or until the lifetime is over.
func (s *Server) Start() error {
	if err := s.options.validate(); err != nil {
		return fmt.Errorf("fakemodel: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cancel != nil || s.closed {
		return errors.New("fakemodel: started or closed before; make a new server")
	}
	listener, err := net.Listen("tcp", s.options.Listen)
	if err != nil {
		return fmt.Errorf("fakemodel: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.options.Lifetime)
	server := &http.Server{
		Handler:           http.HandlerFunc(s.serve),
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ConnState:         s.track,
	}
	s.url, s.cancel = "http://"+listener.Addr().String(), cancel
	go s.run(ctx, server, listener)
	return nil
}

// run serves until ctx ends, and joins everything that answers.
func (s *Server) run(ctx context.Context, server *http.Server, listener net.Listener) {
	defer close(s.done)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	var err error
	select {
	case <-ctx.Done():
		_ = server.Close() // ends Serve, whatever it returns
		<-served
	case err = <-served:
	}
	_ = server.Close() // also ends a connection that was accepted during the first Close
	s.cancel()
	s.err = err
	s.conns.Wait()
}

// track counts connections. Serve reports a new one before it returns, so none is added while run waits.
func (s *Server) track(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.conns.Add(1)
	case http.StateClosed, http.StateHijacked:
		s.conns.Done()
	}
}

// URL is the base of every API, such as http://127.0.0.1:40123, without a slash at the end; empty before Start.
func (s *Server) URL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.url
}

// Done is closed when a started server has ended and nothing of it runs any more.
func (s *Server) Done() <-chan struct{} { return s.done }

// Close ends what is being answered and waits until nothing runs any more. It may be called more than once. The
// error is the first one of serving, or of writing Log and Dump.
func (s *Server) Close() error {
	s.mu.Lock()
	cancel := s.cancel
	if cancel == nil {
		s.closed = true
	}
	s.mu.Unlock()
	if cancel == nil {
		return nil
	}
	cancel()
	<-s.done
	return errors.Join(s.err, s.log.err())
}

// Requests returns what the log remembers, oldest first.
func (s *Server) Requests() []Request { return s.log.list() }

// Reset forgets the requests, also those that TIMES counted, and closes the gates that were released. What is held stays held.
func (s *Server) Reset() {
	s.log.reset()
	s.gate.reset()
	s.wrong.reset()
}

// Await returns the first request that matches, as soon as there is one; the error is that of ctx.
func (s *Server) Await(ctx context.Context, match func(Request) bool) (Request, error) {
	found, err := s.log.await(ctx, match)
	if err != nil {
		return Request{}, err
	}
	return found[0], nil
}

// Release lets the answers pass that HOLD[name] keeps back, and all later ones until Reset. It returns how many
// were kept back.
func (s *Server) Release(name string) (int, error) { return s.gate.release(name) }

// AwaitHeld waits until HOLD[name] keeps an answer back.
func (s *Server) AwaitHeld(ctx context.Context, name string) error {
	return s.gate.awaitHeld(ctx, name)
}

func (s *Server) now() int64 { return s.options.Now().UnixNano() }
