package agent_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/agent/agenttest"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

func TestAgent_Cancel(t *testing.T) {
	srv := newServer(t, agenttest.Options{})
	g := newGate()
	a := run(t, srv, g.handle, func(o *agent.Options) { o.MaxConcurrentTasks = 1 })
	c := accept(t, srv)
	must(t, c.Task(task("running", 1)))
	must(t, c.Task(task("queued", 1)))
	eventually(t, "queued", func() bool { return a.Stats().Queued == 1 })
	must(t, c.Cancel("queued", "not needed"))
	eventually(t, "dropped", func() bool { return a.Stats().Queued == 0 })
	must(t, c.Cancel("unknown", "x"))
	must(t, c.Cancel("running", "deadline"))
	var cancelled *agent.CancelledError
	if err := g.cause(t); !errors.As(err, &cancelled) || cancelled.Reason != "deadline" {
		t.Errorf("cause %v", err)
	}
	// A cancelled task is not reported, and may come again.
	must(t, c.Task(task("running", 2)))
	g.release <- "second"
	if r := nextResult(t, c); r.TaskID != "running" || r.Attempt != 2 {
		t.Errorf("got %+v", r)
	}
	if types := c.Types(); len(types) != 0 {
		t.Errorf("reported too: %v", types)
	}
}

func TestAgent_TaskTimeout(t *testing.T) {
	srv := newServer(t, agenttest.Options{})
	run(t, srv, newGate().handle)
	c := accept(t, srv)
	short := task("t1", 1)
	short.Timeout = 1
	must(t, c.Task(short))
	if e := nextError(t, c); e.Error.Code != agent.CodeTimeout || !e.Retryable {
		t.Errorf("got %+v", e)
	}
}

func TestAgent_StopCancelsAndDisconnects(t *testing.T) {
	srv := newServer(t, agenttest.Options{})
	g := newGate()
	a := run(t, srv, g.handle)
	c := accept(t, srv)
	must(t, c.Task(task("t1", 1)))
	eventually(t, "runs", func() bool { return g.calls.Load() == 1 })
	a.stop()
	if err := g.cause(t); !errors.Is(err, agent.ErrStopped) {
		t.Errorf("cause %v", err)
	}
	var d protocol.Disconnect
	_, err := c.Next(testContext(t), protocol.TypeDisconnect, &d)
	must(t, err)
	if d.Reason != "stopped" {
		t.Errorf("reason %q", d.Reason)
	}
	if err := c.Ended(testContext(t)); !websocket.IsCloseError(err, websocket.CloseNormalClosure) {
		t.Errorf("the connection ended with %v", err)
	}
	must(t, a.end())
	if types := c.Types(); len(types) != 0 {
		t.Errorf("reported too: %v", types)
	}
}

func TestAgent_StopCancelsInlineHandler(t *testing.T) {
	srv := newServer(t, agenttest.Options{})
	g := newGate()
	a := run(t, srv, g.handle, func(o *agent.Options) { o.Inline = true })
	c := accept(t, srv)
	must(t, c.Task(task("t1", 1)))
	eventually(t, "runs", func() bool { return g.calls.Load() == 1 })
	a.stop()
	if err := g.cause(t); !errors.Is(err, agent.ErrStopped) {
		t.Errorf("cause %v", err)
	}
	must(t, a.end())
}

func TestAgent_StopDoesNotWaitForeverForHandlers(t *testing.T) {
	srv := newServer(t, agenttest.Options{})
	started, release := make(chan struct{}), make(chan struct{})
	a := run(t, srv, func(context.Context, *agent.Task) (any, error) {
		close(started)
		<-release // deaf to its context
		return nil, nil
	}, func(o *agent.Options) { o.ShutdownGrace = time.Millisecond })
	c := accept(t, srv)
	must(t, c.Task(task("t1", 1)))
	<-started
	a.stop()
	_, err := c.Next(testContext(t), protocol.TypeDisconnect, nil)
	must(t, err) // the server learns of it though the handler hangs
	close(release)
	must(t, a.end()) // Run waits for the handler
}

