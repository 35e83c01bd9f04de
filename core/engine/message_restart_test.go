package engine_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	stdtime "time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

// again restarts the engine; what agents were told before is forgotten.
func (k *talk) again() {
	k.tb.Helper()
	k.agents.mu.Lock()
	k.agents.asked, k.agents.replies = nil, nil
	for _, role := range k.chart.Roles {
		if _, ok := k.agents.slots[role.Key]; ok {
			k.agents.slots[role.Key] = 1
		}
	}
	k.agents.mu.Unlock()
	k.restart()
}

// The time that an asked agent has goes on over a restart.
func TestEscalationTimeOverRestart(t *testing.T) {
	k := newTalk(t, nil).begin()
	k.say(core.TaskMessage{AskID: "a1"})
	first := k.askedOf(1).message
	k.clock.Advance(20 * stdtime.Second)
	k.again()
	if got := k.askedOf(1); got.agent != "lead" || got.message.MessageID != first.MessageID || string(got.message.Content) != string(first.Content) {
		t.Fatalf("after the restart %+v was asked", got)
	}
	k.clock.Advance(9 * stdtime.Second)
	k.sync()
	k.askedOf(1)
	k.clock.Advance(stdtime.Second)
	if got := k.askedOf(2); got.agent != "cto" {
		t.Fatalf("after the time %+v was asked", got)
	}
	k.answer("lead", first.MessageID, `1`) // asked before the restart
	k.answeredWith(1)
	k.finish()
}

// While the engine was down the time passed: it climbs at once.
func TestEscalationTimePassedWhileDown(t *testing.T) {
	k := newTalk(t, nil).begin()
	k.say(core.TaskMessage{AskID: "a1"})
	k.askedOf(1)
	k.Close()
	k.clock.Advance(stdtime.Hour)
	k.again()
	coretest.WaitFor(t, "cto to be asked", func() bool {
		k.clock.Advance(0)
		k.agents.mu.Lock()
		defer k.agents.mu.Unlock()
		return len(k.agents.asked) > 0 && k.agents.asked[len(k.agents.asked)-1].agent == "cto"
	})
}

// Replies are given again after a restart, to tasks that are out; a large one that was not kept is read again.
func TestRepliesAfterRestart(t *testing.T) {
	k := newTalk(t, nil).begin()
	const n = 6
	big := strings.Repeat("x", 250<<10)
	for i := range n {
		k.say(core.TaskMessage{AskID: fmt.Sprint("a", i)})
		k.answer("lead", k.askedOf(i+1).message.MessageID, fmt.Sprintf(`"%d %s"`, i, big))
		k.answeredWith(i + 1)
	}
	check := func(got replied) {
		t.Helper()
		if want := fmt.Sprintf(`"%s %s"`, got.reply.AskID[1:], big); string(got.reply.Content) != want || got.reply.From != "lead" {
			t.Errorf("the reply to %s begins %.20s, from %s", got.reply.AskID, got.reply.Content, got.reply.From)
		}
	}
	k.say(core.TaskMessage{AskID: "a5"})
	check(k.answeredWith(n + 1))
	k.again()
	check(k.answeredWith(n))
	k.agents.mu.Lock()
	for _, r := range k.agents.replies {
		check(r)
	}
	k.agents.mu.Unlock()
	k.say(core.TaskMessage{AskID: "a5"})
	check(k.answeredWith(n + 1))
	k.agents.mu.Lock()
	if len(k.agents.asked) > 0 {
		t.Errorf("after the answer %+v was asked again", k.agents.asked)
	}
	k.agents.mu.Unlock()
	k.finish()
}

// A question stands over restarts, with the deadline; an answer after days goes to the asker.
func TestQuestionOverRestarts(t *testing.T) {
	k := newTalk(t, surfacing).begin()
	k.say(core.TaskMessage{AskID: "a1"})
	q := k.question()
	for range 3 {
		k.clock.Advance(stdtime.Hour * 30)
		k.again()
	}
	if again := k.question(); again.ID != q.ID {
		t.Fatalf("question %s is open, want %s", again.ID, q.ID)
	}
	k.say(core.TaskMessage{AskID: "a1"}) // the agent says it again
	if _, err := k.answerPeople(q.ID, `"go"`); err != nil {
		t.Fatal(err)
	}
	if back := k.answeredWith(1); string(back.reply.Content) != `"go"` {
		t.Errorf("dev got %+v", back)
	}
	exec, err := k.FindExecution(t.Context(), k.exec.ID)
	if err != nil || !exec.Deadline.Equal(k.exec.CreatedAt.Add(92*stdtime.Hour)) {
		t.Errorf("the deadline is %v after the start, %v, want 92h", exec.Deadline.Sub(k.exec.CreatedAt), err)
	}
	k.finish()
	if n := k.store.count(k.exec.ID, core.EventMessageSent); n != 1 {
		t.Errorf("%d messages were sent, want 1", n)
	}
}

