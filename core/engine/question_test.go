package engine_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	stdtime "time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

var yesNo = []core.QuestionOption{{ID: "1", Label: "Yes"}, {ID: "2", Label: "Yes, and don't ask again"}, {ID: "3", Label: "No"}}

// surfacing is a chart whose messages go to people at once.
func surfacing(c *core.Chart) { c.Escalation.Default = core.BehaviorSurface }

func TestQuestionAsked(t *testing.T) {
	k := newTalk(t, surfacing).begin()
	k.say(core.TaskMessage{AskID: "a1", Topic: "db", Content: json.RawMessage(`{"question":"which database?"}`)})
	q := k.question()
	if q.ExecutionID != k.exec.ID || q.Kind != core.QuestionMessage || q.Step != "0" || q.Role != "dev" || q.AgentID != "dev" ||
		q.TaskID != k.task.ID || q.MessageID == "" || q.MessageType != "question" || q.Topic != "db" || q.Depth != 0 ||
		q.Text != "which database?" || string(q.Content) != `{"question":"which database?"}` || !q.CreatedAt.Equal(k.clock.Now()) ||
		!q.ExpiresAt.Equal(k.clock.Now().Add(7*24*stdtime.Hour)) || q.ClosedAt != nil {
		t.Fatalf("the question is %+v", q)
	}
	var alert struct {
		Severity, Message string
		Details           map[string]string
	}
	for _, ev := range k.store.events[k.exec.ID] {
		if ev.Type == core.EventSystemAlert {
			if err := json.Unmarshal(ev.Data, &alert); err != nil || ev.ID == "" {
				t.Fatal(ev, err)
			}
		}
	}
	if alert.Severity != "warning" || !strings.Contains(alert.Message, "which database?") || alert.Details["executionId"] != k.exec.ID ||
		alert.Details["questionId"] != q.ID || alert.Details["role"] != "dev" || alert.Details["step"] != "0" {
		t.Errorf("the alert is %+v", alert)
	}

	if _, _, err := k.FindQuestions(t.Context(), core.QuestionFilter{ExecutionID: "exec_none"}); core.ErrorCode(err) != core.CodeNotFound {
		t.Errorf("questions of an unknown execution: %v", err)
	}
	answered, err := k.answerPeople(q.ID, ` {"use":"postgres"} `)
	if err != nil || answered.Status != core.QuestionAnswered || string(answered.Answer) != `{"use":"postgres"}` || answered.AnsweredBy != "ann" ||
		answered.ClosedAt == nil {
		t.Fatalf("got %+v, %v", answered, err)
	}
	if back := k.answeredWith(1); back.agent != "dev" || back.reply.From != "user" || back.reply.AskID != "a1" || string(back.reply.Content) != `{"use":"postgres"}` {
		t.Errorf("dev got %+v", back)
	}
	_, err = k.answerPeople(q.ID, `1`)
	if e := core.AsError(err); e == nil || e.Code != core.CodeConflict || e.Details["resource"] != "question" || e.Details["id"] != q.ID || e.Details["status"] != "answered" {
		t.Errorf("the second answer got %v", err)
	}
	k.finish()
	if _, err = k.answerPeople(q.ID, `1`); core.ErrorCode(err) != core.CodeConflict {
		t.Errorf("an answer after the end got %v", err)
	}
}

func TestAnswerRefused(t *testing.T) {
	k := newTalk(t, surfacing).begin()
	k.say(core.TaskMessage{AskID: "a1"})
	q := k.question()
	for _, test := range []struct {
		name, exec, id, answer string
		code                   core.Code
	}{
		{"ErrUnknown", "", "q_none", `1`, core.CodeNotFound},
		{"ErrOtherExecution", "exec_none", q.ID, `1`, core.CodeNotFound},
		{"ErrNull", "", q.ID, ` null `, core.CodeValidation},
		{"ErrMissing", "", q.ID, ``, core.CodeValidation},
		{"ErrJSON", "", q.ID, `{`, core.CodeValidation},
		{"ErrLarge", "", q.ID, `"` + strings.Repeat("x", 256<<10) + `"`, core.CodeValidation},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := k.AnswerQuestion(t.Context(), test.exec, test.id, json.RawMessage(test.answer))
			if core.ErrorCode(err) != test.code {
				t.Errorf("got %v, want %s", err, test.code)
			}
		})
	}
	if _, err := k.AnswerQuestion(t.Context(), "", q.ID, json.RawMessage(`false`)); err != nil {
		t.Errorf("without the execution's id: %v", err)
	}
}

