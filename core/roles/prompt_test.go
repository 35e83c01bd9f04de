package roles_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/wire"
)

func approval(id string) map[string]any {
	return map[string]any{"prompt": map[string]any{
		"id": id, "kind": "approval", "text": "Run it?", "tool": "Bash", "input": map[string]any{"command": "make"},
		"options": []map[string]any{{"id": "1", "label": "Yes"}, {"id": "2", "label": "Yes, always"}, {"id": "3", "label": "No"}},
	}}
}

func dialog(id string) map[string]any {
	return map[string]any{"prompt": map[string]any{
		"id": id, "kind": "question", "text": "Which one?",
		"options": []map[string]any{{"id": "1", "label": "The red one"}, {"id": "2", "label": "The blue one"}},
	}}
}

// asking is a rig whose agent is in the middle of a task.
func asking(t *testing.T) (r *rig, id string, end chan string) {
	t.Helper()
	r = newRig(t)
	id, end = r.spawn(0), make(chan string)
	r.fake.send = func(ctx context.Context, id string, in core.ManagedAgentInput) (core.ManagedAgentReply, error) {
		if !in.ExpectResponse {
			return core.ManagedAgentReply{Sent: true}, nil
		}
		return r.fake.begun(ctx, id, end)
	}
	r.roles.Dispatch(id, task("task_1"))
	r.sends(id, 1)
	return r, id, end
}

func TestPrompts(t *testing.T) {
	r, id, end := asking(t)
	r.fake.tell(id, core.EventManagedBlocked, approval("p-1"))
	r.wait("the approval", func() bool { return len(r.messages) == 1 })
	m := r.messages[0]
	var content struct{ Text, Tool string }
	if err := json.Unmarshal(m.Content, &content); err != nil || m.Kind != core.QuestionApproval || m.AskID != "p-1" || m.TaskID != "task_1" ||
		m.AgentID != id || m.Topic != "tool_approval" || content.Tool != "Bash" || len(m.Options) != 3 || m.Options[2].Label != "No" {
		t.Errorf("asked %+v, content %s", m, m.Content)
	}
	r.roles.Reply(id, core.AgentReply{AskID: "p-1", TaskID: "task_1", Content: json.RawMessage(`"allow"`)})
	coretest.WaitFor(t, "the answer", func() bool { return len(r.fake.given()) == 1 })
	r.fake.tell(id, core.EventManagedQuestion, dialog("p-2"))
	r.wait("the question", func() bool { return len(r.messages) == 2 })
	if m := r.messages[1]; m.Kind != core.QuestionDialog || m.MessageType != "question" || m.AskID != "p-2" {
		t.Errorf("asked %+v", m)
	}
	r.fake.tell(id, core.EventManagedUnblocked, nil) // in its terminal
	r.wait("the withdrawal", func() bool { return len(r.withdrawn) == 1 })
	r.roles.Reply(id, core.AgentReply{AskID: "p-2", Content: json.RawMessage(`"too late"`)})
	end <- "done"
	r.wait("the report", func() bool { return len(r.reports) == 1 })
	want := []core.ManagedAgentAnswer{{PromptID: "p-1", Choice: "allow"}}
	if got := r.fake.given(); !slices.Equal(got, want) || !slices.Equal(r.withdrawn, []string{"p-2"}) {
		t.Errorf("answered %+v, withdrawn %v", got, r.withdrawn)
	}
}

// What is asked before a restart is asked after it, with the same id.
func TestPromptAfterRestart(t *testing.T) {
	r, id, end := asking(t)
	r.fake.tell(id, core.EventManagedBlocked, approval("p-1"))
	r.fake.tell(id, core.EventManagedUnblocked, nil)
	r.fake.tell(id, core.EventManagedBlocked, approval("p-2"))
	r.wait("the approvals", func() bool { return len(r.messages) == 2 })
	r.again()
	r.roles.Hold(id)
	r.roles.Adopt(id, task("task_1"))
	r.wait("the approval", func() bool { return len(r.messages) == 1 })
	if r.messages[0].AskID != "p-2" {
		t.Errorf("asked %+v", r.messages[0])
	}
	r.fake.answer = func(a core.ManagedAgentAnswer) error {
		if len(r.fake.given()) == 1 {
			return failure(core.CodeInternal, "UNAVAILABLE", true)
		}
		return nil
	}
	r.roles.Reply(id, core.AgentReply{AskID: "p-2", Content: json.RawMessage(`"No"`)})
	r.pass("the answer", func() bool { return len(r.fake.given()) == 2 })
	if got := r.fake.given()[1]; got.Choice != "3" || got.PromptID != "p-2" {
		t.Errorf("answered %+v", got)
	}
	end <- "done"
	r.wait("the report", func() bool { return len(r.reports) == 1 })
}

