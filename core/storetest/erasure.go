package storetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store"
	"github.com/wardroom/wardroom/sdk/wire"
)

// erasing stores an erasure of ann that marked ids.
func erasing(tb testing.TB, s *store.Store, ids ...string) *core.ErasureRecord {
	tb.Helper()
	e := &core.ErasureRecord{
		Erasure: core.Erasure{ID: core.PrefixErasure + "1", Status: wire.ErasureRunning, Pseudonym: "erased-1", CreatedAt: start}, Subject: "ann",
	}
	mustUpdate(tb, s, func(tx core.Tx) error {
		for _, id := range ids {
			if fresh, err := tx.MarkErased(e.ID, core.DataExecutions, id); err != nil || !fresh {
				return fmt.Errorf("mark %s: %t, %w", id, fresh, err)
			}
			if fresh, err := tx.MarkErased(e.ID, core.DataExecutions, id); err != nil || fresh {
				return fmt.Errorf("mark %s once more: %t, %w", id, fresh, err)
			}
		}
		return tx.PutErasure(e)
	})
	return e
}

// erased does all steps of a kind, and compares what is counted, in the record and in the store.
func erased(tb testing.TB, s *store.Store, e *core.ErasureRecord, run func(ctx context.Context, e *core.ErasureRecord) (bool, error), want core.DataCounts) {
	tb.Helper()
	e.Done = nil
	for range 3 { // doing it again does no harm
		e.Place = nil
		for done := false; !done; {
			var err error
			if done, err = run(ctx, e); err != nil {
				tb.Fatal(err)
			}
			stored, err := s.FindErasure(ctx, e.ID)
			if err != nil || !reflect.DeepEqual(stored.Done, e.Done) {
				tb.Fatalf("stored %+v, %v; in hand %+v", stored, err, e)
			}
		}
	}
	if !reflect.DeepEqual(e.Done, want) || len(e.Unreadable) > 0 {
		tb.Errorf("done %v, want %v; unreadable %v", e.Done, want, e.Unreadable)
	}
}

func testEraseBatch(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	empty := countKeys(t, s)
	done := start.Add(time.Second)
	b := &core.Batch{ID: "batch_1", Status: core.BatchRunning, Total: 3, CreatedAt: start}
	mustUpdate(t, s, func(tx core.Tx) error {
		var err error
		for i := range b.Total {
			err = errors.Join(err, tx.PutBatchInput(b.ID, i, []byte(`{"text":"of ann"}`)),
				tx.PutBatchResult(b.ID, core.BatchResult{Index: i, Status: core.ExecutionCompleted, Result: json.RawMessage(`"of ann"`)}))
		}
		return errors.Join(err, tx.PutBatch(b))
	})
	wantCode(t, s.EraseBatch(ctx, b.ID), core.CodeConflict)
	over := *b
	over.Status, over.CompletedAt = core.BatchCompleted, &done
	mustUpdate(t, s, func(tx core.Tx) error { return tx.PutBatch(&over) })
	for range 2 {
		if err := s.EraseBatch(ctx, b.ID); err != nil {
			t.Fatal(err)
		}
	}
	if left := countKeys(t, s); left != empty {
		t.Errorf("%d keys are left, want %d", left, empty)
	}
	if _, err := s.FindBatchInput(ctx, b.ID, 0); core.ErrorCode(err) != core.CodeNotFound {
		t.Errorf("an input is left: %v", err)
	}
}

