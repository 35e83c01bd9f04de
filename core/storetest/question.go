package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/store"
)

// questionAt makes a question id for a time; n tells ids of one millisecond apart.
func questionAt(t time.Time, n int) string {
	return core.PrefixQuestion + idAt(t, n)[len(core.PrefixExecution):]
}

func question(id, executionID string, status core.QuestionStatus) *core.Question {
	return &core.Question{
		ID: id, ExecutionID: executionID, Kind: core.QuestionMessage, Status: status, Role: "driver", AgentID: "agent_1",
		Text: "which way?", Options: []core.QuestionOption{{ID: "1", Label: "left"}}, CreatedAt: start, ExpiresAt: start.Add(time.Hour),
	}
}

func putQuestion(tb testing.TB, s *store.Store, q *core.Question) {
	tb.Helper()
	mustUpdate(tb, s, func(tx core.Tx) error { return tx.PutQuestion(q) })
}

func testQuestion(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	id, execID := questionAt(start, 1), idAt(start, 1)
	_, err := s.FindQuestion(ctx, id)
	wantCode(t, err, core.CodeNotFound)
	q := question(id, execID, core.QuestionOpen)
	putQuestion(t, s, q)
	if got, err := s.FindQuestion(ctx, id); err != nil || !reflect.DeepEqual(got, q) {
		t.Fatalf("got %+v, %v, want %+v", got, err, q)
	}
	// Two changes of one transaction see each other.
	mustUpdate(t, s, func(tx core.Tx) error {
		return errors.Join(
			tx.PutQuestion(question(questionAt(start, 2), execID, core.QuestionOpen)),
			tx.PutQuestion(question(questionAt(start, 2), execID, core.QuestionCancelled)),
			tx.PutQuestion(question(id, execID, core.QuestionAnswered)),
		)
	})
	for status, want := range map[core.QuestionStatus]int{
		"": 2, core.QuestionOpen: 0, core.QuestionAnswered: 1, core.QuestionCancelled: 1, core.QuestionExpired: 0,
	} {
		for _, exec := range []string{"", execID} {
			list, info, err := s.FindQuestions(ctx, core.QuestionFilter{ExecutionID: exec, Status: status})
			if err != nil || len(list) != want || info.Total != want {
				t.Errorf("status %q of execution %q: %d rows, %+v, %v, want %d", status, exec, len(list), info, err, want)
			}
		}
	}
}

func testQuestionInvalid(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	id, execID := questionAt(start, 1), idAt(start, 1)
	putQuestion(t, s, question(id, execID, core.QuestionOpen))
	for name, q := range map[string]*core.Question{
		"ErrIDRequired":        question("", execID, core.QuestionOpen),
		"ErrExecutionRequired": question(id, "", core.QuestionOpen),
		"ErrStatusUnknown":     question(id, execID, "asked"),
		"ErrOtherExecution":    question(id, idAt(start, 2), core.QuestionOpen),
	} {
		t.Run(name, func(t *testing.T) {
			wantCode(t, s.Update(ctx, func(tx core.Tx) error { return tx.PutQuestion(q) }), core.CodeValidation)
		})
	}
	_, _, err := s.FindQuestions(ctx, core.QuestionFilter{Status: "asked"})
	wantCode(t, err, core.CodeValidation)
	wantPages(t, questionList(s, core.QuestionFilter{}))
}

// Random puts and changes of status, then every list equals the naive one, by cursor and by offset.
func testQuestionListsEqualModel(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	rnd := rand.New(rand.NewPCG(3, 4))
	model := map[string]*core.Question{}
	var ids []string
	for i := range 300 {
		id, execID := questionAt(start.Add(time.Duration(rnd.IntN(500))*time.Millisecond), i+1), idAt(start, 1+rnd.IntN(4))
		if i > 10 && rnd.IntN(2) == 0 {
			id = ids[rnd.IntN(len(ids))]
			execID = model[id].ExecutionID
		} else {
			ids = append(ids, id)
		}
		model[id] = question(id, execID, core.QuestionStatuses[rnd.IntN(4)])
		model[id].CreatedBy = []string{"", "ann", "bob"}[rnd.IntN(3)]
		putQuestion(t, s, model[id])
	}
	slices.Sort(ids)
	slices.Reverse(ids)
	for exec := range 6 {
		for _, status := range append([]core.QuestionStatus{""}, core.QuestionStatuses...) {
			f := core.QuestionFilter{Status: status, CreatedBy: []string{"", "ann", "an"}[rnd.IntN(3)]}
			if exec > 0 {
				f.ExecutionID = idAt(start, exec)
			}
			want := slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
				q := model[id]
				return (f.ExecutionID != "" && q.ExecutionID != f.ExecutionID) || (status != "" && q.Status != status) || !either(f.CreatedBy, q.CreatedBy)
			})
			wantList(t, fmt.Sprintf("%+v", f), questionList(s, f), want, 1+rnd.IntN(30))
		}
	}
}

func questionList(s *store.Store, f core.QuestionFilter) lister {
	return listOf(s.FindQuestions, func(p core.Page) core.QuestionFilter { f.Page = p; return f },
		func(q *core.Question) string { return q.ID })
}

// Questions go with their execution and not before.
func testRetainQuestions(t *testing.T, open Opener) {
	clock := coretest.NewClock()
	s := open(t, store.Options{Clock: clock})
	empty := countKeys(t, s)
	ended, active := idAt(start, 1), idAt(start, 2)
	run(t, s, ended, "vote", core.ExecutionCompleted)
	for i := range 700 { // more keys than one transaction of retention takes
		putQuestion(t, s, question(questionAt(start, i+1), ended, core.QuestionStatuses[1+i%3]))
	}
	run(t, s, active, "vote", core.ExecutionRunning)
	putQuestion(t, s, question(questionAt(start, 1000), active, core.QuestionOpen))
	clock.Advance(2 * time.Hour)
	policy := store.Policy{Executions: time.Hour, Events: time.Hour}
	if got, err := s.Retain(ctx, policy); err != nil || got.Executions != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	list, info, err := s.FindQuestions(ctx, core.QuestionFilter{})
	if err != nil || len(list) != 1 || list[0].ExecutionID != active || info.Total != 1 {
		t.Fatalf("%v, %+v, %v", list, info, err)
	}
	mustUpdate(t, s, func(tx core.Tx) error {
		return errors.Join(tx.PutExecution(execution(active, "vote", core.ExecutionCompleted)),
			tx.PutQuestion(question(questionAt(start, 1000), active, core.QuestionCancelled)))
	})
	clock.Advance(2 * time.Hour)
	if got, err := s.Retain(ctx, policy); err != nil || got.Executions != 1 || got.Definitions != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	if left := countKeys(t, s); left != empty+1 { // the sequence stays
		t.Fatalf("%d keys are left, want %d", left, empty+1)
	}
}

func testQuestionsInDump(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	for i, status := range core.QuestionStatuses {
		putQuestion(t, s, question(questionAt(start, i+1), idAt(start, 1), status))
	}
	again := mustRestore(t, s)
	for _, status := range append([]core.QuestionStatus{""}, core.QuestionStatuses...) {
		f := core.QuestionFilter{ExecutionID: idAt(start, 1), Status: status}
		want, _, err := s.FindQuestions(ctx, f)
		if err != nil {
			t.Fatal(err)
		}
		got, info, err := again.FindQuestions(ctx, f)
		if err != nil || !reflect.DeepEqual(got, want) || info.Total != len(want) {
			t.Fatalf("status %q: got %v, %+v, %v, want %v", status, got, info, err, want)
		}
	}
}