// Of many answers at once one counts, and the others are told.
func TestTwoAnswers(t *testing.T) {
	k := newTalk(t, surfacing).begin()
	k.say(core.TaskMessage{AskID: "a1"})
	q := k.question()
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() { _, errs[i] = k.answerPeople(q.ID, `1`) })
	}
	wg.Wait()
	taken := 0
	for _, err := range errs {
		switch core.ErrorCode(err) {
		case "":
			taken++
		case core.CodeConflict:
		default:
			t.Errorf("got %v", err)
		}
	}
	if taken != 1 {
		t.Errorf("%d answers were taken, want 1", taken)
	}
	k.answeredWith(1)
}

// People who do not answer in time let the execution fail; the deadline does not pass before.
func TestQuestionExpires(t *testing.T) {
	k := newTalk(t, surfacing).begin()
	k.say(core.TaskMessage{AskID: "a1", Topic: "db"})
	q := k.question()
	k.clock.Advance(7*24*stdtime.Hour - stdtime.Second)
	k.sync()
	if exec, err := k.FindExecution(t.Context(), k.exec.ID); err != nil || exec.Status != core.ExecutionRunning {
		t.Fatalf("the execution is %+v, %v", exec, err)
	}
	k.clock.Advance(2 * stdtime.Second)
	exec := k.wait(k.exec.ID)
	if exec.Status != core.ExecutionFailed || exec.Error.Code != core.CodeEscalationFailed || !strings.Contains(exec.Error.Message, `"db"`) ||
		!strings.Contains(exec.Error.Message, `"dev"`) {
		t.Fatalf("the execution is %s: %+v", exec.Status, exec.Error)
	}
	if got, err := k.FindQuestion(t.Context(), q.ID); err != nil || got.Status != core.QuestionExpired || got.ClosedAt == nil {
		t.Errorf("the question is %+v, %v", got, err)
	}
	if n := k.store.count(k.exec.ID, core.EventQuestionExpired); n != 1 {
		t.Errorf("%d events question.expired", n)
	}
}

// The deadline moves by the time that people took, unless the request named it.
func TestDeadlineWaitsForPeople(t *testing.T) {
	k := newTalk(t, surfacing).begin()
	k.say(core.TaskMessage{AskID: "a1"})
	first := k.question()
	k.clock.Advance(5 * stdtime.Hour)
	k.say(core.TaskMessage{AskID: "a2"})
	k.waitEvents(core.EventQuestionAsked, 2)
	if _, err := k.answerPeople(first.ID, `1`); err != nil {
		t.Fatal(err)
	}
	k.clock.Advance(5 * stdtime.Hour) // the second is open still
	if _, err := k.answerPeople(k.question().ID, `1`); err != nil {
		t.Fatal(err)
	}
	exec, err := k.FindExecution(t.Context(), k.exec.ID)
	if err != nil || !exec.Deadline.Equal(k.exec.CreatedAt.Add(12*stdtime.Hour)) {
		t.Fatalf("the deadline is %v after the start, %v, want 12h", exec.Deadline.Sub(k.exec.CreatedAt), err)
	}
	k.finish()
}

func TestNamedDeadlinePassesWhilePeopleThink(t *testing.T) {
	k := newTalk(t, surfacing)
	k.exec = k.startWith(core.ExecuteRequest{Pattern: "chart", Options: core.ExecuteOptions{TimeoutMs: 60_000}})
	k.task = k.agents.await(t, 1)[0].task
	k.say(core.TaskMessage{AskID: "a1"})
	q := k.question()
	k.clock.Advance(stdtime.Minute)
	if exec := k.wait(k.exec.ID); exec.Error == nil || exec.Error.Code != core.CodeTimeout {
		t.Fatalf("the execution is %s: %+v", exec.Status, exec.Error)
	}
	if got, err := k.FindQuestion(t.Context(), q.ID); err != nil || got.Status != core.QuestionCancelled {
		t.Errorf("the question is %+v, %v", got, err)
	}
}

func TestCancelWhilePeopleThink(t *testing.T) {
	k := newTalk(t, surfacing).begin()
	k.say(core.TaskMessage{AskID: "a1"})
	q := k.question()
	if _, err := k.Cancel(t.Context(), k.exec.ID, "enough"); err != nil {
		t.Fatal(err)
	}
	if got, err := k.FindQuestion(t.Context(), q.ID); err != nil || got.Status != core.QuestionCancelled || got.ClosedAt == nil {
		t.Errorf("the question is %+v, %v", got, err)
	}
	for id, n := range k.agents.slots {
		if n != 1 {
			t.Errorf("agent %s has %d free slots after the end, want 1", id, n)
		}
	}
}

// While the store refuses, an answer waits; it is told once it is durable.
func TestAnswerIsDurable(t *testing.T) {
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
	if len(done) > 0 {
		t.Fatalf("the answer was taken though it is not stored: %v", <-done)
	}
	k.store.setRefuse(nil)
	coretest.WaitFor(t, "the answer", func() bool {
		k.clock.Advance(stdtime.Second)
		return len(done) > 0
	})
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
