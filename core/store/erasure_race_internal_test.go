package store

import (
	"context"
	"errors"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/store/kv"
	"github.com/wardroom/wardroom/core/store/kv/memory"
	"github.com/wardroom/wardroom/sdk/wire"
)

// meanwhile is a map that calls a function once, after the next snapshot is done with.
type meanwhile struct {
	kv.DB
	fn func()
}

func (m *meanwhile) Snapshot() kv.Snapshot { return &meanwhileSnapshot{m.DB.Snapshot(), m} }

type meanwhileSnapshot struct {
	kv.Snapshot
	of *meanwhile
}

func (s *meanwhileSnapshot) Discard() {
	s.Snapshot.Discard()
	if fn := s.of.fn; fn != nil {
		s.of.fn = nil
		fn()
	}
}

// What changes between the look of an erasure and its writes keeps the change, and is erased all the same.
func TestErasureKeepsChanges(t *testing.T) {
	ctx := context.Background()
	db := &meanwhile{DB: memory.New()}
	s, err := OpenOn(ctx, db, Options{Clock: coretest.NewClock()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	q := &core.Question{ID: "q_1", ExecutionID: "exec_1", Status: core.QuestionOpen, CreatedBy: "ann"}
	e := new(core.ErasureRecord)
	e.ID, e.Status, e.Subject, e.Pseudonym = "era_1", wire.ErasureRunning, "ann", "erased_1"
	if err := s.Update(ctx, func(tx core.Tx) error { return errors.Join(tx.PutQuestion(q), tx.PutErasure(e)) }); err != nil {
		t.Fatal(err)
	}
	db.fn = func() {
		answered := *q
		answered.Status, answered.AnsweredBy = core.QuestionAnswered, "bob"
		if err := s.Update(ctx, func(tx core.Tx) error { return tx.PutQuestion(&answered) }); err != nil {
			t.Error(err)
		}
	}
	for done := false; !done; {
		if done, err = s.EraseNames(ctx, e); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.FindQuestion(ctx, q.ID)
	if err != nil {
		t.Fatal(err)
	}
	if got.Status != core.QuestionAnswered || got.AnsweredBy != "bob" || got.CreatedBy != "erased_1" || e.Done[core.DataQuestions] != 1 {
		t.Errorf("%s, answered by %q, created by %q, done %v", got.Status, got.AnsweredBy, got.CreatedBy, e.Done)
	}
}
