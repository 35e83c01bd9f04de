package store

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/store/kv/memory"
	"github.com/wardroom/wardroom/sdk/wire"
)

// A creator who is erased is in no index any more: lists find what stays under the pseudonym.
func TestErasedCreatorIsInNoIndex(t *testing.T) {
	for _, subject := range []string{"canary", `can"ary <R&D> \of "canary" \\u2028`} {
		t.Run(subject, func(t *testing.T) { testErasedCreator(t, subject) })
	}
}

func testErasedCreator(t *testing.T, subject string) {
	ctx := context.Background()
	db := memory.New()
	s, err := OpenOn(ctx, db, Options{Clock: coretest.NewClock()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	r := new(core.ThreadRecord)
	r.ID, r.ExecutionID, r.Status, r.AgentType, r.CreatedBy = "thread_1", "exec_1", core.ThreadCompleted, "shell", subject
	q := &core.Question{ID: "q_1", ExecutionID: "exec_1", Status: core.QuestionAnswered, CreatedBy: subject, AnsweredBy: subject}
	d := &core.Decision{Decision: wire.Decision{ID: "dec_1", ExecutionID: "exec_1", CreatedBy: subject, Details: []byte("{}")}}
	e := new(core.ErasureRecord)
	e.ID, e.Status, e.Subject, e.Pseudonym = "era_1", wire.ErasureRunning, subject, "erased_1"
	named, err := json.Marshal(map[string]string{"by": subject})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Update(ctx, func(tx core.Tx) error {
		if err := tx.Append(core.Event{Type: core.EventTaskAssigned, Subject: "exec_1", Data: named, By: subject}); err != nil {
			return err
		}
		return errors.Join(tx.PutThread(r), tx.PutQuestion(q), tx.PutDecision(d), tx.PutErasure(e))
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, erase := range []func(context.Context, *core.ErasureRecord) (bool, error){s.EraseEvents, s.EraseNames} {
		for done := false; !done; {
			if done, err = erase(ctx, e); err != nil {
				t.Fatal(err)
			}
		}
		e.Place = nil
	}
	for key, value := range keysOf(t, db) {
		if !strings.HasPrefix(key, prefixErasure) && strings.Contains(key+value, "canary") {
			t.Errorf("%q still names the subject", key)
		}
	}
	for by, want := range map[string]int{subject: 0, "erased_1": 1} {
		_, threads, err1 := s.FindThreads(ctx, core.ThreadFilter{CreatedBy: by})
		_, questions, err2 := s.FindQuestions(ctx, core.QuestionFilter{CreatedBy: by})
		_, decisions, err3 := s.FindDecisions(ctx, core.DecisionFilter{CreatedBy: by})
		if err := errors.Join(err1, err2, err3); err != nil || threads.Total != want || questions.Total != want || decisions.Total != want {
			t.Errorf("of %s: %d threads, %d questions, %d decisions, %v, want %d of each", by, threads.Total, questions.Total, decisions.Total, err, want)
		}
	}
}
