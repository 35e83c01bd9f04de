package agents_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/agents"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// rig is a service behind a real HTTP server.
type rig struct {
	tb    testing.TB
	store memory
	sink  *sink
	clock *coretest.Clock
	svc   *agents.Service
	http  *httptest.Server
}

func newRig(tb testing.TB, config agents.Config) *rig {
	tb.Helper()
	return openRig(tb, config, newMemory(tb), coretest.NewClock())
}

// openRig starts a service on what the store holds, as after a restart.
func openRig(tb testing.TB, config agents.Config, store memory, clock *coretest.Clock) *rig {
	tb.Helper()
	s := newSink()
	r := startRig(tb, config, store, clock, s)
	r.sink = s
	return r
}

// startRig is openRig with any sink; it leaves rig.sink to the caller.
func startRig(tb testing.TB, config agents.Config, store memory, clock *coretest.Clock, sink core.TaskSink) *rig {
	tb.Helper()
	return startRigWith(tb, config, store, clock, sink, nil)
}

// startRigWith is startRig with a sink of threads, if it is not nil.
func startRigWith(
	tb testing.TB, config agents.Config, store memory, clock *coretest.Clock, sink core.TaskSink, threads core.ThreadHostSink,
) *rig {
	tb.Helper()
	r := &rig{tb: tb, store: store, clock: clock}
	return r.startWith(agents.Options{Config: config, Sink: sink}, threads)
}

// start opens the service of a rig that has a store, a clock and a sink.
func (r *rig) start(o agents.Options) *rig {
	r.tb.Helper()
	o.Sink = r.sink
	return r.startWith(o, nil)
}

func (r *rig) startWith(o agents.Options, threads core.ThreadHostSink) *rig {
	r.tb.Helper()
	tb := r.tb
	if o.Config.CloseTimeout == 0 {
		o.Config.CloseTimeout = 500 * time.Millisecond
	}
	o.Store, o.Clock, o.IDs = r.store, r.clock, core.NewIDs(r.clock)
	r.svc = agents.New(o)
	r.svc.SetThreadSink(threads)
	if err := r.svc.Open(context.Background()); err != nil {
		tb.Fatal(err)
	}
	r.svc.Reachable()
	r.http = httptest.NewServer(http.HandlerFunc(r.svc.ServeWS))
	tb.Cleanup(r.close)
	return r
}

func (r *rig) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := r.svc.Close(ctx); err != nil {
		r.tb.Errorf("close: %v", err)
	}
	r.http.Close()
}

// peer is an agent's end of a connection. A goroutine reads, so that close frames and answers to pings come
// in at any time.
type peer struct {
	tb     testing.TB
	conn   *websocket.Conn
	frames chan protocol.Envelope
	closed chan struct{}
	err    error // set before closed is closed
}

func (r *rig) dial() *peer {
	r.tb.Helper()
	p, _, err := r.tryDial(http.Header{"Sec-WebSocket-Protocol": {protocol.Subprotocol}})
	if err != nil {
		r.tb.Fatal(err)
	}
	return p
}

func (r *rig) tryDial(header http.Header) (*peer, *http.Response, error) {
	dialer := websocket.Dialer{HandshakeTimeout: 5 * time.Second}
	conn, response, err := dialer.Dial("ws"+strings.TrimPrefix(r.http.URL, "http"), header)
	if err != nil {
		return nil, response, err
	}
	p := &peer{tb: r.tb, conn: conn, frames: make(chan protocol.Envelope, 10000), closed: make(chan struct{})}
	go p.read()
	r.tb.Cleanup(p.cut)
	return p, response, nil
}

func (p *peer) read() {
	defer close(p.closed)
	for {
		kind, data, err := p.conn.ReadMessage()
		if err != nil {
			p.err = err
			return
		}
		var e protocol.Envelope
		if err := json.Unmarshal(data, &e); err != nil || kind != websocket.TextMessage {
			p.tb.Errorf("the server sent %q: %v", data, err)
			return
		}
		if e.Timestamp.IsZero() {
			p.tb.Errorf("the server sent a frame without a timestamp: %s", data)
		}
		p.frames <- e
	}
}

// cut ends the connection as a crash does.
func (p *peer) cut() {
	_ = p.conn.NetConn().Close()
	<-p.closed
}

func (p *peer) send(kind protocol.Type, id string, payload any) {
	p.tb.Helper()
	if err := p.trySend(kind, id, payload); err != nil {
		p.tb.Fatalf("write: %v", err)
	}
}

// trySend is send for a peer whose connection may have ended.
func (p *peer) trySend(kind protocol.Type, id string, payload any) error {
	p.tb.Helper()
	raw, err := json.Marshal(payload)
	if err != nil {
		p.tb.Fatal(err)
	}
	frame, err := json.Marshal(protocol.Envelope{Type: kind, ID: id, Timestamp: time.Now(), Payload: raw})
	if err != nil {
		p.tb.Fatal(err)
	}
	return p.conn.WriteMessage(websocket.TextMessage, frame)
}