// What was asked before a restart, and answered in the agent's terminal during it, is asked no more.
func TestPromptAnsweredDuringRestart(t *testing.T) {
	r, id, end := asking(t)
	r.fake.tell(id, core.EventManagedBlocked, approval("p-1"))
	r.wait("the approval", func() bool { return len(r.messages) == 1 })
	r.roles.Close()
	r.fake.tell(id, core.EventManagedUnblocked, nil)
	r.fake.tell(id, core.EventManagedBlocked, approval("p-2"))
	r.open()
	r.roles.Hold(id)
	r.roles.Adopt(id, task("task_1"))
	r.wait("the approval", func() bool { return len(r.messages) == 1 })
	r.wait("the withdrawal", func() bool { return len(r.withdrawn) > 0 })
	if r.messages[0].AskID != "p-2" || !slices.Equal(r.withdrawn, []string{"p-1"}) {
		t.Errorf("asked %+v, withdrawn %v", r.messages[0], r.withdrawn)
	}
	r.fake.tell(id, core.EventManagedUnblocked, nil)
	end <- "done"
	r.wait("the report", func() bool { return len(r.reports) == 1 })
	r.roles.Dispatch(id, task("task_2"))
	end <- "done"
	r.wait("the report", func() bool { return len(r.reports) == 2 })
	if !slices.Equal(r.withdrawn, []string{"p-1", "p-2"}) {
		t.Errorf("withdrawn %v", r.withdrawn)
	}
}

// The events of an agent that asks for long are not kept: its record still tells what it asks.
func TestPromptWithoutEvents(t *testing.T) {
	r, id, _ := asking(t)
	r.fake.tell(id, core.EventManagedBlocked, approval("p-1"))
	r.wait("the approval", func() bool { return len(r.messages) == 1 })
	prompt, err := json.Marshal(approval("p-1")["prompt"])
	if err != nil {
		t.Fatal(err)
	}
	r.fake.do(func() { r.fake.events[id], r.fake.record(id).Prompt = nil, prompt })
	r.again()
	r.roles.Hold(id)
	r.roles.Adopt(id, task("task_1"))
	r.wait("the approval", func() bool { return len(r.messages) == 1 })
	if m := r.messages[0]; m.AskID != "p-1" || m.Kind != core.QuestionApproval {
		t.Errorf("asked %+v", m)
	}
}

// A message that goes nowhere is declined, so that the agent goes on.
func TestPromptRefused(t *testing.T) {
	r, id, _ := asking(t)
	r.fake.tell(id, core.EventManagedBlocked, approval("p-1"))
	r.wait("the approval", func() bool { return len(r.messages) == 1 })
	r.messages[0].Refuse(core.Errorf(core.CodeRateLimited, "too many messages"))
	coretest.WaitFor(t, "the answer", func() bool { return len(r.fake.given()) == 1 })
	if got := r.fake.given()[0]; got.Choice != "deny" || !strings.Contains(got.Text, "too many messages") {
		t.Errorf("answered %+v", got)
	}
}

// An answer that the agent does not take is followed by its text, and then by the key that ends the turn.
func TestPromptTakesNoAnswer(t *testing.T) {
	r, id, _ := asking(t)
	r.fake.do(func() {
		r.fake.answer = func(core.ManagedAgentAnswer) error { return failure(core.CodeValidation, "INVALID_ARGUMENT", false) }
	})
	r.fake.tell(id, core.EventManagedQuestion, dialog("p-1"))
	r.wait("the question", func() bool { return len(r.messages) == 1 })
	r.roles.Reply(id, core.AgentReply{AskID: "p-1", Content: json.RawMessage(`"the blue one"`)})
	coretest.WaitFor(t, "the key", func() bool {
		return slices.ContainsFunc(r.fake.sentTo(id), func(in core.ManagedAgentInput) bool { return in.Interrupt })
	})
	want := []core.ManagedAgentAnswer{{PromptID: "p-1", Choice: "2"}, {PromptID: "p-1", Text: "the blue one"}}
	if got := r.fake.given(); !slices.Equal(got, want) {
		t.Errorf("answered %+v", got)
	}
}

