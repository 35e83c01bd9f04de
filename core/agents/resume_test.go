package agents_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/agents"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

func TestResumeKeepsIdAndTasks(t *testing.T) {
	r := newRig(t, agents.Config{})
	p, reg := r.register("one", 4, "echo")
	r.give(reg.AgentID, task("task_1"))
	r.give(reg.AgentID, task("task_2"))
	p.expect(protocol.TypeTask, nil)
	p.expect(protocol.TypeTask, nil)
	p.cut()
	r.waitLost(reg.AgentID)

	if a := r.agent(reg.AgentID); a.Status != core.AgentConnected || a.ActiveTasks != 2 {
		t.Fatalf("in grace: %+v", a)
	}
	if got := r.svc.Reserve(need("echo"), 1); len(got) != 0 {
		t.Fatalf("reserved %v of a lost agent", got)
	}
	if n := r.svc.CountCapable(need("echo")); n != 1 {
		t.Fatalf("capable in grace: %d", n)
	}
	advance(r.clock, 29*time.Second)

	p, again := r.resume(reg, []string{"task_1"}, "echo")
	if !again.Resumed || again.AgentID != reg.AgentID || again.ResumeToken != reg.ResumeToken {
		t.Fatalf("resumed: %+v", again)
	}
	var sent protocol.Task // only the one that was not listed
	if p.expect(protocol.TypeTask, &sent); sent.TaskID != "task_2" || sent.Attempt != 1 {
		t.Fatalf("sent again: %+v", sent)
	}
	p.quiet()
	advance(r.clock, 9*time.Second)
	if len(r.store.eventData(t, core.EventAgentConnected)) != 1 || len(r.store.eventData(t, core.EventAgentDisconnected)) != 0 ||
		len(r.store.eventData(t, core.EventAgentUnhealthy)) != 0 {
		t.Fatal("a resume fires no events")
	}
	if _, lost := r.sink.lostTasks(reg.AgentID); lost {
		t.Fatal("the tasks were taken away")
	}
	if a := r.agent(reg.AgentID); !a.Healthy || a.Name != "again" || a.MaxTasks != 4 {
		t.Fatalf("agent: %+v", a)
	}
}

func TestResumeWithoutTaskListSendsAll(t *testing.T) {
	r := newRig(t, agents.Config{})
	p, reg := r.register("one", 4, "echo")
	r.give(reg.AgentID, task("task_1"))
	p.cut()
	r.waitLost(reg.AgentID)
	r.svc.Dispatch(reg.AgentID, task("task_2")) // while it is away

	p, _ = r.resume(reg, nil, "echo")
	var ids []string
	for range 2 {
		var got protocol.Task
		p.expect(protocol.TypeTask, &got)
		ids = append(ids, got.TaskID)
	}
	slices.Sort(ids)
	if !slices.Equal(ids, []string{"task_1", "task_2"}) {
		t.Fatalf("sent again: %v", ids)
	}
}

// A wrong token, an unknown agent and one that is gone look the same: a new agent.
func TestResumeRefusedMakesNewAgent(t *testing.T) {
	r := newRig(t, agents.Config{})
	_, reg := r.register("one", 1, "echo")
	gone, goneReg := r.register("gone", 1, "echo")
	gone.send(protocol.TypeDisconnect, "", protocol.Disconnect{})
	gone.expectClose(websocket.CloseNormalClosure)
	for name, resume := range map[string]protocol.Resume{
		"wrong token":   {AgentID: reg.AgentID, Token: goneReg.ResumeToken},
		"empty token":   {AgentID: reg.AgentID},
		"unknown agent": {AgentID: "agent_x", Token: reg.ResumeToken},
		"gone":          {AgentID: goneReg.AgentID, Token: goneReg.ResumeToken},
	} {
		t.Run(name, func(t *testing.T) {
			p := r.dial()
			got := p.register(protocol.Register{Name: "x", Capabilities: []string{"echo"}, Resume: &resume})
			if got.Resumed || got.AgentID == reg.AgentID || got.AgentID == goneReg.AgentID || got.ResumeToken == resume.Token {
				t.Fatalf("registered: %+v", got)
			}
		})
	}
	if a := r.agent(reg.AgentID); !a.Healthy {
		t.Fatal("the refused resume harmed the agent")
	}
}

