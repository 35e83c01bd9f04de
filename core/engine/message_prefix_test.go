package engine_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"testing"
	stdtime "time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

// talkLives are executions in which dev asks once and gives the answer as its result.
var talkLives = []struct {
	name    string
	shape   func(*core.Chart)
	answers map[string]string // of agents that answer
	people  string            // answer of people, or ""
	kind    core.QuestionKind
	want    string // status, result and error of the end
}{
	{name: "Lead", answers: map[string]string{"lead": `"left"`}, want: `completed "left" `},
	{name: "Cto", answers: map[string]string{"cto": `"right"`}, want: `completed "right" `},
	{name: "People", people: `"straight on"`, want: `completed "straight on" `},
	{name: "Prompt", kind: core.QuestionApproval, people: `"allow"`, want: `completed "1" `},
	{name: "UnclearPrompt", kind: core.QuestionDialog, answers: map[string]string{"lead": `"hm"`, "cto": `"no"`}, want: `completed "3" `},
	{name: "RoleWithoutAgents", shape: func(c *core.Chart) { c.Roles[1].Min = 0 }, answers: map[string]string{"cto": `1`}, want: `completed 1 `},
	{name: "Fail", shape: func(c *core.Chart) { c.Escalation.OnMaxDepth = core.BehaviorFail }, want: `failed  ESCALATION_FAILED`},
	{name: "FailAtOnce", shape: func(c *core.Chart) { c.Escalation.Default = core.BehaviorFail }, want: `failed  ESCALATION_FAILED`},
	{name: "BestEffort", shape: func(c *core.Chart) { c.Escalation.OnMaxDepth = core.BehaviorBestEffort }, want: `completed null `},
	{name: "Expired", shape: surfacing, want: `failed  ESCALATION_FAILED`},
}

// live plays a life to its end: dev, the agents that answer, people, and time.
func (k *talk) live(id string, answers map[string]string, people string, kind core.QuestionKind) *core.Execution {
	k.tb.Helper()
	said, answered, reported := map[string]bool{}, map[string]bool{}, map[string]bool{}
	act := func() {
		k.agents.mu.Lock()
		asks, replies := append([]asked(nil), k.agents.asked...), append([]replied(nil), k.agents.replies...)
		k.agents.mu.Unlock()
		for _, h := range k.agents.held() {
			if h.agent != "dev" {
				continue
			}
			if !said[h.task.ID] {
				said[h.task.ID] = true
				m := core.TaskMessage{TaskID: h.task.ID, AskID: "ask", Kind: kind}
				if kind != "" {
					m.Options = yesNo
				}
				k.say(m)
			}
			for _, r := range replies {
				if r.reply.TaskID == h.task.ID && !reported[h.task.ID] {
					reported[h.task.ID] = true
					k.agents.report("dev", h.task, string(r.reply.Content), nil)
				}
			}
		}
		for _, a := range asks {
			if content, ok := answers[a.agent]; ok && !answered[a.agent+a.message.MessageID] {
				answered[a.agent+a.message.MessageID] = true
				k.answer(a.agent, a.message.MessageID, content)
			}
		}
		open, _, err := k.FindQuestions(k.tb.Context(), core.QuestionFilter{ExecutionID: id, Status: core.QuestionOpen})
		switch {
		case err != nil:
			k.tb.Fatal(err)
		case len(open) > 0 && people != "":
			if _, err := k.AnswerQuestion(k.tb.Context(), id, open[0].ID, json.RawMessage(people)); err != nil {
				k.tb.Fatalf("%s: %v", people, err)
			}
		case len(open) > 0:
			k.clock.Advance(24 * stdtime.Hour)
		case len(asks) > 0 && k.store.count(id, core.EventMessageReplied) == 0 && len(answers) < 2: // not before a restarted engine has asked again
			k.clock.Advance(10 * stdtime.Second)
		}
	}
	coretest.WaitFor(k.tb, "the end", func() bool {
		e, err := k.store.FindExecution(k.tb.Context(), id)
		if err == nil && e.Status.Terminal() {
			return true
		}
		act()
		return false
	})
	return k.wait(id)
}