// An asker that is gone after a restart leaves no question.
func TestAskerGoneAfterRestart(t *testing.T) {
	k := newTalk(t, surfacing).begin()
	k.say(core.TaskMessage{AskID: "a1"})
	q := k.question()
	k.Close()
	k.agents.mu.Lock()
	delete(k.agents.slots, "dev")
	k.agents.order = []string{"lead", "cto", "ceo"}
	k.agents.mu.Unlock()
	k.again()
	coretest.WaitFor(t, "the question to be cancelled", func() bool {
		got, err := k.FindQuestion(t.Context(), q.ID)
		return err == nil && got.Status == core.QuestionCancelled
	})
}

// An answer that comes while the engine stops is refused as one to repeat.
func TestAnswerWhileEngineStops(t *testing.T) {
	k := newTalk(t, surfacing).begin()
	k.say(core.TaskMessage{AskID: "a1"})
	q := k.question()
	k.store.setRefuse(errReadOnly)
	done := make(chan error, 1)
	go func() {
		_, err := k.answerPeople(q.ID, `1`)
		done <- err
	}()
	coretest.WaitFor(t, "the store to refuse", func() bool {
		k.store.mu.Lock()
		defer k.store.mu.Unlock()
		return k.store.refused > 0
	})
	k.Close()
	if err := <-done; err == nil || !core.AsError(err).Unavailable {
		t.Errorf("got %v, want one that is unavailable", err)
	}
	k.store.setRefuse(nil)
	if _, err := k.answerPeople(q.ID, `1`); err == nil || !core.AsError(err).Unavailable {
		t.Errorf("after the end got %v, want one that is unavailable", err)
	}
	f := k.say(core.TaskMessage{AskID: "late"})
	k.again()
	if _, err := k.answerPeople(k.question().ID, `1`); err != nil {
		t.Fatal(err)
	}
	if len(f.got) > 0 {
		t.Errorf("a message that comes while the engine stops is refused with %v, so its agent gives up", <-f.got)
	}
	k.finish()
}

// What cannot be stored at all fails the execution; its question is not left open, and who answered is told.
func TestAnswerThatCannotBeStored(t *testing.T) {
	k := newTalk(t, surfacing).begin()
	k.say(core.TaskMessage{AskID: "a1"})
	q := k.question()
	k.clock.Advance(stdtime.Minute)
	k.store.mu.Lock()
	k.store.unstorable = func(e *core.Execution) bool { return e.Status == core.ExecutionRunning }
	k.store.mu.Unlock()
	if _, err := k.answerPeople(q.ID, `1`); core.ErrorCode(err) != core.CodeConflict {
		t.Errorf("got %v, want CONFLICT", err)
	}
	if exec := k.wait(k.exec.ID); exec.Status != core.ExecutionFailed || exec.Error.Code != core.CodeInternal {
		t.Errorf("the execution is %s: %+v", exec.Status, exec.Error)
	}
	if got, err := k.FindQuestion(t.Context(), q.ID); err != nil || got.Status != core.QuestionCancelled || got.Answer != nil {
		t.Errorf("the question is %+v, %v", got, err)
	}
}

// The timeline tells of messages, climbs and questions.
func TestTimelineOfTalk(t *testing.T) {
	k := newTalk(t, func(c *core.Chart) { c.Escalation.MaxDepth = 1 }).begin()
	k.say(core.TaskMessage{AskID: "a1", Topic: "db"})
	k.askedOf(1)
	k.clock.Advance(30 * stdtime.Second)
	k.askedOf(2)
	k.clock.Advance(30 * stdtime.Second)
	if _, err := k.answerPeople(k.question().ID, `1`); err != nil {
		t.Fatal(err)
	}
	k.finish()
	got, err := k.Timeline(t.Context(), k.exec.ID)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range got.Entries {
		if e.EndedAt == nil {
			t.Errorf("%s %s has no end", e.Kind, e.ID)
		}
		switch e.Kind {
		case core.TimelineMessage, core.TimelineEscalation, core.TimelineQuestion:
			list = append(list, fmt.Sprintf("%s %s>%s %s %d", e.Kind, e.Role, e.To, e.Status, e.Duration))
		}
	}
	want := []string{"message dev>lead answered 60000", "escalation dev>cto timeout 30000", "escalation dev>user answered 0", "question dev> answered 0"}
	if fmt.Sprint(list) != fmt.Sprint(want) {
		t.Errorf("got  %q\nwant %q", list, want)
	}
	if _, err := json.Marshal(got); err != nil {
		t.Error(err)
	}
}
