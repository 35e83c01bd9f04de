package agents_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/agents"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// free returns how many further slots there are, by taking and giving back all.
func (r *rig) free() int {
	r.tb.Helper()
	var taken []string
	for {
		got := r.svc.Reserve(need(), 1)
		if len(got) == 0 {
			break
		}
		taken = append(taken, got...)
	}
	for _, id := range taken {
		r.svc.Release(id, "", "")
	}
	return len(taken)
}

func TestKeepHoldsTheSlot(t *testing.T) {
	r := newRig(t, agents.Config{})
	p, reg := r.register("one", 2, "echo")
	id := reg.AgentID
	r.give(id, task("task_1"))
	p.expect(protocol.TypeTask, nil)
	p.send(protocol.TypeTaskResult, "m1", result("task_1", 1))
	p.expect(protocol.TypeTaskAck, nil)

	r.svc.Keep(id, "task_1", "")
	if a := r.agent(id); a.ActiveTasks != 0 || a.Statistics.TasksCompleted != 1 {
		t.Fatalf("after Keep: %+v", a)
	}
	if n := r.free(); n != 1 {
		t.Fatalf("%d slots are free beside the kept one, want 1", n)
	}
	if n := r.svc.CountCapable(need("echo")); n != 1 {
		t.Fatalf("capable: %d", n)
	}
	for _, unknown := range []string{"task_1", "task_x", ""} { // no task: nothing to keep
		r.svc.Keep(id, unknown, "again")
	}
	r.svc.Keep("agent_x", "task_1", "")
	if n := r.free(); n != 1 {
		t.Fatalf("%d slots are free after keeping what is unknown, want 1", n)
	}

	if !r.svc.Dispatch(id, task("task_2")) { // the next task uses the kept slot
		t.Fatal("dispatch")
	}
	p.expect(protocol.TypeTask, nil)
	if n := r.free(); n != 1 {
		t.Fatalf("%d slots are free beside the task in the kept one, want 1", n)
	}
	r.svc.Keep(id, "task_2", "not needed") // a cancel, and still the slot stays
	var c protocol.TaskCancelled
	if p.expect(protocol.TypeTaskCancelled, &c); c.TaskID != "task_2" || c.Reason != "not needed" {
		t.Fatalf("cancelled: %+v", c)
	}
	if n := r.free(); n != 1 {
		t.Fatalf("%d slots are free, want 1", n)
	}
	r.svc.Release(id, "", "")
	if n := r.free(); n != 2 {
		t.Fatalf("%d slots are free once the kept one was given back, want 2", n)
	}
	r.svc.Release(id, "task_x", "")
	if n := r.free(); n != 2 {
		t.Fatalf("%d slots are free after releasing too much, want 2", n)
	}
	p.quiet()
}

// No reservation may come between the end of a task and the keeping of its slot.
func TestKeepAgainstReserve(t *testing.T) {
	r := newRig(t, agents.Config{})
	_, reg := r.register("one", 1, "echo")
	r.give(reg.AgentID, task("task_0"))
	end := make(chan struct{})
	var thieves sync.WaitGroup
	for range 2 {
		thieves.Go(func() {
			for {
				select {
				case <-end:
					return
				default:
				}
				if got := r.svc.Reserve(need("echo"), 1); len(got) != 0 {
					t.Errorf("reserved %v, whose slot is kept", got)
					return
				}
			}
		})
	}
	for i := range 2000 {
		ids := []string{"task_0", "task_1"}
		r.svc.Keep(reg.AgentID, ids[i%2], "")
		if !r.svc.Dispatch(reg.AgentID, task(ids[(i+1)%2])) {
			t.Fatal("dispatch")
		}
	}
	close(end)
	thieves.Wait()
}

