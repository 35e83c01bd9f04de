package agents_test

import (
	"context"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/agents"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

func TestRegistrationIsDurableFirst(t *testing.T) {
	r := newRig(t, agents.Config{})
	release := make(chan struct{})
	r.store.Admit(func(ctx context.Context) error {
		select {
		case <-release:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	p := r.dial()
	p.send(protocol.TypeRegister, "r1", protocol.Register{
		Name: "one", Capabilities: []string{"b", "a", "b"}, Region: "eu", Metadata: map[string]any{"model": "m", "version": "1"},
	})
	coretest.WaitFor(t, "the frame", func() bool { return r.svc.Stats().FramesRead == 1 })
	if r.svc.CountCapable(need()) != 0 {
		t.Fatal("the agent is known before it is durable")
	}
	r.store.Admit(nil)
	close(release)
	var reg protocol.Registered
	p.expect(protocol.TypeRegistered, &reg)
	record, ok := r.store.agent(reg.AgentID)
	if !ok || !record.Resumable || record.ResumeHash == reg.ResumeToken || record.Status != core.AgentConnected || record.Name != "one" {
		t.Fatalf("record: %+v", record)
	}
	data := r.store.eventData(t, core.EventAgentConnected)
	if len(data) != 1 || data[0]["agentId"] != reg.AgentID || data[0]["name"] != "one" || data[0]["region"] != "eu" ||
		len(data[0]["capabilities"].([]any)) != 2 || data[0]["metadata"].(map[string]any)["model"] != "m" {
		t.Fatalf("event: %v", data)
	}
	r.dial().register(protocol.Register{Name: "bare", Capabilities: []string{"echo"}})
	data = r.store.eventData(t, core.EventAgentConnected)
	if metadata, ok := data[1]["metadata"].(map[string]any); !ok || len(metadata) != 0 {
		t.Fatalf("metadata of an agent that gave none: %v, want an empty object", data[1]["metadata"])
	}
}

func TestStatisticsAreStored(t *testing.T) {
	r := newRig(t, agents.Config{})
	p, reg := r.register("one", 1, "echo")
	r.give(reg.AgentID, task("task_1"))
	p.expect(protocol.TypeTask, nil)
	p.send(protocol.TypeTaskResult, "", result("task_1", 1))
	p.expect(protocol.TypeTaskAck, nil)
	stored := func() int64 {
		record, _ := r.store.agent(reg.AgentID)
		return record.Statistics.TasksSucceeded
	}
	updates := r.store.Stored()
	for range 3 {
		advance(r.clock, 9*time.Second)
		p.quiet()
	}
	if stored() != 0 || r.store.Stored() != updates {
		t.Fatal("stored too often")
	}
	advance(r.clock, 4*time.Second)
	if stored() != 1 {
		t.Fatal("not stored after 30 s")
	}
	updates = r.store.Stored()
	for range 4 {
		p.quiet()
		advance(r.clock, 9*time.Second)
	}
	if r.store.Stored() != updates {
		t.Fatal("an unchanged agent was stored again")
	}
	p.quiet()
	r.close()
	record, _ := r.store.agent(reg.AgentID)
	if !record.LastHeartbeat.Equal(r.clock.Now()) {
		t.Fatalf("the last heartbeat is not stored on close: %v", record.LastHeartbeat)
	}
}

func TestDisconnectedAgentsAreForgotten(t *testing.T) {
	r := newRig(t, agents.Config{MaxDisconnected: 2})
	var ids []string
	for range 3 {
		p, reg := r.register("one", 1, "echo")
		p.send(protocol.TypeDisconnect, "", protocol.Disconnect{})
		<-p.closed
		ids = append(ids, reg.AgentID)
		r.clock.Advance(time.Millisecond)
	}
	known := func(id string) bool {
		_, err := r.svc.FindAgent(context.Background(), id)
		_, stored := r.store.agent(id)
		if (err == nil) != stored {
			t.Fatalf("%s: registry and store differ", id)
		}
		return stored
	}
	advance(r.clock, 2*time.Second)
	if known(ids[0]) || !known(ids[1]) || !known(ids[2]) {
		t.Fatal("the oldest is to go when there are too many")
	}
	r.clock.Advance(23 * time.Hour)
	if !known(ids[1]) {
		t.Fatal("forgotten too early")
	}
	r.clock.Advance(time.Hour)
	advance(r.clock, 2*time.Second)
	if known(ids[1]) || known(ids[2]) {
		t.Fatal("not forgotten after a day")
	}
}

// A clock that stepped forward makes nothing old: the age of agents that left is decided by Older, which watches the clock.
func TestClockInDoubtForgetsNoAgent(t *testing.T) {
	doubt := true
	r := &rig{tb: t, store: newMemory(t), clock: coretest.NewClock(), sink: newSink()}
	r.start(agents.Options{Older: func(since time.Time, age time.Duration) bool {
		return !doubt && core.OlderBy(r.clock)(since, age)
	}})
	p, reg := r.register("one", 1, "echo")
	p.send(protocol.TypeDisconnect, "", protocol.Disconnect{})
	<-p.closed
	r.clock.Advance(48 * time.Hour)
	advance(r.clock, 2*time.Second)
	if _, stored := r.store.agent(reg.AgentID); !stored {
		t.Fatal("forgotten by a clock that is not believed")
	}
	doubt = false
	advance(r.clock, 2*time.Second)
	if _, stored := r.store.agent(reg.AgentID); stored {
		t.Fatal("not forgotten after a day")
	}
}