// Of what is marked no event is left but what it is about, where the log needs it; elsewhere the name becomes the pseudonym.
func testEraseEvents(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	own, other, threadID := idAt(start, 1), idAt(start, 2), threadAt(start, 1)
	data := json.RawMessage(`{"executionId":"x","text":"of ann","status":"failed","by":"ann"}`)
	event := func(kind core.EventType, subject, by string) core.Event {
		return core.Event{Type: kind, Subject: subject, Time: start, Data: data, By: by, ID: "evt_1"}
	}
	grouped := event(core.EventThreadOutput, threadID, "ann")
	grouped.Group = core.ThreadGroup(own)
	mustUpdate(t, s, func(tx core.Tx) error {
		return tx.Append(
			event(core.EventExecutionStarted, own, "ann"), event(core.EventTaskAssigned, own, "ann"), grouped,
			event(core.EventPublicThreadBlocked, core.NoticeSubject(threadID), "ann"),
			event(core.EventTaskAssigned, other, "ann"), event(core.EventTaskAssigned, other, "ann smith"), event(core.EventExecutionStarted, other, "bob"),
		)
	})
	e := erasing(t, s, own, threadID)
	erased(t, s, e, s.EraseEvents, core.DataCounts{core.DataEvents: 8})
	if got := mustEvents(t, s, threadID, 0, 0); len(got) != 0 {
		t.Errorf("of the thread %+v is left", got)
	}
	if got := mustEvents(t, s, core.ThreadGroup(own), 0, 0); len(got) != 0 {
		t.Errorf("of the group %+v is left", got)
	}
	for _, subject := range []string{own, core.NoticeSubject(threadID)} {
		got := mustEvents(t, s, subject, 0, 0)
		if len(got) != 1 || got[0].By != "erased-1" || bytes.Contains(got[0].Data, []byte("ann")) || !bytes.Contains(got[0].Data, []byte(`"failed"`)) {
			t.Errorf("of %s %+v is left", subject, got)
		}
	}
	got := mustEvents(t, s, other, 0, 0)
	if len(got) != 3 || got[0].By != "erased-1" || got[1].By != "ann smith" || got[2].By != "bob" {
		t.Fatalf("of others %+v is left", got)
	}
	for _, ev := range got {
		if !bytes.Contains(ev.Data, []byte(`"of ann"`)) || !bytes.Contains(ev.Data, []byte(`"by":"erased-1"`)) {
			t.Errorf("of others %s is left", ev.Data)
		}
	}
	if log, _, err := s.Log(ctx, 0, 0); err != nil || len(log) != 3 {
		t.Errorf("the log has %+v, %v", log, err)
	}
}

