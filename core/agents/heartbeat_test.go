package agents_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/agents"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
	"github.com/wardroom/wardroom/sdk/wire"
)

func TestHeartbeatAck(t *testing.T) {
	r := newRig(t, agents.Config{HeartbeatInterval: 7 * time.Second})
	p, reg := r.register("one", 1, "echo")
	if reg.Config.HeartbeatInterval != 7000 || reg.Config.TaskTimeout != 30000 || reg.Config.MaxMessageBytes != 1<<20 {
		t.Fatalf("config: %+v", reg.Config)
	}
	r.clock.Advance(3 * time.Second)
	p.send(protocol.TypeHeartbeat, "h1", protocol.Heartbeat{Status: "healthy", Metrics: map[string]float64{"cpu": 1}})
	var ack protocol.HeartbeatAck
	if e := p.expect(protocol.TypeHeartbeatAck, &ack); e.ID != "h1" || ack.NextHeartbeat != 7000 || !ack.ServerTime.Equal(r.clock.Now()) {
		t.Fatalf("ack: %+v %+v", e, ack)
	}
	if a := r.agent(reg.AgentID); !a.LastHeartbeat.Equal(r.clock.Now()) {
		t.Fatalf("last heartbeat %v", a.LastHeartbeat)
	}
}

func TestMissedHeartbeats(t *testing.T) {
	r := newRig(t, agents.Config{})
	p, reg := r.register("hang", 1, "echo")
	r.give(reg.AgentID, task("task_1"))
	p.expect(protocol.TypeTask, nil)
	r.svc.Release(reg.AgentID, "task_1", "") // so that a slot is free
	registered := r.clock.Now()

	advance(r.clock, 20*time.Second)
	if !r.agent(reg.AgentID).Healthy {
		t.Fatal("unhealthy too early")
	}
	advance(r.clock, time.Second)
	a := r.agent(reg.AgentID)
	if a.Healthy || a.Status != core.AgentConnected {
		t.Fatalf("after two missed: %+v", a)
	}
	data := r.store.eventData(t, core.EventAgentUnhealthy)
	if len(data) != 1 || data[0]["agentId"] != reg.AgentID || data[0]["reason"] != "missed 2 heartbeats" ||
		data[0]["lastHeartbeat"] != registered.Format(wire.TimeLayout) {
		t.Fatalf("events: %v", data)
	}
	if got := r.svc.Reserve(need("echo"), 1); len(got) != 0 {
		t.Fatal("an unhealthy agent got a task")
	}
	if r.svc.CountCapable(need("echo")) != 1 {
		t.Fatal("an unhealthy agent counts as capable")
	}

	// Any frame ends the episode; the next episode fires again.
	p.send(protocol.TypeTaskProgress, "", protocol.TaskProgress{TaskID: "x", Text: "alive"})
	coretest.WaitFor(t, "recovery", func() bool { return r.agent(reg.AgentID).Healthy })
	advance(r.clock, 21*time.Second)
	if n := len(r.store.eventData(t, core.EventAgentUnhealthy)); n != 2 {
		t.Fatalf("%d unhealthy events", n)
	}
	r.svc.Dispatch(reg.AgentID, task("task_2"))
	p.expect(protocol.TypeTask, nil)

	advance(r.clock, 10*time.Second) // the third is missed: dropped, the grace begins
	p.expectClose(4408)
	if _, lost := r.sink.lostTasks(reg.AgentID); lost {
		t.Fatal("no grace")
	}
	advance(r.clock, 30*time.Second)
	if tasks, lost := r.sink.lostTasks(reg.AgentID); !lost || !slices.Equal(tasks, []string{"task_2"}) {
		t.Fatalf("lost: %v %v", tasks, lost)
	}
	data = r.store.eventData(t, core.EventAgentDisconnected)
	if len(data) != 1 || data[0]["graceful"] != false || data[0]["reason"] != "missed 3 heartbeats" || data[0]["name"] != "hang" ||
		data[0]["connectedDuration"] != float64(r.clock.Now().Sub(registered).Milliseconds()) {
		t.Fatalf("events: %v", data)
	}
	if r.svc.Dispatch(reg.AgentID, task("task_3")) {
		t.Fatal("dispatched to an agent that is gone")
	}
	record, _ := r.store.agent(reg.AgentID)
	if record.Resumable || record.Status != core.AgentDisconnected || record.DisconnectedAt == nil {
		t.Fatalf("record: %+v", record)
	}
	if r.svc.CountCapable(need("echo")) != 0 {
		t.Fatal("a gone agent counts")
	}
}