// asJournaled makes the stored questions what the journal says, as one transaction would have.
func (m *memory) asJournaled(tb testing.TB, id string) {
	tb.Helper()
	clear(m.questions)
	for _, ev := range m.events[id] {
		var d struct {
			Question   core.Question
			QuestionID string
		}
		if err := json.Unmarshal(ev.Data, &d); err != nil {
			continue
		}
		status := map[core.EventType]core.QuestionStatus{
			core.EventQuestionAnswered: core.QuestionAnswered, core.EventQuestionExpired: core.QuestionExpired,
			core.EventMessageReplied: core.QuestionCancelled, "message.closed": core.QuestionCancelled,
		}[ev.Type]
		if q, ok := m.questions[d.QuestionID]; ok && status != "" && q.Status == core.QuestionOpen {
			q.Status = status
			m.questions[d.QuestionID] = q
		}
		if ev.Type == core.EventQuestionAsked {
			m.questions[d.Question.ID] = d.Question
		}
	}
}

// Executions are crashed after every transaction and every single event, and end as one that nobody disturbed.
func TestMessagesAtEveryPrefix(t *testing.T) {
	for _, life := range talkLives {
		t.Run(life.name, func(t *testing.T) {
			ending := func(e *core.Execution) string {
				code := core.Code("")
				if e.Error != nil {
					code = e.Error.Code
				}
				return fmt.Sprintf("%s %s %s", e.Status, e.Result, code)
			}
			k := newTalk(t, life.shape)
			var crashes []*memory
			k.store.onCommit = func(int) {
				k.store.mu.Lock()
				ids := maps.Clone(k.store.executions)
				k.store.mu.Unlock()
				for id, e := range ids {
					before := 0
					if len(crashes) > 0 {
						before = len(crashes[len(crashes)-1].events[id])
					}
					for i := before + 1; i <= len(k.store.types(id)) && !e.Status.Terminal(); i++ {
						crash := k.store.upTo(id, i)
						crash.asJournaled(t, id)
						crashes = append(crashes, crash)
					}
				}
			}
			k.exec = k.start("chart")
			if got := ending(k.live(k.exec.ID, life.answers, life.people, life.kind)); got != life.want {
				t.Fatalf("got  %s\nwant %s\njournal %v", got, life.want, k.store.types(k.exec.ID))
			}
			k.Close()
			if len(crashes) < 5 {
				t.Fatalf("only %d places to crash", len(crashes))
			}
			for i, left := range crashes {
				id := k.exec.ID
				at := left.types(id)
				again := newTalkOn(t, left, life.shape)
				if again.clock.Now().Before(k.exec.CreatedAt) {
					t.Fatal("time goes back")
				}
				if got := ending(again.live(id, life.answers, life.people, life.kind)); got != life.want {
					t.Errorf("crash %d: got  %s\nwant %s\nat %v\njournal %v", i, got, life.want, at, left.types(id))
				}
				for _, kind := range []core.EventType{core.EventMessageSent, core.EventQuestionAsked, core.EventMessageReplied} {
					if n, m := left.count(id, kind), k.store.count(id, kind); n != m {
						t.Errorf("crash %d: %d events %s, want %d\nat %v\njournal %v", i, n, kind, m, at, left.types(id))
					}
				}
				for _, q := range left.questions {
					if q.Status == core.QuestionOpen {
						t.Errorf("crash %d: question %s is open after the end", i, q.ID)
					}
				}
				coretest.WaitFor(t, "an engine that keeps nothing", func() bool {
					s := again.Stats()
					return s.Active == 0 && again.clock.Pending() == 0
				})
				again.Close()
			}
		})
	}
}