func TestLogin(t *testing.T) {
	for name, answer := range map[string]string{"Text": `"code-4711"`, "Object": `{"text":"code-4711"}`} {
		t.Run(name, func(t *testing.T) {
			testLogin(t, json.RawMessage(answer))
		})
	}
}

func testLogin(t *testing.T, answer json.RawMessage) {
	r, id, end := asking(t)
	r.fake.tell(id, core.EventManagedLogin, map[string]any{"loginUrl": "https://login.example/x"})
	r.wait("the login", func() bool { return len(r.messages) == 1 })
	m := r.messages[0]
	if m.Kind != core.QuestionLogin || m.URL != "https://login.example/x" || m.AskID == "" {
		t.Errorf("asked %+v", m)
	}
	r.roles.Reply(id, core.AgentReply{AskID: m.AskID, Content: answer})
	coretest.WaitFor(t, "the code", func() bool {
		return slices.ContainsFunc(r.fake.sentTo(id), func(in core.ManagedAgentInput) bool { return in.Message == "code-4711" && !in.ExpectResponse })
	})
	r.fake.tell(id, core.EventManagedReady, nil)
	end <- "done"
	r.wait("the report", func() bool { return len(r.reports) == 1 })
}

// A turn that a refused credential ended is had again after the login.
func TestLoginEndsTurn(t *testing.T) {
	r := newRig(t)
	id := r.spawn(0)
	r.fake.send = func(_ context.Context, id string, in core.ManagedAgentInput) (core.ManagedAgentReply, error) {
		if in.Key != "task_1.1" {
			return r.fake.turn(id, "done"), nil
		}
		failed := wire.TurnOutcome{Error: &wire.TurnError{Code: wire.TurnLoginRequired, Message: "Invalid API key"}}
		r.fake.tell(id, core.EventManagedBusy, nil)
		r.fake.do(func() {
			r.fake.told(id, core.EventManagedTurnComplete, map[string]any{"turn": 1, "error": failed.Error})
			r.fake.told(id, core.EventManagedLogin, map[string]any{"loginUrl": "https://login.example/x"})
		})
		return core.ManagedAgentReply{Sent: true, Response: &core.ManagedAgentResponse{Turn: 1, TurnOutcome: failed}}, nil
	}
	r.roles.Dispatch(id, task("task_1"))
	r.wait("the login", func() bool { return len(r.messages) == 1 })
	r.fake.tell(id, core.EventManagedReady, nil)
	r.wait("the report", func() bool { return len(r.reports) == 1 })
	if report := r.reports[0]; report.Err != nil || string(report.Result) != `"done"` {
		t.Errorf("reported %+v", report)
	}
}