// TestAgent_HeartbeatsWhileItStops checks that the server does not take an agent for dead whose handlers use the grace that they
// have, and gets what they bring.
func TestAgent_HeartbeatsWhileItStops(t *testing.T) {
	srv := newServer(t, agenttest.Options{Heartbeat: 5 * time.Millisecond})
	started, release := make(chan struct{}), make(chan struct{})
	a := run(t, srv, func(context.Context, *agent.Task) (any, error) {
		close(started)
		<-release // deaf to its context
		return "done", nil
	}, func(o *agent.Options) { o.ShutdownGrace = patience })
	free := sync.OnceFunc(func() { close(release) })
	t.Cleanup(free)
	c := accept(t, srv)
	must(t, c.Task(task("t1", 1)))
	<-started
	a.stop()
	for draining := 0; draining < 3; {
		var h protocol.Heartbeat
		_, err := c.Next(testContext(t), protocol.TypeHeartbeat, &h)
		must(t, err)
		if h.Status == protocol.StatusDraining {
			draining++
		}
	}
	free()
	if r := nextResult(t, c); string(r.Result) != `"done"` {
		t.Errorf("got %+v", r)
	}
	_, err := c.Next(testContext(t), protocol.TypeDisconnect, nil)
	must(t, err)
	must(t, a.end())
}

