package engine_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	stdtime "time"

	"github.com/wardroom/wardroom/core"
)

// climbs returns what the journal says of the way of the only message: "to agent depth" each.
func (k *talk) climbs() []string {
	k.tb.Helper()
	k.store.mu.Lock()
	defer k.store.mu.Unlock()
	var list []string
	for _, ev := range k.store.events[k.exec.ID] {
		if ev.Type != core.EventMessageSent && ev.Type != core.EventMessageEscalated {
			continue
		}
		var d struct {
			To, ToAgentID, Reason string
			Depth                 int
		}
		if err := json.Unmarshal(ev.Data, &d); err != nil || d.Reason == "" {
			k.tb.Fatalf("%s: %s, %v", ev.Type, ev.Data, err)
		}
		list = append(list, fmt.Sprintf("%s %s %d", d.To, d.ToAgentID, d.Depth))
	}
	return list
}

func TestClimbThroughManagersToPeople(t *testing.T) {
	k := newTalk(t, nil).begin()
	k.say(core.TaskMessage{AskID: "a1"})
	for i, want := range []string{"lead", "cto", "ceo"} {
		got := k.askedOf(i + 1)
		if got.agent != want {
			t.Fatalf("message %d went to %s, want %s", i, got.agent, want)
		}
		k.clock.Advance(29 * stdtime.Second)
		k.sync()
		k.askedOf(i + 1)
		k.clock.Advance(stdtime.Second)
	}
	q := k.question()
	if q.Depth != 2 || q.Role != "dev" {
		t.Errorf("the question is %+v", q)
	}
	if got, want := fmt.Sprint(k.climbs()), "[lead lead 0 cto cto 1 ceo ceo 2   2]"; got != want {
		t.Errorf("the way is %s, want %s", got, want)
	}
	// The late answer of the first who was asked still counts, and people need not answer any more.
	id := k.askedOf(3).message.MessageID
	k.answer("lead", id, `"left"`)
	if back := k.answeredWith(1); back.reply.From != "lead" || string(back.reply.Content) != `"left"` {
		t.Errorf("dev got %+v", back)
	}
	if got, err := k.FindQuestion(t.Context(), q.ID); err != nil || got.Status != core.QuestionCancelled {
		t.Errorf("the question is %+v, %v", got, err)
	}
	k.answer("dev", id, `1`).want(core.CodeNotFound, "message") // it was never asked
	k.finish()
}

func TestMaxDepth(t *testing.T) {
	k := newTalk(t, func(c *core.Chart) { c.Escalation.MaxDepth = 1 }).begin()
	k.say(core.TaskMessage{AskID: "a1"})
	k.askedOf(1)
	k.clock.Advance(30 * stdtime.Second)
	k.askedOf(2)
	k.clock.Advance(30 * stdtime.Second)
	if q := k.question(); q.Depth != 1 {
		t.Errorf("the question is %+v", q)
	}
	k.askedOf(2)
}

func TestEscalationFails(t *testing.T) {
	for name, shape := range map[string]func(*core.Chart){
		"Default":    func(c *core.Chart) { c.Escalation.Default = core.BehaviorFail },
		"OnMaxDepth": func(c *core.Chart) { c.Escalation.OnMaxDepth, c.Escalation.MaxDepth = core.BehaviorFail, 0 },
	} {
		t.Run(name, func(t *testing.T) {
			k := newTalk(t, shape).begin()
			k.say(core.TaskMessage{AskID: "a1", Topic: "db"})
			if name == "OnMaxDepth" {
				k.askedOf(1)
				k.clock.Advance(30 * stdtime.Second)
			}
			exec := k.wait(k.exec.ID)
			if exec.Status != core.ExecutionFailed || exec.Error.Code != core.CodeEscalationFailed ||
				!strings.Contains(exec.Error.Message, `"dev"`) || !strings.Contains(exec.Error.Message, `"db"`) || exec.Error.Details["role"] != "dev" {
				t.Fatalf("the execution is %s: %+v", exec.Status, exec.Error)
			}
			if asked := strings.HasPrefix(exec.Error.Message, "nobody answered"); asked != (name == "OnMaxDepth") {
				t.Errorf("the message is %q", exec.Error.Message)
			}
			k.agents.await(t, 0)
		})
	}
}

