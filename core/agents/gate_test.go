package agents_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/agents"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// fakeGate allows the capability echo, and one registration of each principal beside those of agents that come back.
type fakeGate struct{ used map[string]int } // guarded by the writer of the store

func (g *fakeGate) CheckAgent(_ context.Context, _ core.Principal, offer core.AgentOffer) error {
	if !slices.Equal(offer.Capabilities, []string{"echo"}) {
		return core.Forbidden("agents.connect", "", "not for %v", offer.Capabilities)
	}
	return nil
}

func (g *fakeGate) AdmitAgent(_ core.Tx, p core.Principal, comesBack bool) error {
	if !comesBack && g.used[p.ID] > 0 {
		return core.Errorf(core.CodeUnauthorized, "used up")
	}
	if !comesBack {
		g.used[p.ID]++
	}
	return nil
}

// gated is a rig whose agents say by a header who they are.
func gated(t *testing.T, config agents.Config) *rig {
	r := &rig{tb: t, store: newMemory(t), clock: coretest.NewClock(), sink: newSink()}
	config.CloseTimeout = 500 * time.Millisecond
	r.svc = agents.New(agents.Options{
		Store: r.store, Clock: r.clock, IDs: core.NewIDs(r.clock), Config: config, Gate: &fakeGate{used: map[string]int{}},
	})
	r.svc.SetSink(r.sink)
	if err := r.svc.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.svc.Reachable()
	r.http = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		who := core.Principal{Kind: core.PrincipalAgent, ID: req.Header.Get("X-Who")}
		r.svc.ServeWS(w, req.WithContext(core.WithPrincipal(req.Context(), who)))
	}))
	t.Cleanup(r.close)
	return r
}

func (r *rig) dialAs(who string) *peer {
	r.tb.Helper()
	p, _, err := r.tryDial(http.Header{"Sec-WebSocket-Protocol": {protocol.Subprotocol}, "X-Who": {who}})
	if err != nil {
		r.tb.Fatal(err)
	}
	return p
}

func (p *peer) barred(code core.Code) {
	p.tb.Helper()
	var e protocol.Error
	p.expect(protocol.TypeError, &e)
	if e.Code != string(code) || !e.Fatal {
		p.tb.Fatalf("%+v, want %s", e, code)
	}
	p.expectClose(4400)
}

// What a credential does not allow is refused with its reason when it is offered, at once and later.
func TestGate(t *testing.T) {
	r := gated(t, agents.Config{})
	bad := r.dialAs("ann")
	bad.send(protocol.TypeRegister, "r1", protocol.Register{Name: "x", Capabilities: []string{"deploy"}})
	bad.barred(core.CodeForbidden)
	good := r.dialAs("ann")
	reg := good.register(protocol.Register{Name: "x", Capabilities: []string{"echo"}})
	if a := r.agent(reg.AgentID); a.CreatedBy != "ann" {
		t.Errorf("%+v", a)
	}
	good.send(protocol.TypeStatusUpdate, "s1", protocol.StatusUpdate{Capabilities: []string{"deploy"}})
	var e protocol.Error
	if env := good.expect(protocol.TypeError, &e); e.Code != string(core.CodeForbidden) || e.Fatal || env.ID != "s1" {
		t.Errorf("%+v", e)
	}
	if a := r.agent(reg.AgentID); !slices.Equal(a.Capabilities, []string{"echo"}) {
		t.Errorf("%v", a.Capabilities)
	}
	second := r.dialAs("ann")
	second.send(protocol.TypeRegister, "r2", protocol.Register{Name: "y", Capabilities: []string{"echo"}})
	second.barred(core.CodeUnauthorized)
}

// A session is resumed by who began it alone, and an agent that is gone comes back with its token once.
func TestResumeIsBound(t *testing.T) {
	r := gated(t, agents.Config{})
	first := r.dialAs("ann")
	reg := first.register(protocol.Register{Name: "x", Capabilities: []string{"echo"}})
	again := func(who string, old protocol.Registered) protocol.Registered {
		t.Helper()
		return r.dialAs(who).register(protocol.Register{
			Name: "x", Capabilities: []string{"echo"}, Resume: &protocol.Resume{AgentID: old.AgentID, Token: old.ResumeToken},
		})
	}
	stolen := again("eve", reg)
	if stolen.Resumed || stolen.AgentID == reg.AgentID {
		t.Fatalf("resumed by another: %+v", stolen)
	}
	if got := again("ann", reg); !got.Resumed || got.AgentID != reg.AgentID {
		t.Fatalf("not resumed: %+v", got)
	}
	if _, err := r.svc.DisconnectAgent(t.Context(), reg.AgentID, ""); err != nil {
		t.Fatal(err)
	}
	back := again("ann", reg)
	if back.Resumed || back.AgentID == reg.AgentID {
		t.Fatalf("%+v", back)
	}
	p := r.dialAs("ann")
	p.send(protocol.TypeRegister, "r", protocol.Register{
		Name: "x", Capabilities: []string{"echo"}, Resume: &protocol.Resume{AgentID: reg.AgentID, Token: reg.ResumeToken},
	})
	p.barred(core.CodeUnauthorized) // the token of the agent that was gone is used up
	if rec, ok := r.store.agent(back.AgentID); !ok || rec.CreatorKind != core.PrincipalAgent || rec.CreatedBy != "ann" {
		t.Errorf("%+v", rec)
	}
}

// One credential has as many connections as it may, and others have theirs.
func TestConnectionsOfOneCredential(t *testing.T) {
	r := gated(t, agents.Config{MaxPerPrincipal: 1})
	first := r.dialAs("ann")
	_, resp, err := r.tryDial(http.Header{"Sec-WebSocket-Protocol": {protocol.Subprotocol}, "X-Who": {"ann"}})
	if err == nil || resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") == "" {
		t.Fatalf("%v %v", resp, err)
	}
	_ = resp.Body.Close()
	r.dialAs("bob")
	first.cut()
	coretest.WaitFor(t, "room for another", func() bool {
		_, resp, err := r.tryDial(http.Header{"Sec-WebSocket-Protocol": {protocol.Subprotocol}, "X-Who": {"ann"}})
		if err != nil && resp != nil {
			_ = resp.Body.Close()
		}
		return err == nil
	})
}