func TestAsk(t *testing.T) {
	r, id, end := asking(t)
	send := r.fake.send
	r.fake.send = func(ctx context.Context, id string, in core.ManagedAgentInput) (core.ManagedAgentReply, error) {
		reply, err := send(ctx, id, in)
		if in.Key == "msg_1" && reply.Response != nil {
			reply.Response.Usage = &wire.Usage{InputTokens: 9}
		}
		return reply, err
	}
	m := core.AgentMessage{MessageID: "msg_1", ExecutionID: "exec_1", From: "tester", MessageType: "question", Topic: "api", Content: json.RawMessage(`"Which port?"`), WantsReply: true}
	for range 2 { // a repeat is the same message
		if !r.roles.Ask(id, m) {
			t.Fatal("an agent that serves refuses a message")
		}
	}
	tell := m
	tell.MessageID, tell.MessageType, tell.WantsReply, tell.Content = "msg_2", "feedback", false, json.RawMessage(`{"good": true}`)
	r.roles.Ask(id, tell)
	end <- "done"
	r.wait("the report", func() bool { return len(r.reports) == 1 })
	in := r.sends(id, 2)[1]
	if in.Key != "msg_1" || !strings.Contains(in.Message, "The role tester asks you about api") || !strings.Contains(in.Message, "Which port?") {
		t.Errorf("sent %+v", in)
	}
	// An approval in such a turn has no task that could wait for it.
	r.fake.tell(id, core.EventManagedBlocked, approval("p-1"))
	coretest.WaitFor(t, "the answer", func() bool { return len(r.fake.given()) == 1 })
	if got := r.fake.given()[0]; got.Choice != "deny" || len(r.messages) != 0 {
		t.Errorf("answered %+v, messages %+v", got, r.messages)
	}
	end <- "8080"
	r.wait("the reply", func() bool { return len(r.replies) == 1 })
	if !slices.Equal(r.used, []string{"exec_1 " + id + " msg_1 9"}) {
		t.Errorf("used %q", r.used)
	}
	if got := r.replies[0]; got.MessageID != "msg_1" || got.AgentID != id || string(got.Content) != `"8080"` {
		t.Errorf("replied %+v", got)
	}
	in = r.sends(id, 3)[2]
	if !strings.Contains(in.Message, "tells you") || !strings.Contains(in.Message, "```json") {
		t.Errorf("sent %+v", in)
	}
	end <- "noted"
	r.roles.Dispatch(id, task("task_2"))
	r.sends(id, 4)
	end <- "done"
	r.wait("the report", func() bool { return len(r.reports) == 2 })
	if len(r.replies) != 1 {
		t.Errorf("replies %+v", r.replies)
	}
	if r.roles.Ask("magent_none", m) || r.roles.Reply("magent_none", core.AgentReply{}) {
		t.Error("an agent that is not there takes a message")
	}
}

// An agent that began to wait in the turn of a message before a restart is declined after it: no one else can answer it.
func TestAskWaitsAfterRestart(t *testing.T) {
	r := newRig(t)
	id, end := r.spawn(0), make(chan string)
	lives := 0
	r.fake.send = func(ctx context.Context, id string, _ core.ManagedAgentInput) (core.ManagedAgentReply, error) {
		if lives++; lives == 1 {
			return r.fake.begun(ctx, id, end)
		}
		<-ctx.Done() // the turn is known by its key, and goes on once it is answered
		return core.ManagedAgentReply{}, ctx.Err()
	}
	r.fake.answer = func(core.ManagedAgentAnswer) error { return failure(core.CodeInternal, "UNAVAILABLE", true) }
	m := core.AgentMessage{MessageID: "msg_1", ExecutionID: "exec_1", From: "tester", MessageType: "question", Content: json.RawMessage(`"Which port?"`), WantsReply: true}
	r.roles.Ask(id, m)
	r.sends(id, 1)
	r.fake.tell(id, core.EventManagedBlocked, approval("p-1"))
	coretest.WaitFor(t, "an answer that does not arrive", func() bool { return len(r.fake.given()) == 1 })
	r.fake.do(func() { r.fake.answer = nil })
	r.again()
	before := len(r.fake.given())
	if !r.roles.Hold(id) || !r.roles.Ask(id, m) {
		t.Fatal("the agent is not found again")
	}
	r.sends(id, 2)
	coretest.WaitFor(t, "the answer", func() bool { return len(r.fake.given()) == before+1 })
	if got := r.fake.given()[before]; got.Choice != "deny" || got.PromptID != "p-1" {
		t.Errorf("answered %+v", got)
	}
}