// Deliveries that are over go; one that waits is made yet, without what the receiver answered before.
func testEraseDeliveries(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	w := webhook(webhookAt(start, 1))
	putWebhook(t, s, w)
	threadID := threadAt(start, 1)
	about := func(n int, subject string) *core.Delivery {
		d := delivery(n, w.ID)
		d.Subject = subject
		return d
	}
	over, of := ended(about(1, idAt(start, 1)), core.DeliverySucceeded), ended(about(2, core.NoticeSubject(threadID)), core.DeliveryFailed)
	waits, others := about(3, idAt(start, 1)), ended(about(4, idAt(start, 2)), core.DeliverySucceeded)
	waits.ResponseBody, waits.LastError, others.ResponseBody = "ann", "answered ann", "thanks"
	putDeliveries(t, s, over, of, waits, others)
	e := erasing(t, s, idAt(start, 1), threadID)
	erased(t, s, e, s.EraseDeliveries, core.DataCounts{core.DataDeliveries: 3})
	for _, d := range []*core.Delivery{over, of} {
		if _, err := s.FindDelivery(ctx, d.ID); core.ErrorCode(err) != core.CodeNotFound {
			t.Errorf("%s is left: %v", d.ID, err)
		}
	}
	if got, err := s.FindDelivery(ctx, waits.ID); err != nil || got.Status != core.DeliveryPending || got.ResponseBody+got.LastError != "" {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := s.FindDelivery(ctx, others.ID); err != nil || got.ResponseBody != "thanks" {
		t.Errorf("%+v, %v", got, err)
	}
	checkDeliveryKeys(t, s, 2)
}

// Answers go by exactly who asked: not by a name that begins with it, nor by a route that does.
func testEraseIdempotency(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	scopes := map[string]bool{ // whether it goes
		core.RequestScope("ann", "POST", "/api/patterns/a%20b/execute"): true,
		core.RequestScope("ann smith", "POST", "/api/patterns"):         false,
		core.RequestScope("ann POST /api", "POST", "/api/patterns"):     false,
		core.RequestScope("ann ", "POST", "/api/patterns"):              false,
		core.RequestScope("joann", "POST", "/api/patterns"):             false,
		core.RequestScope("bob", "POST", "/ann"):                        false,
		"ann hooks":                                                     false, "hooks ann": false, "ann": false, "": false,
	}
	mustUpdate(t, s, func(tx core.Tx) error {
		var err error
		for scope := range scopes {
			err = errors.Join(err, tx.ClaimIdempotency(&core.IdempotencyClaim{Scope: scope, Key: "k"}, "exec_2", start))
		}
		return errors.Join(err, tx.ClaimIdempotency(&core.IdempotencyClaim{Scope: "bob POST /x", Key: "marked"}, "exec_1", start))
	})
	e := erasing(t, s, "exec_1")
	erased(t, s, e, s.EraseIdempotency, core.DataCounts{core.DataIdempotency: 2})
	for scope, goes := range scopes {
		if rec, err := s.FindIdempotency(ctx, scope, "k", start); err != nil || (rec == nil) != goes {
			t.Errorf("%q: %+v, %v", scope, rec, err)
		}
	}
	if rec, err := s.FindIdempotency(ctx, "bob POST /x", "marked", start); err != nil || rec != nil {
		t.Errorf("%+v, %v", rec, err)
	}
	// The index is gone too: a check finds nothing to mend.
	mustRestore(t, s)
}

// In questions, decisions, finished threads and cancelled executions of others, in erasures that are over and in API keys of
// others, the name becomes the pseudonym, and texts stay as they are.
func testEraseNames(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	execID := idAt(start, 1)
	put := execution(execID, "vote", core.ExecutionRunning)
	q, d := question(questionAt(start, 1), execID, core.QuestionAnswered), decision(ownID(core.PrefixDecision, start, 1), execID, "f")
	q.AnsweredBy, q.Text, d.CreatedBy, d.Summary = "ann", "shall ann?", "ann", "ann said so"
	over, runs := thread(threadAt(start, 1), execID, core.ThreadCompleted), thread(threadAt(start, 2), execID, core.ThreadRunning)
	over.CreatedBy, runs.CreatedBy = "ann", "ann"
	others := decision(ownID(core.PrefixDecision, start, 2), execID, "g")
	others.CreatedBy = "ann smith"
	cancelled := execution(idAt(start, 2), "vote", core.ExecutionCancelled)
	cancelled.CreatedBy, cancelled.CancelledBy, cancelled.CancelReason = "bob", "ann", "ann wants it"
	later := execution(idAt(start, 3), "vote", core.ExecutionCompleted)
	later.CreatedBy = "ann"
	former := &core.ErasureRecord{Erasure: core.Erasure{ID: core.PrefixErasure + "0", Status: wire.ErasureCompleted, RequestedBy: "ann"}}
	key := func(n int, owner, createdBy, revokedBy string) *core.APIKeyRecord {
		k := new(core.APIKeyRecord)
		k.ID, k.Name, k.Owner = ownID(core.PrefixAPIKey, start, n), fmt.Sprint("key", n), owner
		k.CreatedBy, k.RevokedBy, k.CreatedAt, k.Hashes = createdBy, revokedBy, start, []core.KeyHash{{MAC: []byte("mac")}}
		return k
	}
	keys := []*core.APIKeyRecord{key(1, "bob", "ann", ""), key(2, "bob", "eve", "ann"), key(3, "ann", "ann", ""), key(4, "bob", "ann smith", "")}
	mustUpdate(t, s, func(tx core.Tx) error {
		for _, k := range keys {
			if err := tx.PutAPIKey(k); err != nil {
				return err
			}
		}
		return errors.Join(tx.PutExecution(put), tx.PutQuestion(q), tx.PutDecision(d), tx.PutDecision(others), tx.PutThread(over), tx.PutThread(runs),
			tx.PutExecution(cancelled), tx.PutExecution(later), tx.PutErasure(former))
	})
	e := erasing(t, s)
	erased(t, s, e, s.EraseNames, core.DataCounts{
		core.DataQuestions: 1, core.DataDecisions: 1, core.DataThreads: 1, core.DataExecutions: 1, core.DataErasures: 1, core.DataAPIKeys: 2,
	})
	for i, want := range [][2]string{{"erased-1", ""}, {"eve", "erased-1"}, {"ann", ""}, {"ann smith", ""}} {
		got, err := s.FindAPIKey(ctx, keys[i].ID)
		if err != nil || got.CreatedBy != want[0] || got.RevokedBy != want[1] || len(got.Hashes) != 1 {
			t.Errorf("key %d: %+v, %v", i+1, got, err)
		}
	}
	for by, want := range map[string]int{"erased-1": 1, "ann": 1} {
		if list, _, err := s.FindAPIKeys(ctx, core.APIKeyFilter{CreatedBy: by}); err != nil || len(list) != want {
			t.Errorf("%d keys by %s, %v", len(list), by, err)
		}
	}
	if got, err := s.FindExecution(ctx, cancelled.ID); err != nil || got.CancelledBy != "erased-1" || got.CreatedBy != "bob" || got.CancelReason != cancelled.CancelReason {
		t.Errorf("%+v, %v", got, err)
	}
	if list, _, err := s.FindExecutions(ctx, core.ExecutionFilter{CreatedBy: "ann"}); err != nil || len(list) != 1 || list[0].ID != later.ID {
		t.Errorf("what came after the request: %+v, %v", list, err)
	}
	if got, err := s.FindErasure(ctx, former.ID); err != nil || got.RequestedBy != "erased-1" {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := s.FindQuestion(ctx, q.ID); err != nil || got.AnsweredBy != "erased-1" || got.Text != q.Text {
		t.Errorf("%+v, %v", got, err)
	}
	list, _, err := s.FindDecisions(ctx, core.DecisionFilter{ExecutionID: execID})
	if err != nil || len(list) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	names := []string{list[0].CreatedBy, list[1].CreatedBy}
	slices.Sort(names)
	if !slices.Equal(names, []string{"ann smith", "erased-1"}) || list[0].Summary+list[1].Summary != d.Summary+others.Summary && list[1].Summary+list[0].Summary != d.Summary+others.Summary {
		t.Errorf("%+v, %+v", list[0], list[1])
	}
	for id, want := range map[string]string{over.ID: "erased-1", runs.ID: "ann"} {
		if got, err := s.FindThread(ctx, id); err != nil || got.CreatedBy != want {
			t.Errorf("%s: %+v, %v", id, got, err)
		}
	}
}

// One call does a bounded part, and another store goes on with the rest.
func testEraseInSteps(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	own := idAt(start, 1)
	const events = 1234
	for range events / 617 {
		mustUpdate(t, s, func(tx core.Tx) error {
			return tx.Append(slices.Repeat([]core.Event{{Type: core.EventTaskAssigned, Subject: own, Time: start, Data: []byte(`{}`)}}, 617)...)
		})
	}
	e := erasing(t, s, own)
	done, err := s.EraseEvents(ctx, e)
	if err != nil || done || len(e.Place) == 0 || e.Done[core.DataEvents] == 0 || e.Done[core.DataEvents] >= events {
		t.Fatalf("%t, %v, %+v", done, err, e)
	}
	s = mustRestore(t, s)
	if e, err = s.FindErasure(ctx, e.ID); err != nil {
		t.Fatal(err)
	}
	for !done {
		if done, err = s.EraseEvents(ctx, e); err != nil {
			t.Fatal(err)
		}
	}
	if got := mustEvents(t, s, own, 0, 0); len(got) != 0 || e.Done[core.DataEvents] != events {
		t.Errorf("%d events are left of %+v", len(got), e.Done)
	}
	if all, err := s.AllErasures(ctx); err != nil || len(all) != 1 {
		t.Errorf("%+v, %v", all, err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := s.EraseEvents(cancelled, e); err == nil {
		t.Error("a step went on though it was cancelled")
	}
}

// Records are replaced in their place, and those that cannot be read are counted and stay.
func testRedactAudit(t *testing.T, open Opener) {
	texts := []string{`{"actor":"ann"}`, `{"actor":"bob"}`, `no record of ann`, `{"actor":"ann","on":"exec_1"}`}
	hook := func(_ context.Context, tx core.AuditTx) error {
		if tx.AuditHead().Sequence > 0 {
			return nil
		}
		for _, text := range texts {
			err := tx.AppendAudit(func(dst []byte, sequence uint64, _ core.AuditHash) ([]byte, time.Time, core.AuditHash) {
				return append(dst, text...), start, core.AuditHash{byte(sequence)}
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
	s := open(t, store.Options{Audit: hook})
	e := erasing(t, s, "exec_1")
	before := s.AuditHead()
	redact := func(row core.AuditRow, marked func(id string) bool) ([]byte, error) {
		switch {
		case !json.Valid(row.Record):
			return nil, core.ErrUnreadable
		case !bytes.Contains(row.Record, []byte("ann")):
			return nil, nil
		}
		return fmt.Appendf(nil, `{"actor":"erased-1","marked":%t}`, marked("exec_1") && !marked("exec_2")), nil
	}
	for done := false; !done; {
		var err error
		if done, err = s.RedactAudit(ctx, e, redact); err != nil {
			t.Fatal(err)
		}
	}
	if want := (core.DataCounts{core.DataAudit: 2}); !reflect.DeepEqual(e.Done, want) {
		t.Errorf("done %v, want %v", e.Done, want)
	}
	stored, err := s.FindErasure(ctx, e.ID)
	if want := (core.DataCounts{core.DataAudit: 1}); err != nil || !reflect.DeepEqual(stored.Unreadable, want) {
		t.Errorf("unreadable %+v, want %v; %v", stored, want, err)
	}
	var got []string
	err = s.AuditRows(ctx, 1, false, func(row core.AuditRow) (bool, error) {
		got = append(got, string(row.Record))
		return true, nil
	})
	want := []string{`{"actor":"erased-1","marked":true}`, texts[1], texts[2], `{"actor":"erased-1","marked":true}`}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	after := s.AuditHead()
	if grown := len(strings.Join(want, "")) - len(strings.Join(texts, "")); after.Bytes != before.Bytes+int64(grown) || after.Hash != before.Hash {
		t.Errorf("the head was %+v and is %+v", before, after)
	}
	boom := errors.New("boom")
	e.Place = nil
	if _, err := s.RedactAudit(ctx, e, func(core.AuditRow, func(string) bool) ([]byte, error) { return nil, boom }); !errors.Is(err, boom) {
		t.Errorf("%v", err)
	}
}

// Marks go with their erasure, and those of others stay.
func testDropMarks(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	e := erasing(t, s, "exec_1", "exec_2")
	mustUpdate(t, s, func(tx core.Tx) error {
		_, err := tx.MarkErased(e.ID+"0", core.DataExecutions, "exec_1")
		return err
	})
	if err := s.DropMarks(ctx, e.ID); err != nil {
		t.Fatal(err)
	}
	mustUpdate(t, s, func(tx core.Tx) error {
		fresh, err := tx.MarkErased(e.ID, core.DataExecutions, "exec_1")
		kept, other := tx.MarkErased(e.ID+"0", core.DataExecutions, "exec_1")
		if !fresh || kept {
			t.Errorf("marked anew %t; of another %t", fresh, kept)
		}
		return errors.Join(err, other)
	})
}

// What the log of events still holds of a thread stays when the thread goes, so that no entry leads nowhere, and goes with the log.
func testRemovedThreadsLeaveTheLog(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	execID, threadID := idAt(start, 1), threadAt(start, 1)
	run(t, s, execID, "vote", core.ExecutionCompleted)
	runThread(t, s, threadID, execID, core.ThreadCompleted, 3)
	public := core.Event{Type: core.EventSystemAlert, ID: "evt_1", Subject: threadID, Group: core.ThreadGroup(execID), Time: start, Data: []byte(`{}`)}
	mustUpdate(t, s, func(tx core.Tx) error { return tx.Append(public) })
	if err := s.DeleteExecution(ctx, execID, core.Event{ID: "evt_2", Type: core.EventExecutionDeleted, Subject: execID, Time: start}); err != nil {
		t.Fatal(err)
	}
	if got := mustEvents(t, s, threadID, 0, 0); len(got) != 1 || got[0].ID != "evt_1" {
		t.Errorf("of the thread %+v is left", got)
	}
	log, _, err := s.Log(ctx, 0, 0)
	if err != nil || !slices.ContainsFunc(log, func(ev core.Event) bool { return ev.ID == "evt_1" }) || len(s.Broken()) > 0 {
		t.Errorf("the log has %+v, %v; broken %+v", log, err, s.Broken())
	}
	if _, err := s.Retain(ctx, store.Policy{Executions: time.Nanosecond, Events: time.Nanosecond}); err != nil {
		t.Fatal(err)
	}
	if got := mustEvents(t, s, threadID, 0, 0); len(got) != 0 {
		t.Errorf("behind the log %+v is left", got)
	}
}