func TestDrainingGetsNoTasks(t *testing.T) {
	r := newRig(t, agents.Config{})
	p, _ := r.register("one", 4, "echo")
	capable := func() int { return r.svc.CountCapable(need("echo")) }
	for _, send := range []func(status string){
		func(status string) { p.send(protocol.TypeHeartbeat, "", protocol.Heartbeat{Status: status}) },
		func(status string) { p.send(protocol.TypeStatusUpdate, "", protocol.StatusUpdate{Status: status}) },
	} {
		asked := r.sink.capacities()
		send(protocol.StatusDraining)
		coretest.WaitFor(t, "draining", func() bool { return capable() == 0 })
		// Who waits for this agent alone has nobody left to wait for.
		coretest.WaitFor(t, "the sink to hear of draining", func() bool { return r.sink.capacities() > asked })
		if got := r.svc.Reserve(need("echo"), 1); len(got) != 0 {
			t.Fatalf("reserved %v", got)
		}
		before := r.sink.capacities()
		send(protocol.StatusBusy)
		coretest.WaitFor(t, "the end of draining", func() bool { return capable() == 1 })
		coretest.WaitFor(t, "the sink to hear of it", func() bool { return r.sink.capacities() > before })
	}
}

func TestStatusUpdateChangesOffer(t *testing.T) {
	r := newRig(t, agents.Config{})
	p, reg := r.register("one", 1, "echo")
	more := 3
	p.send(protocol.TypeStatusUpdate, "", protocol.StatusUpdate{Capabilities: []string{"b", "a", "b"}, MaxTasks: &more})
	coretest.WaitFor(t, "the new offer", func() bool { return r.agent(reg.AgentID).MaxTasks == 3 })
	if got := r.agent(reg.AgentID).Capabilities; !slices.Equal(got, []string{"a", "b"}) {
		t.Fatalf("capabilities %v", got)
	}
	if r.svc.CountCapable(need("echo")) != 0 || r.svc.CountCapable(need("a", "b")) != 1 {
		t.Fatal("the index did not follow")
	}
	for range 3 {
		if got := r.svc.Reserve(need("a"), 1); len(got) != 1 {
			t.Fatal("no slot")
		}
	}
	if got := r.svc.Reserve(need("a"), 1); len(got) != 0 {
		t.Fatal("a slot too many")
	}
	none := 0
	for _, bad := range []protocol.StatusUpdate{{MaxTasks: &none}, {Capabilities: []string{"white space"}}, {Status: "lazy"}} {
		p.send(protocol.TypeStatusUpdate, "s", bad)
		var e protocol.Error
		if p.expect(protocol.TypeError, &e); e.Code != "VALIDATION_ERROR" || e.Fatal {
			t.Fatalf("error: %+v", e)
		}
	}
}

func TestDisconnectFrame(t *testing.T) {
	r := newRig(t, agents.Config{})
	p, reg := r.register("one", 2, "echo")
	r.give(reg.AgentID, task("task_1"))
	p.expect(protocol.TypeTask, nil)
	r.clock.Advance(1500 * time.Millisecond)
	p.send(protocol.TypeDisconnect, "", protocol.Disconnect{Reason: "  going\nhome "})
	p.expectClose(websocket.CloseNormalClosure)
	if tasks, lost := r.sink.lostTasks(reg.AgentID); !lost || !slices.Equal(tasks, []string{"task_1"}) {
		t.Fatalf("lost: %v %v", tasks, lost)
	}
	data := r.store.eventData(t, core.EventAgentDisconnected)
	if len(data) != 1 || data[0]["graceful"] != true || data[0]["reason"] != "going home" || data[0]["connectedDuration"] != 1500.0 {
		t.Fatalf("events: %v", data)
	}
	if a := r.agent(reg.AgentID); a.Status != core.AgentDisconnected || a.DisconnectedAt == nil {
		t.Fatalf("agent: %+v", a)
	}
	r.svc.Release(reg.AgentID, "task_1", "late") // harmless
	advance(r.clock, time.Minute)
	if n := len(r.store.eventData(t, core.EventAgentDisconnected)); n != 1 {
		t.Fatalf("%d events", n)
	}
}

func TestDisconnectByOperator(t *testing.T) {
	r := newRig(t, agents.Config{})
	ctx := context.Background()
	p, reg := r.register("one", 2, "echo")
	a, err := r.svc.DisconnectAgent(ctx, reg.AgentID, "maintenance")
	if err != nil || a.Status != core.AgentDisconnected || !a.DisconnectedAt.Equal(r.clock.Now()) {
		t.Fatalf("%+v %v", a, err)
	}
	p.expectClose(4403)
	r.clock.Advance(time.Minute)
	twice, err := r.svc.DisconnectAgent(ctx, reg.AgentID, "again")
	if err != nil || !twice.DisconnectedAt.Equal(*a.DisconnectedAt) {
		t.Fatalf("%+v %v", twice, err)
	}
	if _, err := r.svc.DisconnectAgent(ctx, "agent_x", ""); core.ErrorCode(err) != core.CodeNotFound {
		t.Fatalf("unknown agent: %v", err)
	}
	data := r.store.eventData(t, core.EventAgentDisconnected)
	if len(data) != 1 || data[0]["graceful"] != true || data[0]["reason"] != "maintenance" {
		t.Fatalf("events: %v", data)
	}

	// In grace too: at once, and graceful.
	p, reg = r.register("two", 2, "echo")
	p.cut()
	r.waitLost(reg.AgentID)
	if a, err := r.svc.DisconnectAgent(ctx, reg.AgentID, ""); err != nil || a.Status != core.AgentDisconnected {
		t.Fatalf("%+v %v", a, err)
	}
	if _, lost := r.sink.lostTasks(reg.AgentID); !lost {
		t.Fatal("the engine was not told")
	}
}

