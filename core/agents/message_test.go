package agents_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/agents"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// asking makes an agent that holds task_1.
func (r *rig) asking() (*peer, protocol.Registered) {
	r.tb.Helper()
	p, reg := r.register("asker", 4, "echo")
	r.give(reg.AgentID, task("task_1"))
	p.expect(protocol.TypeTask, nil)
	return p, reg
}

func question(text string) protocol.Message {
	return protocol.Message{
		TaskID: "task_1", MessageType: "question", Topic: "design", To: "cto", Content: json.RawMessage(`{"text":"` + text + `"}`),
	}
}

func reply(askID, content string) core.AgentReply {
	return core.AgentReply{MessageID: "msg_" + askID, AskID: askID, TaskID: "task_1", From: "cto", Content: json.RawMessage(content)}
}

func ask(id string) core.AgentMessage {
	return core.AgentMessage{
		MessageID: id, ExecutionID: "exec_1", TaskID: "task_9", From: "developer", MessageType: "question", Topic: "design",
		Content: json.RawMessage(`{"text":"why?"}`), WantsReply: true,
	}
}

// expectReply reads a message_reply, and checks which message it answers.
func (p *peer) expectReply(askID, content string) {
	p.tb.Helper()
	var got protocol.MessageReply
	if e := p.expect(protocol.TypeMessageReply, &got); e.ID != askID || got.MessageID != "msg_"+askID || got.TaskID != "task_1" ||
		got.From != "cto" || string(got.Content) != content {
		p.tb.Fatalf("reply: %+v %s, want %s to %s", e, e.Payload, content, askID)
	}
}

func (p *peer) expectMessage(id string) protocol.MessageDelivery {
	p.tb.Helper()
	var got protocol.MessageDelivery
	if e := p.expect(protocol.TypeMessage, &got); e.ID != id || got.MessageID != id {
		p.tb.Fatalf("message: %+v %s, want %s", e, e.Payload, id)
	}
	return got
}

func (p *peer) expectError(id string, code core.Code, says string) {
	p.tb.Helper()
	var got protocol.Error
	if e := p.expect(protocol.TypeError, &got); e.ID != id || got.Code != string(code) || got.Fatal || !strings.Contains(got.Message, says) {
		p.tb.Fatalf("error: %+v %+v, want %s %q for %s", e, got, code, says, id)
	}
}

func TestMessageToTheEngineAndBack(t *testing.T) {
	r := newRig(t, agents.Config{})
	p, reg := r.asking()
	p.send(protocol.TypeMessage, "ask-1", question("why?"))
	coretest.WaitFor(t, "the message", func() bool { return len(r.sink.said()) == 1 })
	m := r.sink.said()[0]
	if m.AgentID != reg.AgentID || m.TaskID != "task_1" || m.AskID != "ask-1" || m.Kind != core.QuestionMessage || m.MessageType != "question" ||
		m.Topic != "design" || m.To != "cto" || string(m.Content) != `{"text":"why?"}` || m.Refuse == nil {
		t.Fatalf("message: %+v", m)
	}
	p.quiet()
	if !r.svc.Reply(reg.AgentID, reply("ask-1", `"because"`)) {
		t.Fatal("reply")
	}
	p.expectReply("ask-1", `"because"`)
	// A repeat is answered from here; another id is another message.
	p.send(protocol.TypeMessage, "ask-1", question("why?"))
	p.expectReply("ask-1", `"because"`)
	p.send(protocol.TypeMessage, "ask-2", question("why?"))
	coretest.WaitFor(t, "the second message", func() bool { return len(r.sink.said()) == 2 })

	// When the task is over, so are its messages.
	r.svc.Keep(reg.AgentID, "task_1", "")
	p.send(protocol.TypeMessage, "ask-1", question("why?"))
	p.expectError("ask-1", core.CodeNotFound, "taskId")
	if len(r.sink.said()) != 2 {
		t.Fatal("a message on no task reached the engine")
	}
}

