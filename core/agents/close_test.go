package agents_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/agents"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

func TestOpenRefusals(t *testing.T) {
	ctx := context.Background()
	if err := agents.New(agents.Options{Store: newMemory(t)}).Open(ctx); core.ErrorCode(err) != core.CodeInternal {
		t.Errorf("without a sink: %v", err)
	}
	bad := agents.Config{MaxMessage: -1}
	if err := agents.New(agents.Options{Store: newMemory(t), Sink: newSink(), Config: bad}).Open(ctx); core.ErrorCode(err) != core.CodeValidation {
		t.Errorf("with a bad configuration: %v", err)
	}
	if err := agents.New(agents.Options{Store: unreadable{newMemory(t)}, Sink: newSink()}).Open(ctx); !errors.Is(err, errFull) {
		t.Errorf("with an unreadable store: %v", err)
	}
	svc := agents.New(agents.Options{Store: newMemory(t), Sink: newSink()})
	if err := svc.Close(ctx); err != nil {
		t.Errorf("close before open: %v", err)
	}
	if err := svc.Open(ctx); err != nil {
		t.Fatal(err)
	}
	if err := svc.Open(ctx); core.ErrorCode(err) != core.CodeInternal {
		t.Errorf("opened twice: %v", err)
	}
	if err := svc.Close(ctx); err != nil {
		t.Error(err)
	}
}

type unreadable struct{ memory }

func (unreadable) AllAgents(context.Context) ([]*core.AgentRecord, error) { return nil, errFull }

// bare registers an agent whose end nobody reads after registered.
func (r *rig) bare(tasks int) (*websocket.Conn, protocol.Registered) {
	r.tb.Helper()
	dialer := websocket.Dialer{
		Subprotocols: []string{protocol.Subprotocol},
		NetDial: func(network, address string) (net.Conn, error) {
			conn, err := net.Dial(network, address)
			if tcp, ok := conn.(*net.TCPConn); ok {
				_ = tcp.SetReadBuffer(4096) // so that the server's writes block soon
			}
			return conn, err
		},
	}
	conn, _, err := dialer.Dial("ws"+strings.TrimPrefix(r.http.URL, "http"), nil)
	if err != nil {
		r.tb.Fatal(err)
	}
	r.tb.Cleanup(func() { _ = conn.Close() })
	register := fmt.Sprintf(`{"type":"register","payload":{"name":"bare","capabilities":["echo"],"config":{"maxConcurrentTasks":%d}}}`, tasks)
	if err := conn.WriteMessage(websocket.TextMessage, []byte(register)); err != nil {
		r.tb.Fatal(err)
	}
	var e protocol.Envelope
	if err := conn.ReadJSON(&e); err != nil {
		r.tb.Fatal(err)
	}
	var reg protocol.Registered
	if err := json.Unmarshal(e.Payload, &reg); err != nil {
		r.tb.Fatal(err)
	}
	return conn, reg
}

// stuff dispatches more than the network takes from an agent that does not read.
func (r *rig) stuff(agentID string) {
	big := task("task_big")
	big.Input = json.RawMessage(`"` + strings.Repeat("x", 16<<20) + `"`)
	if !r.svc.Dispatch(agentID, big) {
		r.tb.Fatal("dispatch")
	}
}

// One write that does not end closes the session by the clock, and the agent keeps its tasks for the grace.
func TestStuckWriteIsClosed(t *testing.T) {
	r := newRig(t, agents.Config{WriteTimeout: 5 * time.Second, CloseTimeout: 50 * time.Millisecond})
	_, reg := r.bare(1)
	r.stuff(reg.AgentID)
	coretest.WaitFor(t, "the end of the session", func() bool {
		r.clock.Advance(time.Second)
		return r.svc.Stats().Sessions == 0
	})
	if a := r.agent(reg.AgentID); a.Status == core.AgentConnected && a.Healthy {
		t.Fatalf("agent: %+v", a)
	}
}

