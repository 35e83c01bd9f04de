package server

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/gorilla/websocket"

	"github.com/wardroom/wardroom/sdk/netlimit"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/terminal"
)

const (
	eventProtocol = "wardroom.events.v1" // for clients that must name a subprotocol
	eventPing     = 20 * time.Second
)

// allowed is the check of guard, which has run: the WebSocket library must not add its own.
func allowed(*http.Request) bool { return true }

func (s *Server) terminal(w http.ResponseWriter, r *http.Request) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.sockets.Done()
	id := r.PathValue("id")
	handler := terminal.Handler{
		Open: func(ctx context.Context, opts runtime.AttachOptions) (runtime.Terminal, error) {
			return s.o.Runtime.Attach(ctx, id, opts)
		},
		Refuse:      s.refuse,
		CheckOrigin: allowed,
		Limits:      s.o.Terminal,
	}
	if err := handler.Handle(w, r); err != nil && r.Context().Err() == nil {
		s.o.Logger.Debug("a terminal ended", "agent", id, "reason", err.Error())
	}
	return nil
}

// eventSocket sends event frames. It subscribes before it accepts the connection, so a client that is
// connected misses nothing that it causes.
func (s *Server) eventSocket(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	after, resume, err := sequence(query, "after")
	if err != nil {
		return err
	}
	if err := s.enter(); err != nil {
		return err
	}
	defer s.sockets.Done()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	opts := runtime.EventOptions{AgentID: query.Get("agentId"), After: after, Live: !resume}
	events, err := s.o.Runtime.Events(ctx, opts)
	if err != nil {
		return err
	}
	feed := &eventFeed{server: s, opts: opts, events: events, name: s.runtimeName(ctx)}
	defer feed.close()
	conn, err := terminal.Upgrade(w, r, allowed, s.refuse, eventProtocol)
	if err != nil {
		return nil //nolint:nilerr // refuse has answered
	}
	if err := feed.serve(ctx, cancel, conn); err != nil && r.Context().Err() == nil {
		s.o.Logger.Debug("an event socket ended", "reason", err.Error())
	}
	return nil
}

// eventFeed is one client of /ws/events.
type eventFeed struct {
	server *Server
	name   string
	opts   runtime.EventOptions
	events runtime.EventStream
}

func (f *eventFeed) close() { _ = f.events.Close() }

// serve owns the connection.
func (f *eventFeed) serve(ctx context.Context, cancel func(), conn *websocket.Conn) error {
	left := make(chan struct{})
	go func() { // joined below: closing the connection ends it
		defer close(left)
		defer cancel()
		f.listen(conn)
	}()
	stop := context.AfterFunc(ctx, func() { _ = conn.NetConn().SetWriteDeadline(time.Now().Add(time.Second)) })
	defer stop()
	pings := make(chan struct{})
	go func() { // joined below
		defer close(pings)
		f.ping(ctx, conn)
	}()
	err := f.send(ctx, conn)
	code, text := websocket.CloseGoingAway, "the server goes down"
	if ctx.Err() == nil {
		code, text = terminal.CloseCode(err), runtime.AsError(err).Message
	}
	_ = terminal.SendClose(conn, code, text)
	cancel()
	_ = conn.Close()
	<-left
	<-pings
	return err
}

// listen reads until the client leaves. What clients say is not defined, and ignored.
func (f *eventFeed) listen(conn *websocket.Conn) {
	conn.SetReadLimit(64 << 10)
	conn.SetPongHandler(func(string) error { return conn.SetReadDeadline(time.Now().Add(3 * eventPing)) })
	for {
		if conn.SetReadDeadline(time.Now().Add(3*eventPing)) != nil {
			return
		}
		if _, _, err := conn.NextReader(); err != nil {
			return
		}
	}
}

func (f *eventFeed) ping(ctx context.Context, conn *websocket.Conn) {
	ticker := time.NewTicker(eventPing)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(streamWrite)) != nil {
				return
			}
		}
	}
}

func (f *eventFeed) send(ctx context.Context, conn *websocket.Conn) error {
	for {
		event, err := f.events.Next()
		if runtime.ErrorCode(err) == runtime.CodeLagged && ctx.Err() == nil && f.opts.After > 0 {
			// What this reader missed is kept: it goes on where it was.
			if err := f.resume(ctx); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		f.opts.After = event.Seq
		for _, frame := range frames(&event, f.name) {
			data, err := encode(frame)
			if err != nil {
				return err
			}
			if !netlimit.Limited(conn.NetConn()) {
				if err := conn.SetWriteDeadline(time.Now().Add(streamWrite)); err != nil {
					return err
				}
			}
			if err := conn.WriteMessage(websocket.TextMessage, data); err != nil {
				return errors.Join(errors.New("writing to the client"), err)
			}
		}
	}
}

func (f *eventFeed) resume(ctx context.Context) error {
	_ = f.events.Close()
	f.opts.Live = false
	events, err := f.server.o.Runtime.Events(ctx, f.opts)
	if err != nil {
		return err
	}
	f.events = events
	return nil
}