func TestAgent_StopWhileDisconnected(t *testing.T) {
	srv := agenttest.NewServer(agenttest.Options{})
	url := srv.URL
	srv.Close() // nobody listens there now
	lost := make(chan struct{}, 1000)
	a, err := agent.New(agent.Options{
		URL: url, Name: "n", Capabilities: []string{"c"}, Handler: echo, ReconnectMin: time.Millisecond,
		Logger: slog.New(slog.NewTextHandler(writerFunc(func(p []byte) (int, error) {
			select {
			case lost <- struct{}{}:
			default:
			}
			return len(p), nil
		}), nil)),
	})
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	result := make(chan error, 1)
	go func() { result <- a.Run(ctx) }()
	<-lost
	cancel()
	must(t, <-result)
	if err := a.Run(ctx); !errors.Is(err, agent.ErrAlreadyRun) {
		t.Errorf("second Run: %v", err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestAgent_Drain(t *testing.T) {
	srv := newServer(t, agenttest.Options{})
	g := newGate()
	a := run(t, srv, g.handle)
	c := accept(t, srv)
	must(t, c.Task(task("t1", 1)))
	eventually(t, "runs", func() bool { return g.calls.Load() == 1 })

	drained := make(chan error, 1)
	go func() { drained <- a.Drain(context.Background()) }()
	var u protocol.StatusUpdate
	_, err := c.Next(testContext(t), protocol.TypeStatusUpdate, &u)
	must(t, err)
	if u.Status != protocol.StatusDraining {
		t.Errorf("status %+v", u)
	}
	c.Drop() // a drain outlives a lost connection, and tells the new one
	c = accept(t, srv)
	_, err = c.Next(testContext(t), protocol.TypeStatusUpdate, &u)
	must(t, err)
	g.release <- "done"
	nextResult(t, c)
	select {
	case err := <-drained:
		t.Fatalf("drained before the acknowledgement: %v", err)
	default:
	}
	must(t, c.Ack("t1"))
	var d protocol.Disconnect
	_, err = c.Next(testContext(t), protocol.TypeDisconnect, &d)
	must(t, err)
	if d.Reason != "drained" {
		t.Errorf("reason %q", d.Reason)
	}
	must(t, <-drained)
	must(t, a.end())
}

func TestAgent_DrainGivesUp(t *testing.T) {
	srv := newServer(t, agenttest.Options{})
	g := newGate()
	a := run(t, srv, g.handle)
	c := accept(t, srv)
	must(t, c.Task(task("t1", 1)))
	eventually(t, "runs", func() bool { return g.calls.Load() == 1 })
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := a.Drain(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("drain: %v", err)
	}
	must(t, a.end())
	if err := g.cause(t); !errors.Is(err, agent.ErrStopped) {
		t.Errorf("cause %v", err)
	}
}

// TestAgent_DrainWhileConnecting plays a server that takes connections and never answers.
func TestAgent_DrainWhileConnecting(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer listener.Close()
	a, err := agent.New(agent.Options{URL: "http://" + listener.Addr().String(), Name: "n", Capabilities: []string{"c"}, Handler: echo})
	must(t, err)
	result := make(chan error, 1)
	go func() { result <- a.Run(context.Background()) }()
	conn, err := listener.Accept()
	must(t, err)
	defer conn.Close()
	began := time.Now()
	must(t, a.Drain(testContext(t)))
	must(t, <-result)
	if took := time.Since(began); took > 5*time.Second { // the handshake may take 10
		t.Errorf("draining an agent that has nothing to do took %s", took)
	}
}

func TestAgent_DrainBeforeRun(t *testing.T) {
	a, err := agent.New(agent.Options{URL: "http://127.0.0.1:1", Name: "n", Capabilities: []string{"c"}, Handler: echo})
	must(t, err)
	must(t, a.Drain(t.Context()))
	if err := a.Run(t.Context()); !errors.Is(err, agent.ErrAlreadyRun) {
		t.Errorf("Run after Drain: %v", err)
	}
}

func TestAgent_StatusUpdates(t *testing.T) {
	srv := newServer(t, agenttest.Options{})
	a := run(t, srv, echo)
	c := accept(t, srv)
	eventually(t, "connected", a.Connected)
	next := func() protocol.StatusUpdate {
		var u protocol.StatusUpdate
		_, err := c.Next(testContext(t), protocol.TypeStatusUpdate, &u)
		must(t, err)
		return u
	}
	a.SetStatus(protocol.StatusBusy, "loading a model")
	if u := next(); u.Status != protocol.StatusBusy || u.Reason != "loading a model" {
		t.Errorf("got %+v", u)
	}
	a.SetCapabilities([]string{"testing", "more"}, "plugin")
	if u := next(); len(u.Capabilities) != 2 || u.Status != "" {
		t.Errorf("got %+v", u)
	}
	a.SetMaxConcurrentTasks(9, "more memory")
	if u := next(); u.MaxTasks == nil || *u.MaxTasks != 9 {
		t.Errorf("got %+v", u)
	}
	a.SetStatus("", "")
	if u := next(); u.Status != protocol.StatusHealthy {
		t.Errorf("got %+v", u)
	}
	c.Drop()
	c = accept(t, srv)
	if r := c.Register; len(r.Capabilities) != 2 || r.Config.MaxConcurrentTasks != 9 {
		t.Errorf("registered again as %+v", r)
	}
}

func TestAgent_SetCapabilitiesThatNoServerTakes(t *testing.T) {
	srv := newServer(t, agenttest.Options{})
	var log lines
	a := run(t, srv, echo, func(o *agent.Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	c := accept(t, srv)
	eventually(t, "connected", a.Connected)
	a.SetCapabilities(nil, "a mistake")
	a.SetCapabilities([]string{"more", " "}, "another")
	if got := log.String(); !strings.Contains(got, "capabilities are empty") || !strings.Contains(got, "capabilities[1] is empty") {
		t.Errorf("logged %q", got)
	}
	a.SetStatus(protocol.StatusBusy, "the next")
	var u protocol.StatusUpdate
	_, err := c.Next(testContext(t), protocol.TypeStatusUpdate, &u)
	must(t, err)
	if u.Status != protocol.StatusBusy { // what was refused did not go out
		t.Errorf("got %+v", u)
	}
	c.Drop()
	if r := accept(t, srv).Register; len(r.Capabilities) != 1 || r.Capabilities[0] != "testing" {
		t.Errorf("registered again with %q", r.Capabilities) // a server refuses an agent without any for good
	}
}

// lines is a log that is read while it is written.
type lines struct {
	mu  sync.Mutex
	all strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

func TestAgent_Heartbeats(t *testing.T) {
	srv := newServer(t, agenttest.Options{Heartbeat: 2 * time.Millisecond})
	g := newGate()
	run(t, srv, g.handle, func(o *agent.Options) {
		o.MaxConcurrentTasks = 1
		o.HeartbeatMetrics = func() map[string]float64 { return map[string]float64{"load": 0.5} }
	})
	c := accept(t, srv)
	var h protocol.Heartbeat
	_, err := c.Next(testContext(t), protocol.TypeHeartbeat, &h)
	must(t, err)
	if h.Status != protocol.StatusHealthy || h.ActiveTasks != 0 || h.Metrics["load"] != 0.5 {
		t.Errorf("got %+v", h)
	}
	must(t, c.Task(task("t1", 1)))
	eventually(t, "busy", func() bool {
		_, err := c.Next(testContext(t), protocol.TypeHeartbeat, &h)
		return err == nil && h.Status == protocol.StatusBusy && h.ActiveTasks == 1
	})
	must(t, c.Send(protocol.TypeConfigUpdate, "", protocol.ConfigUpdate{
		Config: protocol.RegisteredConfig{HeartbeatInterval: 1}, Reason: "test"}))
	_, err = c.Next(testContext(t), protocol.TypeHeartbeat, &h)
	must(t, err)
	g.release <- 1
}

// TestAgent_HeartbeatFiguresThatAreNoNumbers checks that a mean over nothing does not silence an agent.
func TestAgent_HeartbeatFiguresThatAreNoNumbers(t *testing.T) {
	srv := newServer(t, agenttest.Options{Heartbeat: 2 * time.Millisecond})
	run(t, srv, echo, func(o *agent.Options) {
		o.HeartbeatMetrics = func() map[string]float64 {
			return map[string]float64{"mean": math.NaN(), "rate": math.Inf(1), "load": 0.5}
		}
	})
	c := accept(t, srv)
	var h protocol.Heartbeat
	_, err := c.Next(testContext(t), protocol.TypeHeartbeat, &h)
	must(t, err)
	if len(h.Metrics) != 1 || h.Metrics["load"] != 0.5 {
		t.Errorf("got %+v", h)
	}
}

// TestAgent_NumbersOfTheServer checks that times which no duration holds neither end the process nor the task.
func TestAgent_NumbersOfTheServer(t *testing.T) {
	const huge = math.MaxInt64 / int64(time.Millisecond)
	for _, ms := range []int64{huge + 1, 2*huge + 3, math.MaxInt64} { // as a product: negative, half a millisecond, negative
		srv := newServer(t, agenttest.Options{})
		g := newGate()
		run(t, srv, g.handle)
		c := accept(t, srv)
		must(t, c.Send(protocol.TypeConfigUpdate, "", protocol.ConfigUpdate{Config: protocol.RegisteredConfig{HeartbeatInterval: ms}}))
		long := task("t1", 1)
		long.Timeout = ms
		must(t, c.Task(long))
		eventually(t, "runs", func() bool { return g.calls.Load() == 1 })
		select {
		case err := <-g.causes:
			t.Errorf("of %d ms the task was cancelled: %v", ms, err)
		case <-time.After(20 * time.Millisecond):
		}
		must(t, c.Sync(testContext(t)))
		g.release <- 1
	}
}

// TestAgent_SlowFrame checks that a frame which takes longer than the silence of a dead server arrives all the same.
func TestAgent_SlowFrame(t *testing.T) {
	const interval = 10
	var connects atomic.Int64
	arrived := make(chan string, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		up := websocket.Upgrader{Subprotocols: []string{protocol.Subprotocol}, WriteBufferSize: 16}
		ws, err := up.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer ws.Close()
		connects.Add(1)
		beat := func() (err error) { // reads up to the next heartbeat
			for data := []byte(nil); err == nil && !strings.Contains(string(data), `"heartbeat"`); {
				_, data, err = ws.ReadMessage()
			}
			return err
		}
		_ = ws.WriteMessage(websocket.TextMessage, []byte(fmt.Sprintf(
			`{"payload":{"agentId":"a1","resumeToken":"x","config":{"heartbeatInterval":%d}},"type":"registered"}`, interval)))
		out, err := ws.NextWriter(websocket.TextMessage)
		must(t, err)
		for range 8 { // far longer than three heartbeats
			_, _ = io.WriteString(out, strings.Repeat(" ", 64))
			if beat() != nil {
				return
			}
		}
		_, _ = io.WriteString(out, `{"type":"task","id":"f","payload":{"taskId":"slow","input":{},"attempt":1}}`)
		_ = out.Close()
		for {
			_, data, err := ws.ReadMessage()
			if err != nil {
				return
			}
			if strings.Contains(string(data), `"task_result"`) {
				arrived <- string(data)
			}
			_ = ws.WriteMessage(websocket.TextMessage, []byte(`{"type":"heartbeat_ack"}`))
		}
	}))
	defer srv.Close()
	a, err := agent.New(agent.Options{URL: srv.URL, Name: "n", Capabilities: []string{"c"}, Handler: echo,
		ReconnectMin: time.Millisecond, ReconnectMax: time.Millisecond})
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	result := make(chan error, 1)
	go func() { result <- a.Run(ctx) }()
	select {
	case <-arrived:
	case <-testContext(t).Done():
		t.Errorf("the task never arrived, over %d connections", connects.Load())
	}
	cancel()
	must(t, <-result)
}

// TestAgent_SilentServer plays a server that keeps the connection open and says nothing any more.
func TestAgent_SilentServer(t *testing.T) {
	var connects atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		up := websocket.Upgrader{Subprotocols: []string{protocol.Subprotocol}}
		ws, err := up.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer ws.Close()
		connects.Add(1)
		_ = ws.WriteMessage(websocket.TextMessage, []byte(
			`{"payload":{"agentId":"a1","resumeToken":"x","config":{"heartbeatInterval":1}},"type":"registered"}`))
		for {
			if _, _, err := ws.ReadMessage(); err != nil {
				return
			}
		}
	}))
	defer srv.Close()
	a, err := agent.New(agent.Options{URL: srv.URL, Name: "n", Capabilities: []string{"c"}, Handler: echo,
		ReconnectMin: time.Millisecond, ReconnectMax: time.Millisecond})
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	result := make(chan error, 1)
	go func() { result <- a.Run(ctx) }()
	eventually(t, "connects again and again", func() bool { return connects.Load() >= 3 })
	cancel()
	must(t, <-result)
}

func TestAgent_Refused(t *testing.T) {
	t.Run("Credential", func(t *testing.T) {
		srv := newServer(t, agenttest.Options{Token: "right"})
		a := run(t, srv, echo, func(o *agent.Options) { o.Token = "wrong" })
		var refused *agent.ConnectError
		if err := a.end(); !errors.As(err, &refused) || refused.Status != http.StatusUnauthorized {
			t.Errorf("Run: %v", err)
		}
		run(t, srv, echo, func(o *agent.Options) { o.Token = "right" })
		accept(t, srv)
	})
	t.Run("Registration", func(t *testing.T) {
		srv := newServer(t, agenttest.Options{Refuse: func(protocol.Register) *protocol.Error {
			return &protocol.Error{Code: "FORBIDDEN", Message: "capability testing is not yours", Fatal: true}
		}})
		err := run(t, srv, echo).end()
		if err == nil || !strings.Contains(err.Error(), "FORBIDDEN: capability testing is not yours") {
			t.Errorf("Run: %v", err)
		}
	})
	t.Run("ForATime", func(t *testing.T) {
		var asked atomic.Int64
		srv := newServer(t, agenttest.Options{Refuse: func(protocol.Register) *protocol.Error {
			if asked.Add(1) < 3 {
				return &protocol.Error{Code: "INTERNAL_ERROR", Message: "starting", Fatal: true}
			}
			return nil
		}})
		run(t, srv, echo)
		accept(t, srv)
	})
	t.Run("Replaced", func(t *testing.T) {
		srv := newServer(t, agenttest.Options{})
		a := run(t, srv, echo)
		c := accept(t, srv)
		must(t, c.Send(protocol.TypeError, "", protocol.Error{Code: "CONFLICT", Message: "resumed elsewhere", Fatal: true}))
		var refused *agent.ConnectError
		if err := a.end(); !errors.As(err, &refused) || refused.Code != "CONFLICT" {
			t.Errorf("Run: %v", err)
		}
	})
	t.Run("ByAnOperator", func(t *testing.T) {
		srv := newServer(t, agenttest.Options{})
		a := run(t, srv, echo)
		must(t, accept(t, srv).Close(4403, "disconnected by an operator"))
		var refused *agent.ConnectError
		if err := a.end(); !errors.As(err, &refused) || refused.Message != "disconnected by an operator" {
			t.Errorf("Run: %v", err)
		}
	})
	t.Run("ForFlooding", func(t *testing.T) {
		srv := newServer(t, agenttest.Options{})
		run(t, srv, echo)
		must(t, accept(t, srv).Close(4429, "too many frames"))
		if c := accept(t, srv); !c.Registered.Resumed { // after a pause
			t.Error("not resumed")
		}
	})
	t.Run("NotByARestart", func(t *testing.T) {
		srv := newServer(t, agenttest.Options{})
		run(t, srv, echo)
		must(t, accept(t, srv).Close(websocket.CloseServiceRestart, "the server stops"))
		if c := accept(t, srv); !c.Registered.Resumed {
			t.Error("not resumed")
		}
	})
	t.Run("WrongSubprotocol", func(t *testing.T) {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			up := websocket.Upgrader{}
			if ws, err := up.Upgrade(w, r, nil); err == nil {
				_ = ws.Close()
			}
		}))
		defer srv.Close()
		a, err := agent.New(agent.Options{URL: srv.URL, Name: "n", Capabilities: []string{"c"}, Handler: echo})
		must(t, err)
		if err := a.Run(t.Context()); err == nil || !strings.Contains(err.Error(), protocol.Subprotocol) {
			t.Errorf("Run: %v", err)
		}
	})
}