// Two places with one token: the later wins, and the earlier is closed with 4409.
func TestResumeFromTwoPlaces(t *testing.T) {
	r := newRig(t, agents.Config{})
	first, reg := r.register("one", 2, "echo")
	r.give(reg.AgentID, task("task_1"))
	first.expect(protocol.TypeTask, nil)

	second, again := r.resume(reg, []string{"task_1"}, "echo")
	if !again.Resumed {
		t.Fatalf("registered: %+v", again)
	}
	first.expectClose(4409)
	second.quiet()
	if a := r.agent(reg.AgentID); !a.Healthy || a.ActiveTasks != 1 {
		t.Fatalf("agent: %+v", a)
	}
	// The end of the replaced session must not start a grace.
	advance(r.clock, 9*time.Second)
	second.quiet()
	second.send(protocol.TypeTaskResult, "a", result("task_1", 1))
	second.expect(protocol.TypeTaskAck, nil)
}

// A report that was under way when the connection broke is acknowledged on the new one, once it settles.
func TestAckFollowsTheAgent(t *testing.T) {
	r := newRig(t, agents.Config{})
	r.sink.hold()
	p, reg := r.register("one", 1, "echo")
	r.give(reg.AgentID, task("task_1"))
	p.send(protocol.TypeTaskResult, "m1", result("task_1", 1))
	coretest.WaitFor(t, "the report", func() bool { return len(r.sink.all()) == 1 })
	p.cut()
	r.waitLost(reg.AgentID)
	p, _ = r.resume(reg, []string{"task_1"}, "echo")
	p.send(protocol.TypeTaskResult, "m2", result("task_1", 1)) // the agent sends it again
	coretest.WaitFor(t, "the double report", func() bool { return len(r.sink.all()) == 2 })
	for _, report := range r.sink.all() {
		report.Settled()
		report.Settled() // a second call changes nothing
	}
	for _, id := range []string{"m1", "m2"} {
		if e := p.expect(protocol.TypeTaskAck, nil); e.ID != id {
			t.Fatalf("ack answers %q, want %q", e.ID, id)
		}
	}
	p.quiet()
	if s := r.agent(reg.AgentID).Statistics; s.TasksCompleted != 1 {
		t.Fatalf("counted twice: %+v", s)
	}
}

// A task whose answer is durable is not sent again, although the agent forgot it.
func TestResumeDoesNotResendSettledTasks(t *testing.T) {
	r := newRig(t, agents.Config{})
	p, reg := r.register("one", 1, "echo")
	r.give(reg.AgentID, task("task_1"))
	p.expect(protocol.TypeTask, nil)
	p.send(protocol.TypeTaskResult, "m1", result("task_1", 1))
	p.expect(protocol.TypeTaskAck, nil)
	p.cut()
	r.waitLost(reg.AgentID)
	p, _ = r.resume(reg, []string{}, "echo")
	p.quiet()
}

func TestCancelReachesResumedAgent(t *testing.T) {
	r := newRig(t, agents.Config{})
	p, reg := r.register("one", 4, "echo")
	for _, id := range []string{"task_1", "task_2"} {
		r.give(reg.AgentID, task(id))
		p.expect(protocol.TypeTask, nil)
	}
	r.svc.Release(reg.AgentID, "task_1", "deadline")
	var got protocol.TaskCancelled
	if p.expect(protocol.TypeTaskCancelled, &got); got.TaskID != "task_1" || got.ExecutionID != "exec_task_1" || got.Reason != "deadline" {
		t.Fatalf("cancelled: %+v", got)
	}
	p.cut()
	r.waitLost(reg.AgentID)
	r.svc.Release(reg.AgentID, "task_2", "cancelled by its caller")
	p, _ = r.resume(reg, []string{"task_2"}, "echo")
	if p.expect(protocol.TypeTaskCancelled, &got); got.TaskID != "task_2" || got.Reason != "cancelled by its caller" {
		t.Fatalf("cancelled: %+v", got)
	}
	p.quiet()
}