func TestMessageRefused(t *testing.T) {
	r := newRig(t, agents.Config{})
	p, reg := r.asking()
	p.send(protocol.TypeMessage, "ask-1", question("why?"))
	coretest.WaitFor(t, "the message", func() bool { return len(r.sink.said()) == 1 })
	refuse := r.sink.said()[0].Refuse
	refuse(core.Invalid("to", "there is no role cto"))
	refuse(core.Errorf(core.CodeConflict, "a second refusal is not told"))
	p.expectError("ask-1", core.CodeValidation, "there is no role cto")
	p.quiet()
	p.send(protocol.TypeMessage, "ask-1", question("why?")) // a repeat meets the same
	p.expectError("ask-1", core.CodeValidation, "there is no role cto")

	p.send(protocol.TypeMessage, "ask-2", question("why?"))
	coretest.WaitFor(t, "the second message", func() bool { return len(r.sink.said()) == 2 })
	p.cut()
	r.waitLost(reg.AgentID)
	r.sink.said()[1].Refuse(core.Errorf(core.CodeConflict, "the execution is over"))
	p, _ = r.resume(reg, []string{"task_1"}, "echo")
	p.expectError("ask-2", core.CodeConflict, "the execution is over")
	p.quiet()

	// What passes is not kept: the engine decides on the repeat.
	for i, code := range []core.Code{core.CodeRateLimited, core.CodeNotFound, core.CodeNotFound} {
		p.send(protocol.TypeMessage, "ask-3", question("why?"))
		coretest.WaitFor(t, "the message", func() bool { return len(r.sink.said()) == 3+i })
		r.sink.said()[2+i].Refuse(core.Errorf(code, "not now"))
		p.expectError("ask-3", code, "not now")
	}
	p.send(protocol.TypeMessage, "ask-3", question("why?"))
	coretest.WaitFor(t, "the message", func() bool { return len(r.sink.said()) == 6 })
	p.cut()
	r.waitLost(reg.AgentID)
	r.sink.said()[5].Refuse(core.Errorf(core.CodeNotFound, "not now")) // told to nobody
	p, _ = r.resume(reg, []string{"task_1"}, "echo")
	p.quiet()
}

func TestMessageOfAForeignTask(t *testing.T) {
	r := newRig(t, agents.Config{})
	p, _ := r.asking()
	other, _ := r.register("other", 1, "else")
	other.send(protocol.TypeMessage, "ask-1", question("whose?"))
	other.expectError("ask-1", core.CodeNotFound, "taskId")
	// It is no bad frame: the task may have been cancelled a moment ago.
	for range 150 {
		r.clock.Advance(100 * time.Millisecond)
		other.send(protocol.TypeMessage, "ask-1", question("whose?"))
		other.expectError("ask-1", core.CodeNotFound, "taskId")
	}
	other.quiet()
	p.quiet()
	if len(r.sink.said()) != 0 {
		t.Fatal("a message of a foreign task reached the engine")
	}
}

func TestMessageToAnAgent(t *testing.T) {
	r := newRig(t, agents.Config{})
	p, reg := r.asking()
	if !r.svc.Ask(reg.AgentID, ask("msg_1")) {
		t.Fatal("ask")
	}
	got := p.expectMessage("msg_1")
	if got.ExecutionID != "exec_1" || got.TaskID != "task_9" || got.From != "developer" || got.MessageType != "question" ||
		got.Topic != "design" || string(got.Content) != `{"text":"why?"}` || !got.WantsReply {
		t.Fatalf("message: %+v", got)
	}
	p.send(protocol.TypeMessageReply, "a1", protocol.MessageReply{MessageID: "msg_1"})
	p.expectError("a1", core.CodeValidation, "content: is missing")
	p.send(protocol.TypeMessageReply, "a2", protocol.MessageReply{MessageID: "msg_1", Content: json.RawMessage(`{"text":"because"}`)})
	coretest.WaitFor(t, "the reply", func() bool { return len(r.sink.replied()) == 1 })
	if m := r.sink.replied()[0]; m.AgentID != reg.AgentID || m.MessageID != "msg_1" || string(m.Content) != `{"text":"because"}` {
		t.Fatalf("reply: %+v", m)
	}
	// The engine decides about replies to what it does not know any more, and repeats.
	p.send(protocol.TypeMessageReply, "a3", protocol.MessageReply{MessageID: "msg_x", Content: json.RawMessage(`1`)})
	coretest.WaitFor(t, "the second reply", func() bool { return len(r.sink.replied()) == 2 })
	r.sink.replied()[1].Refuse(core.NotFound("message", "msg_x"))
	r.sink.replied()[1].Refuse(core.NotFound("message", "msg_x"))
	p.expectError("a3", core.CodeNotFound, "msg_x")
	p.quiet()

	note := ask("msg_2")
	note.WantsReply = false
	r.svc.Ask(reg.AgentID, note)
	p.expectMessage("msg_2")
	p.send(protocol.TypeMessageReply, "", protocol.MessageReply{MessageID: "msg_2"}) // it has arrived
	p.send(protocol.TypeMessageReply, "", protocol.MessageReply{MessageID: "msg_2"})
	p.quiet()
	if len(r.sink.replied()) != 2 {
		t.Fatal("an acknowledgement is no reply")
	}
}