func TestAgent_OddFrames(t *testing.T) {
	srv := newServer(t, agenttest.Options{})
	run(t, srv, echo, func(o *agent.Options) { o.Logger = slog.New(slog.NewTextHandler(io.Discard, nil)) })
	c := accept(t, srv)
	for _, text := range []string{
		``, `null`, `[]`, `{`, `{"type":5}`, `{"type":"from_the_future","payload":{"x":1}}`, `{"type":"task","payload":"x"}`,
		`{"type":"error","payload":{"code":"VALIDATION_ERROR","message":"odd","fatal":false}}`,
		`{"type":"config_update","payload":{"config":5}}`, `{"type":"task_ack"}`, "\x00\xff",
	} {
		must(t, c.SendText([]byte(text)))
	}
	must(t, c.Task(task("t1", 1)))
	nextResult(t, c)
}

func TestAgent_PingIsAnswered(t *testing.T) {
	pong := make(chan string, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		up := websocket.Upgrader{Subprotocols: []string{protocol.Subprotocol}}
		ws, err := up.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer ws.Close()
		ws.SetPongHandler(func(s string) error { pong <- s; return nil })
		_ = ws.WriteMessage(websocket.TextMessage, []byte(`{"type":"registered","payload":{"agentId":"a1","resumeToken":"x"}}`))
		_ = ws.WriteControl(websocket.PingMessage, []byte("hi"), time.Now().Add(time.Second))
		for {
			if _, _, err := ws.ReadMessage(); err != nil {
				return
			}
		}
	}))
	defer srv.Close()
	a, err := agent.New(agent.Options{URL: srv.URL, Name: "n", Capabilities: []string{"c"}, Handler: echo})
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	result := make(chan error, 1)
	go func() { result <- a.Run(ctx) }()
	if got := <-pong; got != "hi" {
		t.Errorf("pong %q", got)
	}
	cancel()
	must(t, <-result)
}