// A task that was given up while its agent was away, and then handed to it anew, is work for it again: the agent knows the
// attempt before, which it is to stop.
func TestTaskHandedOutAnewWhileAway(t *testing.T) {
	r := newRig(t, agents.Config{})
	p, reg := r.register("one", 1, "echo")
	r.give(reg.AgentID, task("task_1"))
	p.expect(protocol.TypeTask, nil)
	p.cut()
	r.waitLost(reg.AgentID)
	r.svc.Keep(reg.AgentID, "task_1", "task timeout")
	again := task("task_1")
	again.Attempt = 2
	if !r.svc.Dispatch(reg.AgentID, again) {
		t.Fatal("dispatch")
	}
	p, _ = r.resume(reg, []string{"task_1"}, "echo")
	p.expect(protocol.TypeTaskCancelled, nil)
	var got protocol.Task
	if p.expect(protocol.TypeTask, &got); got.TaskID != "task_1" || got.Attempt != 2 {
		t.Fatalf("handed out: %+v", got)
	}
	p.send(protocol.TypeTaskResult, "m1", result("task_1", 2))
	p.expect(protocol.TypeTaskAck, nil)
	p.quiet()
}

// The agent may have lost the frame that handed a further attempt to it: it lists the one before.
func TestLaterAttemptIsSentAgain(t *testing.T) {
	again := task("task_1")
	again.Attempt = 2
	t.Run("Dispatch", func(t *testing.T) {
		r := newRig(t, agents.Config{})
		p, reg := r.register("one", 1, "echo")
		r.give(reg.AgentID, again)
		p.cut()
		r.waitLost(reg.AgentID)
		p, _ = r.resume(reg, []string{"task_1"}, "echo")
		p.expect(protocol.TypeTask, nil)
		p.quiet()
	})
	t.Run("Adopt", func(t *testing.T) {
		r := newRig(t, agents.Config{})
		p, reg := r.register("one", 1, "echo")
		p.cut()
		r.waitLost(reg.AgentID)
		p, _ = r.resume(reg, []string{"task_1"}, "echo")
		if !r.svc.Adopt(reg.AgentID, again) {
			t.Fatal("adopt")
		}
		p.expect(protocol.TypeTask, nil)
		p.quiet()
	})
}

// However long a start takes, the agents' time to come back begins when they can.
func TestSlowStart(t *testing.T) {
	r := newRig(t, agents.Config{})
	_, one := r.register("one", 1, "echo")
	r.close()
	store, clock, sink := r.store, r.clock, newSink()
	svc := agents.New(agents.Options{Store: store, Clock: clock, IDs: core.NewIDs(clock), Config: agents.Config{ResumeGrace: 30 * time.Second}})
	svc.SetSink(sink)
	if err := svc.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	r = &rig{tb: t, svc: svc, store: store, clock: clock, sink: sink, http: httptest.NewServer(http.HandlerFunc(svc.ServeWS))}
	t.Cleanup(r.close)
	status := func() core.AgentStatus { return r.agent(one.AgentID).Status }
	for range 300 { // executions are resumed all that time
		clock.Advance(time.Second)
	}
	if got := status(); got != core.AgentConnected {
		t.Fatalf("before it could come back it is %s", got)
	}
	if until := r.agent(one.AgentID).HeldUntil; until != nil {
		t.Errorf("before it could come back it is held until %v", until)
	}
	svc.Reachable()
	if until := r.agent(one.AgentID).HeldUntil; until == nil || !until.Equal(clock.Now().Add(30*time.Second)) {
		t.Errorf("at %v it is held until %v", clock.Now(), until)
	}
	for range 28 {
		clock.Advance(time.Second)
	}
	if got := status(); got != core.AgentConnected {
		t.Errorf("within its time it is %s", got)
	}
	coretest.WaitFor(t, "its time to be over", func() bool {
		clock.Advance(time.Second)
		return status() == core.AgentDisconnected
	})
}