// While the store refuses, an agent is disconnected in memory, and the event follows once it can.
func TestDisconnectWhileStoreIsFull(t *testing.T) {
	r := newRig(t, agents.Config{})
	_, reg := r.register("one", 2, "echo")
	r.store.Break(0, errFull)
	if _, err := r.svc.DisconnectAgent(context.Background(), reg.AgentID, "x"); !errors.Is(err, errFull) {
		t.Fatalf("disconnect: %v", err)
	}
	if _, lost := r.sink.lostTasks(reg.AgentID); !lost {
		t.Fatal("the tasks are not to wait for the disk")
	}
	advance(r.clock, 10*time.Second)
	r.store.Heal()
	advance(r.clock, 10*time.Second)
	if data := r.store.eventData(t, core.EventAgentDisconnected); len(data) != 1 {
		t.Fatalf("events: %v", data)
	}

	// A registration is refused meanwhile: nothing acknowledged would be lost.
	r.store.Break(0, errFull)
	p := r.dial()
	p.send(protocol.TypeRegister, "r", protocol.Register{Name: "n", Capabilities: []string{"a"}})
	var e protocol.Error
	if p.expect(protocol.TypeError, &e); e.Code != "INTERNAL_ERROR" || !e.Fatal {
		t.Fatalf("error: %+v", e)
	}
	p.expectClose(websocket.CloseTryAgainLater)
	r.store.Heal()
}

func TestRegisterTimeout(t *testing.T) {
	r := newRig(t, agents.Config{})
	p := r.dial()
	coretest.WaitFor(t, "the session", func() bool { return r.svc.Stats().Sessions == 1 })
	advance(r.clock, 10*time.Second)
	if r.svc.Stats().Sessions != 1 {
		t.Fatal("closed too early")
	}
	advance(r.clock, time.Second)
	p.expectClose(4408)
}

func TestConfigUpdateReachesSessions(t *testing.T) {
	r := newRig(t, agents.Config{})
	p, _ := r.register("one", 1, "echo")
	if err := r.svc.ApplyConfig(agents.Config{HeartbeatInterval: time.Second, UnhealthyAfter: 5, DisconnectAfter: 5}); core.ErrorCode(err) != core.CodeValidation {
		t.Fatalf("bad config: %v", err)
	}
	if err := r.svc.ApplyConfig(agents.Config{HeartbeatInterval: 5 * time.Second}); err != nil {
		t.Fatal(err)
	}
	var got protocol.ConfigUpdate
	if p.expect(protocol.TypeConfigUpdate, &got); got.Config.HeartbeatInterval != 5000 || got.Reason == "" {
		t.Fatalf("config_update: %+v", got)
	}
	advance(r.clock, 11*time.Second)
	if r.agent(r.only()).Healthy {
		t.Fatal("the new interval does not count")
	}
}

// Agents that kept to the interval so far have the time that a shorter one gives, from when it is sent to them.
func TestShorterIntervalDropsNoAgent(t *testing.T) {
	// The clock may step before it is noted that a frame was written: that is not to count as an agent that does not read.
	r := newRig(t, agents.Config{HeartbeatInterval: time.Minute, WriteTimeout: time.Hour})
	p, reg := r.register("one", 1, "echo")
	advance(r.clock, 50*time.Second)
	if err := r.svc.ApplyConfig(agents.Config{HeartbeatInterval: 10 * time.Second, WriteTimeout: time.Hour}); err != nil {
		t.Fatal(err)
	}
	p.expect(protocol.TypeConfigUpdate, nil)
	advance(r.clock, 10*time.Second)
	if !r.agent(reg.AgentID).Healthy {
		t.Fatal("the agent is given up before its heartbeat is due")
	}
	p.quiet()
	if events := r.store.eventData(t, core.EventAgentUnhealthy); len(events) != 0 {
		t.Errorf("told: %v", events)
	}
	advance(r.clock, 31*time.Second)
	p.expectClose(4408)
}

// only returns the id of the one agent.
func (r *rig) only() string {
	r.tb.Helper()
	list, _, _, err := r.svc.FindAgents(context.Background(), core.AgentFilter{})
	if err != nil || len(list) != 1 {
		r.tb.Fatalf("%d agents, %v", len(list), err)
	}
	return list[0].ID
}