// What cannot have got through is sent after a resume, tasks first; what was answered is not.
func TestMessagesAcrossAResume(t *testing.T) {
	r := newRig(t, agents.Config{})
	p, reg := r.asking()
	for _, id := range []string{"msg_1", "msg_2"} {
		r.svc.Ask(reg.AgentID, ask(id))
		p.expectMessage(id)
	}
	p.send(protocol.TypeMessageReply, "", protocol.MessageReply{MessageID: "msg_1", Content: json.RawMessage(`1`)})
	r.svc.Reply(reg.AgentID, reply("ask-1", `1`))
	p.expectReply("ask-1", `1`)
	coretest.WaitFor(t, "the reply", func() bool { return len(r.sink.replied()) == 1 })
	p.cut()
	r.waitLost(reg.AgentID)
	if !r.svc.Ask(reg.AgentID, ask("msg_3")) || !r.svc.Reply(reg.AgentID, reply("ask-2", `2`)) || !r.svc.Ask(reg.AgentID, ask("msg_3")) {
		t.Fatal("an agent in its grace takes messages")
	}
	r.svc.Dispatch(reg.AgentID, task("task_2"))

	p, _ = r.resume(reg, []string{"task_1"}, "echo")
	p.expect(protocol.TypeTask, nil)
	p.expectMessage("msg_2")
	p.expectReply("ask-2", `2`)
	p.expectMessage("msg_3")
	p.quiet()
	p.send(protocol.TypeMessage, "ask-1", question("why?")) // its reply was lost with the connection
	p.expectReply("ask-1", `1`)

	// An agent that serves no role any more gets no old messages.
	r.svc.Release(reg.AgentID, "task_1", "")
	r.svc.Release(reg.AgentID, "task_2", "")
	p.cut()
	r.waitLost(reg.AgentID)
	p, _ = r.resume(reg, []string{}, "echo")
	p.quiet()
}

// A lost agent's messages are bounded: the oldest goes first.
func TestResendIsBounded(t *testing.T) {
	r := newRig(t, agents.Config{})
	p, reg := r.asking()
	p.cut()
	r.waitLost(reg.AgentID)
	for i := range 1100 {
		r.svc.Ask(reg.AgentID, ask(fmt.Sprint("msg_", i)))
	}
	p, _ = r.resume(reg, []string{"task_1"}, "echo")
	for i := 100; i < 1100; i++ {
		p.expectMessage(fmt.Sprint("msg_", i))
	}
	p.quiet()
	p.cut()
	r.waitLost(reg.AgentID)
	big := ask("msg_big")
	big.Content = json.RawMessage(`"` + string(make1(1<<20)) + `"`)
	for i := range 10 {
		big.MessageID = fmt.Sprint("msg_big", i)
		r.svc.Ask(reg.AgentID, big)
	}
	p, _ = r.resume(reg, []string{"task_1"}, "echo")
	for i := 3; i < 10; i++ {
		p.expectMessage(fmt.Sprint("msg_big", i))
	}
	p.quiet()
}

// Messages count against the rate of frames, as any.
func TestMessageFlood(t *testing.T) {
	r := newRig(t, agents.Config{})
	p, _ := r.asking()
	for i := range 201 {
		p.send(protocol.TypeMessage, fmt.Sprint("ask-", i), question("why?"))
	}
	p.expectError("ask-200", core.CodeRateLimited, "messages a second")
	r.clock.Advance(time.Second)
	p.quiet()
	if n := len(r.sink.said()); n != 200 {
		t.Fatalf("%d messages reached the engine, want 200", n)
	}
	huge := question(strings.Repeat("x", 1<<20))
	p.send(protocol.TypeMessage, "ask-huge", huge)
	p.expectClose(1009)
}

// After a restart of the server it knows nothing of what it said before; the engine says it again.
func TestMessagesAcrossARestart(t *testing.T) {
	r := newRig(t, agents.Config{})
	p, reg := r.asking()
	r.svc.Ask(reg.AgentID, ask("msg_1"))
	p.expectMessage("msg_1")
	r.close()
	r = openRig(t, agents.Config{}, r.store, r.clock)
	if !r.svc.Adopt(reg.AgentID, task("task_1")) || !r.svc.Ask(reg.AgentID, ask("msg_1")) || !r.svc.Reply(reg.AgentID, reply("ask-1", `1`)) {
		t.Fatal("an agent in its grace takes messages")
	}
	p, _ = r.resume(reg, []string{"task_1"}, "echo")
	p.expectMessage("msg_1")
	p.expectReply("ask-1", `1`)
	p.send(protocol.TypeMessageReply, "", protocol.MessageReply{MessageID: "msg_1", Content: json.RawMessage(`1`)})
	coretest.WaitFor(t, "the reply", func() bool { return len(r.sink.replied()) == 1 })
	if r.svc.Ask("agent_x", ask("msg_1")) || r.svc.Reply("agent_x", reply("ask-1", `1`)) {
		t.Fatal("an unknown agent takes messages")
	}
}