func TestRestartOfTheServer(t *testing.T) {
	r := newRig(t, agents.Config{})
	p1, one := r.register("one", 2, "echo")
	_, two := r.register("two", 2, "echo")
	r.give(one.AgentID, task("task_1"))
	p1.expect(protocol.TypeTask, nil)
	r.close()
	p1.expectClose(websocket.CloseServiceRestart)
	record, _ := r.store.agent(one.AgentID)
	if !record.Resumable || record.Status != core.AgentConnected || len(record.ResumeHash) != 64 {
		t.Fatalf("record: %+v", record)
	}

	r.clock.Advance(time.Hour) // a long stop: the grace begins at the start
	r = openRig(t, agents.Config{}, r.store, r.clock)
	if a := r.agent(one.AgentID); a.Status != core.AgentConnected || a.Healthy {
		t.Fatalf("after the restart: %+v", a)
	}
	if !r.svc.Adopt(one.AgentID, task("task_1")) || !r.svc.Adopt(two.AgentID, task("task_2")) || r.svc.Adopt("agent_x", task("t")) {
		t.Fatal("adopt")
	}
	p1, again := r.resume(one, []string{"task_1"}, "echo")
	if !again.Resumed || again.AgentID != one.AgentID {
		t.Fatalf("resumed: %+v", again)
	}
	p1.quiet()
	// Adoption may come after the resume: the agent said what it has.
	r.svc.Adopt(one.AgentID, task("task_3"))
	var sent protocol.Task
	if p1.expect(protocol.TypeTask, &sent); sent.TaskID != "task_3" {
		t.Fatalf("sent: %+v", sent)
	}
	for range 4 { // the one heartbeats, the other does not come back
		advance(r.clock, 8*time.Second)
		p1.quiet()
	}
	if tasks, lost := r.sink.lostTasks(two.AgentID); !lost || !slices.Equal(tasks, []string{"task_2"}) {
		t.Fatalf("lost: %v %v", tasks, lost)
	}
	if data := r.store.eventData(t, core.EventAgentDisconnected); len(data) != 1 || data[0]["agentId"] != two.AgentID || data[0]["graceful"] != false {
		t.Fatalf("events: %v", data)
	}
	if _, lost := r.sink.lostTasks(one.AgentID); lost {
		t.Fatal("the resumed agent was lost")
	}
}

// An agent that registered before the clock was set back, over a restart, was connected for no time rather than less.
func TestConnectedDurationAfterClockWentBack(t *testing.T) {
	r := newRig(t, agents.Config{})
	_, one := r.register("one", 1, "echo")
	r.close()
	back := coretest.NewClock()
	back.Advance(-48 * time.Hour)
	r = openRig(t, agents.Config{}, r.store, back)
	if _, err := r.svc.DisconnectAgent(t.Context(), one.AgentID, "gone"); err != nil {
		t.Fatal(err)
	}
	if data := r.store.eventData(t, core.EventAgentDisconnected); len(data) != 1 || data[0]["connectedDuration"] != 0.0 {
		t.Errorf("events: %v", data)
	}
}

// More tasks than the send queue holds can be sent again on a resume.
func TestResumeLargerThanSendQueue(t *testing.T) {
	r := newRig(t, agents.Config{MaxSendBytes: 4096})
	p, reg := r.register("one", 100, "echo")
	p.cut()
	r.waitLost(reg.AgentID)
	big := task("")
	big.Input = json.RawMessage(`"` + string(make1(2000)) + `"`)
	for i := range 50 {
		big.ID = "task_" + string(rune('A'+i))
		r.svc.Dispatch(reg.AgentID, big)
	}
	p, _ = r.resume(reg, []string{}, "echo")
	for range 50 {
		p.expect(protocol.TypeTask, nil)
	}
	p.quiet()
}

func make1(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = 'x'
	}
	return b
}

func TestCloseTwice(t *testing.T) {
	r := newRig(t, agents.Config{})
	if err := r.svc.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}