// Close cuts agents that do not read, and store calls that do not return, when its context ends.
func TestCloseIsBounded(t *testing.T) {
	r := newRig(t, agents.Config{CloseTimeout: time.Minute})
	_, reg := r.bare(1)
	r.stuff(reg.AgentID)
	block := make(chan struct{})
	defer close(block)
	r.store.Admit(func(ctx context.Context) error {
		select {
		case <-block:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	p := r.dial()
	p.send(protocol.TypeRegister, "", protocol.Register{Name: "waits", Capabilities: []string{"echo"}})
	coretest.WaitFor(t, "the register frame", func() bool { return r.svc.Stats().FramesRead == 2 })

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := r.svc.ApplyConfig(agents.Config{CloseTimeout: 10 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	if err := r.svc.Close(ctx); !errors.Is(err, context.DeadlineExceeded) { // the last save has no store
		t.Fatalf("close: %v", err)
	}
	if r.svc.Stats().Sessions != 0 {
		t.Fatal("sessions are left")
	}
	if _, response, err := r.tryDial(map[string][]string{"Sec-WebSocket-Protocol": {protocol.Subprotocol}}); err == nil || response.StatusCode != 503 {
		t.Fatalf("a closed service takes connections: %v", err)
	}
}

// Bytes that are not WebSocket end the connection, and only that.
func TestBrokenFraming(t *testing.T) {
	r := newRig(t, agents.Config{})
	p, reg := r.register("one", 1, "echo")
	if _, err := p.conn.NetConn().Write([]byte("GET / HTTP/1.1\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	r.waitLost(reg.AgentID)
	if _, again := r.resume(reg, nil, "echo"); !again.Resumed {
		t.Fatal("not resumed")
	}
}

// A message in many fragments is one message, and its size counts as a whole.
func TestFragments(t *testing.T) {
	r := newRig(t, agents.Config{MaxMessage: 10000})
	p, _ := r.register("one", 1, "echo")
	send := func(id string) error { // the client's buffer holds 4 KiB: each fill is a fragment
		w, err := p.conn.NextWriter(websocket.TextMessage)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, `{"type":"heartbeat","id":%q,"payload":{}}`, id); err != nil {
			return err
		}
		return w.Close()
	}
	id := strings.Repeat("f", 9900)
	if err := send(id); err != nil {
		t.Fatal(err)
	}
	if e := p.expect(protocol.TypeHeartbeatAck, nil); e.ID != id {
		t.Fatalf("the ack repeats %d bytes of id", len(e.ID))
	}
	_ = send(id + id) // the server closes in the middle, so the end may fail
	p.expectClose(websocket.CloseMessageTooBig)
}

func TestPreferredNamesAreRanked(t *testing.T) {
	r := newRig(t, agents.Config{})
	var ids []string
	for _, region := range []string{"us", "eu", "us"} {
		_, id := r.join(protocol.Register{
			Name: "same", Region: region, Capabilities: []string{"echo"}, Config: protocol.RegisterConfig{MaxConcurrentTasks: 2},
		})
		ids = append(ids, id)
	}
	want := core.TaskNeed{Prefer: core.AgentPreference{Names: []string{"same", "same"}, Region: "eu"}}
	for range 2 {
		if got := r.svc.Reserve(want, 1); len(got) != 1 || got[0] != ids[1] {
			t.Fatalf("reserved %v, want %s", got, ids[1])
		}
	}
	first := r.svc.Reserve(want, 1)
	second := r.svc.Reserve(want, 1)
	if len(first) != 1 || len(second) != 1 || first[0] == second[0] {
		t.Fatalf("the load is not spread: %v %v", first, second)
	}
}

// A reload that keeps data in a region sends agents of other regions away, and none of them comes back or gets a task.
func TestRegionIsEnforcedAtReload(t *testing.T) {
	r := newRig(t, agents.Config{})
	far, farID := r.join(protocol.Register{Name: "far", Region: "us", Capabilities: []string{"echo"}})
	_, nearID := r.join(protocol.Register{Name: "near", Region: "eu", Capabilities: []string{"echo"}})
	_, silentID := r.join(protocol.Register{Name: "silent", Capabilities: []string{"echo"}})
	if err := r.svc.ApplyConfig(agents.Config{Region: "eu"}); err != nil {
		t.Fatal(err)
	}
	far.expectClose(4403)
	for range 3 {
		got := r.svc.Reserve(core.TaskNeed{Capabilities: []string{"echo"}, Prefer: core.AgentPreference{Names: []string{"far"}}}, 1)
		if len(got) == 1 && got[0] == farID {
			t.Error("the agent that was sent away gets a task")
		}
	}
	for id, want := range map[string]core.AgentStatus{farID: core.AgentDisconnected, nearID: core.AgentConnected, silentID: core.AgentConnected} {
		if a, err := r.svc.FindAgent(t.Context(), id); err != nil || a.Status != want {
			t.Errorf("%+v, %v", a, err)
		}
	}
	back := r.dial()
	back.send(protocol.TypeRegister, "", protocol.Register{Name: "far", Region: "us", Capabilities: []string{"echo"}})
	var e protocol.Error
	if back.expect(protocol.TypeError, &e); !e.Fatal || !strings.Contains(e.Message, "dataResidency") {
		t.Errorf("it comes back: %+v", e)
	}
}
