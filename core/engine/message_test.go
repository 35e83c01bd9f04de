package engine_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	stdtime "time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

func TestMessageToManagerAndBack(t *testing.T) {
	k := newTalk(t, nil).begin()
	k.say(core.TaskMessage{AskID: "a1", Topic: "db"})
	got := k.askedOf(1)
	m := got.message
	if got.agent != "lead" || m.From != "dev" || m.TaskID != k.task.ID || m.ExecutionID != k.exec.ID || m.MessageType != "question" ||
		m.Topic != "db" || string(m.Content) != `{"text":"which way?"}` || !m.WantsReply || !strings.HasPrefix(m.MessageID, core.PrefixMessage) {
		t.Fatalf("lead was asked %+v", got)
	}
	k.answer("lead", m.MessageID, `"left"`)
	back := k.answeredWith(1)
	want := core.AgentReply{MessageID: m.MessageID, AskID: "a1", TaskID: k.task.ID, From: "lead", Content: json.RawMessage(`"left"`)}
	if back.agent != "dev" || fmt.Sprint(back.reply) != fmt.Sprint(want) {
		t.Fatalf("dev got %+v, want %+v", back, want)
	}
	// The same message again is answered again; a second answer is worth no word.
	k.say(core.TaskMessage{AskID: "a1", Topic: "db"})
	if back := k.answeredWith(2); fmt.Sprint(back.reply) != fmt.Sprint(want) {
		t.Fatalf("dev got %+v again, want %+v", back, want)
	}
	f := k.answer("lead", m.MessageID, `"right"`)
	k.sync()
	k.answeredWith(2)
	if len(f.got) != 0 {
		t.Errorf("the second answer was refused with %v", <-f.got)
	}
	k.finish()
	for kind, n := range map[core.EventType]int{core.EventMessageSent: 1, core.EventMessageReplied: 1, core.EventMessageEscalated: 0} {
		if got := k.store.count(k.exec.ID, kind); got != n {
			t.Errorf("%d events %s, want %d", got, kind, n)
		}
	}
	k.answer("lead", m.MessageID, `"late"`).want(core.CodeNotFound, "message")
}

func TestMessageRoutes(t *testing.T) {
	shape := func(c *core.Chart) {
		c.Routing = []core.RoutingRule{{From: "dev", To: "cto", Topics: []string{"db"}}, {From: core.Anyone, To: "ceo", MessageTypes: []string{"task"}}}
		c.Escalation.TopicRoutes = map[string]string{"money": "ceo"}
	}
	for _, test := range []struct {
		name string
		m    core.TaskMessage
		want string
	}{
		{"Default", core.TaskMessage{}, "lead"},
		{"RuleOfTopic", core.TaskMessage{Topic: "db", To: "lead"}, "cto"},
		{"RuleOfType", core.TaskMessage{MessageType: "task"}, "ceo"},
		{"Named", core.TaskMessage{To: "cto", Topic: "money"}, "cto"},
		{"TopicRoute", core.TaskMessage{Topic: "money"}, "ceo"},
		{"Unknown role", core.TaskMessage{To: "cfo"}, "lead"},
	} {
		t.Run(test.name, func(t *testing.T) {
			k := newTalk(t, shape).begin()
			test.m.AskID = "a1"
			k.say(test.m)
			if got := k.askedOf(1); got.agent != test.want {
				t.Errorf("%s was asked, want %s", got.agent, test.want)
			}
		})
	}
}

func TestMessageRefused(t *testing.T) {
	k := newTalk(t, nil)
	k.pattern("flat", core.Step{Need: core.TaskNeed{Capabilities: []string{"flat"}}})
	k.agents.offer("plain", 1, "flat")
	k.start("flat")
	flat := k.agents.await(t, 1)[0].task
	k.exec = k.start("chart")
	for _, h := range k.agents.await(t, 2) {
		if h.agent == "dev" {
			k.task = h.task
		}
	}
	long := strings.Repeat("x", 129)
	for _, test := range []struct {
		name string
		m    core.TaskMessage
		code core.Code
		text string
	}{
		{"ErrUnknownTask", core.TaskMessage{AskID: "a", TaskID: "task_none"}, core.CodeNotFound, "task_none"},
		{"ErrOtherAgent", core.TaskMessage{AskID: "a", AgentID: "lead"}, core.CodeNotFound, "task"},
		{"ErrFlat", core.TaskMessage{AskID: "a", TaskID: flat.ID, AgentID: "plain"}, core.CodeValidation, "only org charts route messages"},
		{"ErrNoID", core.TaskMessage{}, core.CodeValidation, "id:"},
		{"ErrType", core.TaskMessage{AskID: "a", MessageType: long}, core.CodeValidation, "messageType:"},
		{"ErrTypeUnprintable", core.TaskMessage{AskID: "a", MessageType: "a\nb"}, core.CodeValidation, "messageType:"},
		{"ErrTopic", core.TaskMessage{AskID: "a", Topic: long}, core.CodeValidation, "topic:"},
		{"ErrTo", core.TaskMessage{AskID: "a", To: "\xff"}, core.CodeValidation, "to:"},
		{"ErrJSON", core.TaskMessage{AskID: "a", Content: json.RawMessage(`{`)}, core.CodeValidation, "content: must be JSON"},
		{"ErrEmpty", core.TaskMessage{AskID: "a", Content: json.RawMessage(``)}, core.CodeValidation, "content: is missing"},
		{"ErrLarge", core.TaskMessage{AskID: "a", Content: json.RawMessage(`"` + strings.Repeat("x", 256<<10) + `"`)}, core.CodeValidation, "at most 262144"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := k.say(test.m)
			f.tb = t
			f.want(test.code, test.text)
		})
	}
	if n := k.store.count(k.exec.ID, core.EventMessageSent); n != 0 {
		t.Errorf("%d refused messages were journaled", n)
	}
}