func (p *peer) raw(text string) {
	p.tb.Helper()
	if err := p.conn.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
		p.tb.Fatalf("write: %v", err)
	}
}

// expect returns the next frame, which must be of that type, decoded into payload.
func (p *peer) expect(kind protocol.Type, payload any) protocol.Envelope {
	p.tb.Helper()
	var e protocol.Envelope
	select {
	case e = <-p.frames:
	default:
		select {
		case e = <-p.frames:
		case <-p.closed:
			select {
			case e = <-p.frames:
			default:
				p.tb.Fatalf("want a %s frame, the connection ended: %v", kind, p.err)
			}
		case <-time.After(10 * time.Second):
			p.tb.Fatalf("want a %s frame, none came", kind)
		}
	}
	if e.Type != kind {
		p.tb.Fatalf("want a %s frame, got %s %s", kind, e.Type, e.Payload)
	}
	if payload != nil {
		if err := json.Unmarshal(e.Payload, payload); err != nil {
			p.tb.Fatalf("%s: %v", kind, err)
		}
	}
	return e
}

// expectClose waits for the end of the connection, which must come with that code.
func (p *peer) expectClose(code int) {
	p.tb.Helper()
	select {
	case <-p.closed:
	case <-time.After(10 * time.Second):
		p.tb.Fatalf("want close %d, the connection is open", code)
	}
	var closed *websocket.CloseError
	if !errors.As(p.err, &closed) || closed.Code != code {
		p.tb.Fatalf("want close %d, got %v", code, p.err)
	}
}

// quiet checks that nothing but the answer to a heartbeat is on its way.
func (p *peer) quiet() {
	p.tb.Helper()
	p.send(protocol.TypeHeartbeat, "quiet", protocol.Heartbeat{Status: protocol.StatusHealthy})
	if e := p.expect(protocol.TypeHeartbeatAck, nil); e.ID != "quiet" {
		p.tb.Fatalf("heartbeat_ack repeats id %q", e.ID)
	}
}

// register makes a registered agent that takes tasks for capabilities.
func (r *rig) register(name string, tasks int, capabilities ...string) (*peer, protocol.Registered) {
	r.tb.Helper()
	p := r.dial()
	return p, p.register(protocol.Register{
		Name: name, Capabilities: capabilities, Config: protocol.RegisterConfig{MaxConcurrentTasks: tasks},
	})
}

func (p *peer) register(reg protocol.Register) protocol.Registered {
	p.tb.Helper()
	p.send(protocol.TypeRegister, "r1", reg)
	var out protocol.Registered
	if e := p.expect(protocol.TypeRegistered, &out); e.ID != "r1" {
		p.tb.Fatalf("registered repeats id %q", e.ID)
	}
	return out
}

// resume takes up a session on a new connection.
func (r *rig) resume(old protocol.Registered, tasks []string, capabilities ...string) (*peer, protocol.Registered) {
	r.tb.Helper()
	p := r.dial()
	return p, p.register(protocol.Register{
		Name: "again", Capabilities: capabilities, Config: protocol.RegisterConfig{MaxConcurrentTasks: 4},
		Resume: &protocol.Resume{AgentID: old.AgentID, Token: old.ResumeToken, Tasks: tasks},
	})
}

func (r *rig) agent(id string) *core.Agent {
	r.tb.Helper()
	a, err := r.svc.FindAgent(context.Background(), id)
	if err != nil {
		r.tb.Fatal(err)
	}
	return a
}

// waitLost waits until the service noticed that the agent's connection broke.
func (r *rig) waitLost(id string) {
	r.tb.Helper()
	coretest.WaitFor(r.tb, "the lost connection", func() bool { return !r.agent(id).Healthy })
}

func need(capabilities ...string) core.TaskNeed { return core.TaskNeed{Capabilities: capabilities} }

func task(id string) core.Task {
	return core.Task{
		ID: id, ExecutionID: "exec_" + id, PatternName: "p", PatternVersion: "1.0.0", Capability: "echo",
		Input: json.RawMessage(`{"text":"hello"}`), Timeout: 30 * time.Second, Attempt: 1,
	}
}

// give reserves the agent's slot and dispatches the task.
func (r *rig) give(agentID string, t core.Task) {
	r.tb.Helper()
	got := r.svc.Reserve(need(), 1)
	if len(got) != 1 || got[0] != agentID {
		r.tb.Fatalf("reserved %v, want %s", got, agentID)
	}
	if !r.svc.Dispatch(agentID, t) {
		r.tb.Fatal("dispatch: the agent is gone")
	}
}