func TestHold(t *testing.T) {
	r := newRig(t, agents.Config{})
	_, one := r.register("one", 1, "echo")
	_, two := r.register("two", 1, "echo")
	left, three := r.register("three", 1, "echo")
	left.send(protocol.TypeDisconnect, "", protocol.Disconnect{})
	left.expectClose(1000)
	r.close()
	r = openRig(t, agents.Config{}, r.store, r.clock)

	if !r.svc.Hold(one.AgentID) || !r.svc.Hold(two.AgentID) {
		t.Fatal("agents in their grace cannot be held")
	}
	if name := r.svc.AgentName(two.AgentID); name != "two" || r.svc.AgentName("agent_x") != "" {
		t.Fatalf("the name of an agent is %q", name)
	}
	if r.svc.Hold(three.AgentID) || r.svc.Hold("agent_x") {
		t.Fatal("held an agent that is gone, or unknown")
	}
	p, again := r.resume(one, []string{}, "echo")
	if !again.Resumed {
		t.Fatal("not resumed")
	}
	// The resume offers four slots; one is held since before it, and one more now.
	if n := r.free(); n != 3 {
		t.Fatalf("%d slots are free, want 3", n)
	}
	if !r.svc.Hold(one.AgentID) {
		t.Fatal("a live agent cannot be held")
	}
	if n := r.free(); n != 2 {
		t.Fatalf("%d slots are free, want 2", n)
	}
	if !r.svc.Dispatch(one.AgentID, task("task_1")) {
		t.Fatal("dispatch")
	}
	p.expect(protocol.TypeTask, nil)
	if n := r.free(); n != 2 {
		t.Fatalf("%d slots are free with a task in a held one, want 2", n)
	}
	for range 5 { // beyond what it offers
		if !r.svc.Hold(one.AgentID) {
			t.Fatal("cannot be held beyond its slots")
		}
	}
	if n := r.free(); n != 0 {
		t.Fatalf("%d slots are free, want none", n)
	}

	for range 4 { // the second does not come back within its grace
		advance(r.clock, 8*time.Second)
		p.quiet()
	}
	if tasks, lost := r.sink.lostTasks(two.AgentID); !lost || len(tasks) != 0 {
		t.Fatalf("lost: %v %v", tasks, lost)
	}
	if r.svc.Hold(two.AgentID) || r.svc.Ask(two.AgentID, core.AgentMessage{MessageID: "msg_1"}) ||
		r.svc.Reply(two.AgentID, core.AgentReply{MessageID: "msg_1"}) {
		t.Fatal("an agent past its grace is gone")
	}
}

// Every agent that is gone for good is reported, with or without tasks, whatever its end.
func TestAgentLostIsAlwaysTold(t *testing.T) {
	r := newRig(t, agents.Config{})
	polite, one := r.register("polite", 1, "echo")
	removed, two := r.register("removed", 1, "echo")
	broken, three := r.register("broken", 1, "echo")
	silent, four := r.register("silent", 2, "echo")

	polite.send(protocol.TypeDisconnect, "", protocol.Disconnect{Reason: "bye"})
	polite.expectClose(1000)
	if _, err := r.svc.DisconnectAgent(context.Background(), two.AgentID, "by hand"); err != nil {
		t.Fatal(err)
	}
	removed.expectClose(4403)
	if _, err := r.svc.DisconnectAgent(context.Background(), two.AgentID, "twice"); err != nil {
		t.Fatal(err)
	}
	broken.cut()
	r.waitLost(three.AgentID)
	advance(r.clock, 100*time.Second) // the grace of the one, the heartbeats and the grace of the other
	silent.expectClose(4408)
	for name, id := range map[string]string{
		"disconnect frame": one.AgentID, "disconnected over the API": two.AgentID, "connection lost": three.AgentID,
		"silent": four.AgentID,
	} {
		if tasks, lost := r.sink.lostTasks(id); !lost || !slices.Equal(tasks, nil) {
			t.Errorf("%s: lost %v, tasks %v", name, lost, tasks)
		}
	}
}