// A flood is refused with the number, and what was taken before is answered still.
func TestMessageFlood(t *testing.T) {
	k := newTalk(t, nil).begin()
	for i := range 100 {
		k.say(core.TaskMessage{AskID: fmt.Sprint("q", i)})
	}
	k.waitEvents(core.EventMessageSent, 100)
	k.say(core.TaskMessage{AskID: "more"}).want(core.CodeRateLimited, "100 messages")
	k.askedOf(100)
	k.agents.mu.Lock()
	first := k.agents.asked[0].message.MessageID
	k.agents.mu.Unlock()
	k.answer("lead", first, `1`)
	k.answeredWith(1)
	for i := range 900 {
		k.say(core.TaskMessage{AskID: fmt.Sprint("f", i), MessageType: "feedback"})
	}
	k.waitEvents(core.EventMessageSent, 1000)
	k.say(core.TaskMessage{AskID: "more", MessageType: "feedback"}).want(core.CodeValidation, "1000 messages")
	k.finish()
}

// While the store refuses writes what waits is bounded by its size, and those beyond are told.
func TestMessagesWaitBounded(t *testing.T) {
	k := newTalk(t, func(c *core.Chart) { c.Steps[0].Timeout = stdtime.Hour }).begin()
	k.store.setRefuse(errReadOnly)
	content := json.RawMessage(`"` + strings.Repeat("x", 250<<10) + `"`)
	refused, sent := 0, 0
	var last *refusals
	for ; refused == 0 && sent < 200; sent++ {
		last = k.say(core.TaskMessage{AskID: fmt.Sprint("q", sent), MessageType: "feedback", Content: content})
		refused = len(last.got)
	}
	if refused == 0 {
		t.Fatalf("%d messages were taken in while the store refuses", sent)
	}
	last.want(core.CodeRateLimited, "bytes of messages wait")
	k.store.setRefuse(nil)
	coretest.WaitFor(t, "what waited to be journaled", func() bool {
		k.clock.Advance(20 * stdtime.Millisecond)
		return k.store.count(k.exec.ID, core.EventMessageSent) == sent-1
	})
	k.finish()
}

// Many tasks ask at once: each gets its own answer.
func TestManyAskers(t *testing.T) {
	const n = 60
	k := newTalk(t, func(c *core.Chart) {
		c.Roles[0].Min, c.Roles[0].Max = n, n
		all := &core.ChartStep{Path: "0", Kind: core.KindParallel}
		for i := range n {
			all.Steps = append(all.Steps, &core.ChartStep{Path: fmt.Sprint("0.", i), Kind: core.KindAssign, Role: "dev"})
		}
		c.Steps = []*core.ChartStep{all}
	})
	k.exec = k.start("chart")
	held := k.agents.await(t, n)
	for _, h := range held {
		for i := range 3 {
			k.say(core.TaskMessage{AgentID: h.agent, TaskID: h.task.ID, AskID: fmt.Sprint(i), Content: json.RawMessage(fmt.Sprintf("%q", h.task.ID))})
		}
	}
	k.askedOf(3 * n)
	k.agents.mu.Lock()
	asks := slices.Clone(k.agents.asked)
	k.agents.mu.Unlock()
	for _, a := range asks {
		k.answer("lead", a.message.MessageID, string(a.message.Content))
	}
	k.answeredWith(3 * n)
	k.agents.mu.Lock()
	for _, r := range k.agents.replies {
		if string(r.reply.Content) != fmt.Sprintf("%q", r.reply.TaskID) {
			t.Errorf("task %s got the answer %s", r.reply.TaskID, r.reply.Content)
		}
	}
	k.agents.mu.Unlock()
	for _, h := range held {
		k.agents.report(h.agent, h.task, `1`, nil)
	}
	if exec := k.wait(k.exec.ID); exec.Status != core.ExecutionCompleted {
		t.Errorf("the execution is %s: %+v", exec.Status, exec.Error)
	}
}

