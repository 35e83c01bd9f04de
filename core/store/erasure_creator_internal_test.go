package store

import (
	"context"
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
	ctx := context.Background()
	db := memory.New()
	s, err := OpenOn(ctx, db, Options{Clock: coretest.NewClock()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	r := new(core.ThreadRecord)
	r.ID, r.ExecutionID, r.Status, r.AgentType, r.CreatedBy = "thread_1", "exec_1", core.ThreadCompleted, "shell", "canary"
	q := &core.Question{ID: "q_1", ExecutionID: "exec_1", Status: core.QuestionAnswered, CreatedBy: "canary", AnsweredBy: "canary"}
	d := &core.Decision{Decision: wire.Decision{ID: "dec_1", ExecutionID: "exec_1", CreatedBy: "canary", Details: []byte("{}")}}
	e := new(core.ErasureRecord)
	e.ID, e.Status, e.Subject, e.Pseudonym = "era_1", wire.ErasureRunning, "canary", "erased_1"
	err = s.Update(ctx, func(tx core.Tx) error {
		return errors.Join(tx.PutThread(r), tx.PutQuestion(q), tx.PutDecision(d), tx.PutErasure(e))
	})
	if err != nil {
		t.Fatal(err)
	}
	for done := false; !done; {
		if done, err = s.EraseNames(ctx, e); err != nil {
			t.Fatal(err)
		}
	}
	for key, value := range keysOf(t, db) {
		if !strings.HasPrefix(key, prefixErasure) && strings.Contains(key+value, "canary") {
			t.Errorf("%q still names the subject", key)
		}
	}
	for by, want := range map[string]int{"canary": 0, "erased_1": 1} {
		_, threads, err1 := s.FindThreads(ctx, core.ThreadFilter{CreatedBy: by})
		_, questions, err2 := s.FindQuestions(ctx, core.QuestionFilter{CreatedBy: by})
		_, decisions, err3 := s.FindDecisions(ctx, core.DecisionFilter{CreatedBy: by})
		if err := errors.Join(err1, err2, err3); err != nil || threads.Total != want || questions.Total != want || decisions.Total != want {
			t.Errorf("of %s: %d threads, %d questions, %d decisions, %v, want %d of each", by, threads.Total, questions.Total, decisions.Total, err, want)
		}
	}
}