func TestBestEffort(t *testing.T) {
	k := newTalk(t, func(c *core.Chart) {
		c.Escalation.Default = core.BehaviorBestEffort
		c.Steps = append(c.Steps, &core.ChartStep{Path: "1", Kind: core.KindAssign, Name: "more", Role: "dev"})
	}).begin()
	k.agents.report("dev", k.task, `"first"`, nil)
	k.waitEvents(core.EventStepCompleted, 1)
	k.task = k.agents.await(t, 1)[0].task
	k.say(core.TaskMessage{AskID: "a1"})
	exec := k.wait(k.exec.ID)
	if exec.Status != core.ExecutionCompleted || string(exec.Result) != `"first"` || exec.Workflow == nil || !exec.Workflow.Partial {
		t.Fatalf("the execution is %s with %s: %+v", exec.Status, exec.Result, exec.Workflow)
	}
	k.waitEvents(core.EventExecutionCompleted, 1)
	events, _, err := k.store.Events(t.Context(), k.exec.ID, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range events {
		if ev.Type == core.EventExecutionCompleted && !strings.Contains(string(ev.Data), `"partial":true`) {
			t.Errorf("streams are told %s", ev.Data)
		}
	}
}

// A role without agents that none can serve is passed over at once.
func TestRoleWithoutAgents(t *testing.T) {
	k := newTalk(t, func(c *core.Chart) { c.Roles[1].Min = 0 }).begin()
	k.say(core.TaskMessage{AskID: "a1"})
	if got := k.askedOf(1); got.agent != "cto" {
		t.Fatalf("%s was asked, want cto", got.agent)
	}
	if got, want := fmt.Sprint(k.climbs()), "[lead  0 cto cto 1]"; got != want {
		t.Errorf("the way is %s, want %s", got, want)
	}
	k.finish()
}

// A role without agents that a connected one can serve gets it for the message.
func TestRoleIsBoundForMessage(t *testing.T) {
	k := newTalk(t, func(c *core.Chart) { c.Roles[1].Min = 0 }).begin()
	k.agents.offer("helper", 1, "lead")
	k.say(core.TaskMessage{AskID: "a1"})
	got := k.askedOf(1)
	if got.agent != "helper" {
		t.Fatalf("%s was asked, want helper", got.agent)
	}
	k.answer("helper", got.message.MessageID, `1`)
	if back := k.answeredWith(1); back.reply.From != "lead" {
		t.Errorf("dev got %+v", back)
	}
	k.finish()
	if free := k.agents.free("helper"); free != 1 {
		t.Errorf("helper has %d free slots after the end", free)
	}
}

// An agent that could serve is busy for too long: the message climbs when its time is over.
func TestBusyRoleIsNotWaitedForLonger(t *testing.T) {
	k := newTalk(t, func(c *core.Chart) { c.Roles[1].Min = 0 }).begin()
	k.agents.offer("helper", 0, "lead")
	k.say(core.TaskMessage{AskID: "a1"})
	k.waitEvents(core.EventMessageSent, 1)
	k.clock.Advance(30 * stdtime.Second)
	if got := k.askedOf(1); got.agent != "cto" {
		t.Fatalf("%s was asked, want cto", got.agent)
	}
	k.finish()
}

// Of several agents of a role an idle one is asked; when it is lost, the next.
func TestLostAgentOfAskedRole(t *testing.T) {
	k := newTalk(t, func(c *core.Chart) { c.Roles[1].Min, c.Roles[1].Max = 2, 2 }).begin()
	k.say(core.TaskMessage{AskID: "a1"})
	k.say(core.TaskMessage{AskID: "a2"})
	k.askedOf(2)
	k.agents.mu.Lock()
	one, two := k.agents.asked[0], k.agents.asked[1]
	k.agents.mu.Unlock()
	if one.agent == two.agent {
		t.Errorf("%s was asked twice while the other has nothing to answer", one.agent)
	}
	k.agents.lose(one.agent)
	if again := k.askedOf(3); again.agent != two.agent || again.message.MessageID != one.message.MessageID {
		t.Fatalf("after the loss %+v was asked", again)
	}
	k.agents.lose(two.agent)
	coreAsked := k.askedOf(5)
	if coreAsked.agent != "cto" {
		t.Fatalf("after both losses %+v was asked", coreAsked)
	}
	k.finish()
}

// An agent that serves two roles is not asked by itself.
func TestAskerIsNotAsked(t *testing.T) {
	k := newTalk(t, func(c *core.Chart) { c.Roles[1].Capabilities = []string{"dev"} })
	k.agents.mu.Lock()
	k.agents.slots["dev"], k.agents.order = 2, []string{"dev", "cto", "ceo"}
	k.agents.mu.Unlock()
	k.begin()
	k.say(core.TaskMessage{AskID: "a1"})
	if got := k.askedOf(1); got.agent != "cto" {
		t.Fatalf("%s was asked, want cto", got.agent)
	}
}

func TestPrompts(t *testing.T) {
	rule := func(c *core.Chart) {
		c.Routing = []core.RoutingRule{{From: "dev", To: "cto", Topics: []string{"tool_approval"}}}
	}
	for _, test := range []struct {
		name  string
		kind  core.QuestionKind
		shape func(*core.Chart)
		to    string // "" people
	}{
		{"QuestionToManager", core.QuestionDialog, nil, "lead"},
		{"ApprovalToPeople", core.QuestionApproval, nil, ""},
		{"ApprovalByRule", core.QuestionApproval, rule, "cto"},
		{"ApprovalByTopicRoute", core.QuestionApproval, func(c *core.Chart) { c.Escalation.TopicRoutes = map[string]string{"tool_approval": "ceo"} }, "ceo"},
		{"ApprovalNotByType", core.QuestionApproval, func(c *core.Chart) {
			c.Routing = []core.RoutingRule{{From: "dev", To: "cto", MessageTypes: []string{"approval", "question"}}}
		}, ""},
		{"LoginToPeople", core.QuestionLogin, rule, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			k := newTalk(t, test.shape).begin()
			m := core.TaskMessage{AskID: "p1", Kind: test.kind, Options: yesNo, URL: "https://example.org/login"}
			k.say(m)
			if test.to == "" {
				q := k.question()
				if q.Kind != test.kind || q.PromptID != "p1" || len(q.Options) != 3 || q.URL != m.URL {
					t.Errorf("the question is %+v", q)
				}
				if _, err := k.answerPeople(q.ID, `"perhaps"`); core.ErrorCode(err) != core.CodeValidation || !strings.Contains(err.Error(), `"3" (No)`) {
					t.Errorf("an unclear answer got %v", err)
				}
				if _, err := k.answerPeople(q.ID, `"deny"`); err != nil {
					t.Error(err)
				}
				if back := k.answeredWith(1); back.reply.AskID != "p1" || string(back.reply.Content) != `"3"` {
					t.Errorf("dev got %+v", back)
				}
				return
			}
			got := k.askedOf(1)
			if got.agent != test.to || !strings.Contains(string(got.message.Content), `"options"`) {
				t.Fatalf("%s was asked %s, want %s", got.agent, got.message.Content, test.to)
			}
			k.answer(test.to, got.message.MessageID, `{"answer":"Yes"}`)
			if back := k.answeredWith(1); string(back.reply.Content) != `"1"` || back.reply.From != test.to {
				t.Errorf("dev got %+v", back)
			}
		})
	}
}

// An answer of a role that names no option climbs; leave to use a tool then goes to people.
func TestUnclearAnswerClimbs(t *testing.T) {
	k := newTalk(t, nil).begin()
	k.say(core.TaskMessage{AskID: "p1", Kind: core.QuestionDialog, Options: yesNo})
	k.answer("lead", k.askedOf(1).message.MessageID, `"it depends"`)
	if got := k.askedOf(2); got.agent != "cto" {
		t.Fatalf("%s was asked, want cto", got.agent)
	}
	k.say(core.TaskMessage{AskID: "p2", Kind: core.QuestionApproval, Options: yesNo, To: "lead"})
	k.question()

	k = newTalk(t, func(c *core.Chart) { c.Escalation.TopicRoutes = map[string]string{"tool_approval": "lead"} }).begin()
	k.say(core.TaskMessage{AskID: "p1", Kind: core.QuestionApproval, Options: yesNo})
	k.askedOf(1)
	k.clock.Advance(30 * stdtime.Second)
	k.question()
	k.askedOf(1)
}