// Feedback is delivered once: nobody waits for an answer, and nothing climbs.
func TestFeedback(t *testing.T) {
	k := newTalk(t, nil).begin()
	k.say(core.TaskMessage{AskID: "a1", MessageType: "feedback"})
	got := k.askedOf(1)
	if got.agent != "lead" || got.message.WantsReply {
		t.Fatalf("told %+v", got)
	}
	f := k.answer("lead", got.message.MessageID, `"thanks"`)
	k.clock.Advance(25 * stdtime.Second)
	k.sync()
	if n := k.store.count(k.exec.ID, core.EventMessageEscalated) + k.store.count(k.exec.ID, core.EventMessageReplied); n != 0 || len(f.got) != 0 {
		t.Errorf("feedback had %d consequences, %d refusals", n, len(f.got))
	}
	k.finish()
}

// The clock of a task stands still while a message of it waits, and goes on after.
func TestTaskClockWaitsForReply(t *testing.T) {
	k := newTalk(t, func(c *core.Chart) { c.Escalation.Timeout = 1000 * stdtime.Second }).begin()
	k.clock.Advance(20 * stdtime.Second)
	k.say(core.TaskMessage{AskID: "a1"})
	m := k.askedOf(1).message
	k.clock.Advance(500 * stdtime.Second)
	k.sync()
	if n := k.store.count(k.exec.ID, core.EventTaskFailed); n != 0 {
		t.Fatal("the task ran out of time while it waited")
	}
	k.answer("lead", m.MessageID, `1`)
	k.answeredWith(1)
	k.clock.Advance(9 * stdtime.Second)
	k.sync()
	if n := k.store.count(k.exec.ID, core.EventTaskFailed); n != 0 {
		t.Fatal("the task lost time while it waited")
	}
	k.clock.Advance(2 * stdtime.Second)
	k.waitEvents(core.EventTaskFailed, 1)
}

// What a task asked is closed with it, and its question cancelled.
func TestAskerIsOver(t *testing.T) {
	for name, over := range map[string]func(k *talk){
		"Done": func(k *talk) { k.finish() },
		"Lost": func(k *talk) {
			k.agents.lose("dev")
			k.waitEvents(core.EventTaskFailed, 1)
		},
		"Error": func(k *talk) {
			k.agents.report("dev", k.task, "", &core.TaskError{Code: "X", Message: "x", Retryable: true})
			k.waitEvents(core.EventTaskFailed, 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := newTalk(t, func(c *core.Chart) { c.Escalation.Default = core.BehaviorSurface }).begin()
			k.say(core.TaskMessage{AskID: "a1", To: "lead"})
			m := k.askedOf(1).message
			k.say(core.TaskMessage{AskID: "a2"})
			q := k.question()
			over(k)
			k.waitEvents("message.closed", 2)
			if got, err := k.FindQuestion(t.Context(), q.ID); err != nil || got.Status != core.QuestionCancelled || got.ClosedAt == nil {
				t.Errorf("the question is %+v, %v", got, err)
			}
			k.answer("lead", m.MessageID, `1`).want(core.CodeNotFound, "message")
			if _, err := k.answerPeople(q.ID, `1`); core.ErrorCode(err) != core.CodeConflict || core.AsError(err).Details["status"] != "cancelled" {
				t.Errorf("the answer got %v, want CONFLICT", err)
			}
		})
	}
}

func TestMessageWithdrawn(t *testing.T) {
	k := newTalk(t, func(c *core.Chart) { c.Escalation.Default = core.BehaviorSurface }).begin()
	k.say(core.TaskMessage{AskID: "p1", Kind: core.QuestionApproval, Options: yesNo})
	q := k.question()
	k.MessageWithdrawn("lead", k.task.ID, "p1") // of another agent: not its own
	k.MessageWithdrawn("dev", k.task.ID, "none")
	k.MessageWithdrawn("dev", "task_none", "p1")
	k.sync()
	if n := k.store.count(k.exec.ID, "message.closed"); n != 0 {
		t.Fatal("another agent's message was withdrawn")
	}
	k.MessageWithdrawn("dev", k.task.ID, "p1")
	k.waitEvents("message.closed", 1)
	if got, err := k.FindQuestion(t.Context(), q.ID); err != nil || got.Status != core.QuestionCancelled {
		t.Errorf("the question is %+v, %v", got, err)
	}
	k.MessageWithdrawn("dev", k.task.ID, "p1")
	k.finish()
}