// A login that is wanted in the turn of a message has no task that could ask for it: the message is given up, and the next task
// asks.
func TestAskWantsLogin(t *testing.T) {
	r := newRig(t)
	id := r.spawn(0)
	r.fake.send = func(_ context.Context, id string, in core.ManagedAgentInput) (core.ManagedAgentReply, error) {
		if in.Key != "msg_1" {
			return core.ManagedAgentReply{}, failure(core.CodeConflict, "AUTH_REQUIRED", false)
		}
		failed := wire.TurnOutcome{Error: &wire.TurnError{Code: wire.TurnLoginRequired, Message: "Invalid API key"}}
		r.fake.tell(id, core.EventManagedBusy, nil)
		r.fake.do(func() {
			r.fake.told(id, core.EventManagedTurnComplete, map[string]any{"turn": 1, "error": failed.Error})
			r.fake.told(id, core.EventManagedLogin, map[string]any{"loginUrl": "https://login.example/x"})
		})
		return core.ManagedAgentReply{Sent: true, Response: &core.ManagedAgentResponse{Turn: 1, TurnOutcome: failed}}, nil
	}
	r.roles.Ask(id, core.AgentMessage{
		MessageID: "msg_1", ExecutionID: "exec_1", From: "tester", MessageType: "question", Content: json.RawMessage(`"Which port?"`), WantsReply: true,
	})
	r.sends(id, 1)
	r.roles.Dispatch(id, task("task_1"))
	r.wait("the login", func() bool { return len(r.messages) == 1 })
	if m := r.messages[0]; m.Kind != core.QuestionLogin || m.TaskID != "task_1" || m.URL != "https://login.example/x" {
		t.Errorf("asked %+v", m)
	}
}

// The operator's policy answers what it has an answer to, whatever turn the agent has; the rest goes to people, or to no one.
func TestPolicyAnswersPrompts(t *testing.T) {
	for _, turn := range []string{"task", "message"} {
		t.Run(turn, func(t *testing.T) {
			r := newRig(t)
			r.approve = func(_ string, prompt json.RawMessage) (core.PromptRuling, bool) {
				var p wire.Prompt
				if err := json.Unmarshal(prompt, &p); err != nil {
					t.Error(err)
				}
				return core.PromptRuling{Answer: map[string]string{"p-1": "allow", "p-2": core.RulingAsk}[p.ID], Rule: "r"}, p.ID != "p-3"
			}
			r.again()
			id, end := r.spawn(0), make(chan string)
			r.fake.send = func(ctx context.Context, id string, _ core.ManagedAgentInput) (core.ManagedAgentReply, error) {
				return r.fake.begun(ctx, id, end)
			}
			if turn == "task" {
				r.roles.Dispatch(id, task("task_1"))
			} else {
				r.roles.Ask(id, core.AgentMessage{MessageID: "msg_1", ExecutionID: "exec_1", From: "tester", MessageType: "question", Content: json.RawMessage(`"Which port?"`)})
			}
			r.sends(id, 1)
			r.fake.tell(id, core.EventManagedBlocked, approval("p-1"))
			coretest.WaitFor(t, "the answer", func() bool { return len(r.fake.given()) == 1 })
			if got := r.fake.given()[0]; got.Choice != "allow" || got.PromptID != "p-1" {
				t.Errorf("answered %+v", got)
			}
			for i, p := range []string{"p-2", "p-3"} {
				r.fake.tell(id, core.EventManagedBlocked, approval(p))
				if turn == "task" {
					r.wait("the question", func() bool { return len(r.messages) == i+1 })
					continue
				}
				coretest.WaitFor(t, "the answer", func() bool { return len(r.fake.given()) == i+2 })
				if got := r.fake.given()[i+1]; got.Choice != "deny" || got.PromptID != p {
					t.Errorf("answered %+v", got)
				}
			}
		})
	}
}

// The question of a role's agent has the numbers of the tool's input that the agent wrote.
func TestPromptKeepsNumbers(t *testing.T) {
	const input = `{"far":[1e400,0.1000000000000000055],"id":9007199254740993}`
	r, id, end := asking(t)
	r.fake.tell(id, core.EventManagedTool, map[string]any{"tool": map[string]any{"name": "pay", "input": json.RawMessage(input)}})
	r.wait("the progress", func() bool { return len(r.progress) == 1 })
	ask := approval("p-1")
	ask["prompt"].(map[string]any)["input"] = json.RawMessage(input)
	r.fake.tell(id, core.EventManagedBlocked, ask)
	r.wait("the approval", func() bool { return len(r.messages) == 1 })
	if !strings.Contains(string(r.messages[0].Content), `"input":`+input) || !strings.Contains(r.progress[0], `"input":`+input) {
		t.Errorf("asked %s, told of %s", r.messages[0].Content, r.progress[0])
	}
	end <- "done"
	r.wait("the report", func() bool { return len(r.reports) == 1 })
}
