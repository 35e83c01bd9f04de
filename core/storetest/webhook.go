package storetest

import (
	"reflect"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store"
)

// webhookAt makes the id of a webhook for a time; n tells ids of one millisecond apart.
func webhookAt(t time.Time, n int) string {
	return ownID(core.PrefixWebhook, t, n)
}

func webhook(id string) *core.WebhookRecord {
	return &core.WebhookRecord{
		Webhook: core.Webhook{
			ID: id, URL: "https://example.org/hook", Events: []core.EventType{core.AllEvents}, Enabled: true, Retries: 3,
			TimeoutMs: 30_000, CreatedAt: start, UpdatedAt: start,
			Filters: core.WebhookFilters{Pattern: []string{"vote"}},
		},
		Sealed: []byte{1, 2, 3},
	}
}

func putWebhook(tb testing.TB, s *store.Store, w *core.WebhookRecord) {
	tb.Helper()
	mustUpdate(tb, s, func(tx core.Tx) error { return tx.PutWebhook(w) })
}

func testWebhook(t *testing.T, open Opener) {
	dir := t.TempDir()
	s := open(t, store.Options{Path: dir})
	first, second := webhook(webhookAt(start, 1)), webhook(webhookAt(start.Add(time.Second), 1))
	second.FailingSince = &start
	declared := webhook(webhookAt(start.Add(-time.Hour), 1)) // its id is not of its time
	declared.Declared, declared.CreatedAt = true, start.Add(time.Hour)
	putWebhook(t, s, declared)
	putWebhook(t, s, second)
	putWebhook(t, s, first)
	mustUpdate(t, s, func(tx core.Tx) error {
		w, err := tx.FindWebhook(first.ID)
		if err != nil {
			return err
		}
		w.URL = "https://example.org/other"
		first = w
		if err := tx.PutWebhook(w); err != nil {
			return err
		}
		if w, err = tx.FindWebhook(w.ID); err != nil || w.URL != first.URL {
			t.Errorf("the transaction sees %+v, %v", w, err)
		}
		_, err = tx.FindWebhook("wh_none")
		wantCode(t, err, core.CodeNotFound)
		return nil
	})
	check := func(s *store.Store) {
		t.Helper()
		if list, err := s.AllWebhooks(ctx); err != nil || !reflect.DeepEqual(list, []*core.WebhookRecord{first, second, declared}) {
			t.Fatalf("got %+v, %v", list, err)
		}
	}
	check(s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, store.Options{Path: dir})
	check(s)
	mustUpdate(t, s, func(tx core.Tx) error { return tx.DeleteWebhook(first.ID) })
	mustUpdate(t, s, func(tx core.Tx) error { return tx.DeleteWebhook(first.ID) }) // again
	if list, err := s.AllWebhooks(ctx); err != nil || len(list) != 2 || list[0].ID != second.ID {
		t.Fatalf("got %+v, %v", list, err)
	}
	wantCode(t, s.Update(ctx, func(tx core.Tx) error { return tx.PutWebhook(&core.WebhookRecord{}) }), core.CodeValidation)
}

// The cursor of a consumer moves with what followed from the events, or not at all.
func testCursorInTransaction(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	putWebhook(t, s, webhook(webhookAt(start, 1)))
	err := s.Update(ctx, func(tx core.Tx) error {
		if err := tx.SetCursor("webhooks", 7); err != nil {
			return err
		}
		return tx.PutDelivery(delivery(1, "wh_none"))
	})
	wantCode(t, err, core.CodeNotFound)
	if seq, err := s.Cursor(ctx, "webhooks"); err != nil || seq != 0 {
		t.Fatalf("the cursor is at %d, %v, after a transaction that failed", seq, err)
	}
	mustUpdate(t, s, func(tx core.Tx) error { return tx.SetCursor("webhooks", 7) })
	if seq, err := s.Cursor(ctx, "webhooks"); err != nil || seq != 7 {
		t.Fatalf("the cursor is at %d, %v", seq, err)
	}
	wantCode(t, s.Update(ctx, func(tx core.Tx) error { return tx.SetCursor("", 7) }), core.CodeValidation)
}

func testFindEvent(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	events := []core.Event{
		{Type: core.EventTaskAssigned, Subject: "exec_1", Time: start},
		{Type: core.EventExecutionStarted, ID: "evt_1", Subject: "exec_1", Time: start, Data: []byte(`{"executionId":"exec_1"}`)},
		{Type: core.EventPatternCreated, ID: "evt_2", Time: start},
	}
	mustUpdate(t, s, func(tx core.Tx) error { return tx.Append(events...) })
	for _, want := range events[1:] {
		if got, err := s.FindEvent(ctx, want.Seq); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got event %+v, %v, want %+v", got, err, want)
		}
	}
	for _, seq := range []uint64{0, events[0].Seq, events[2].Seq + 1} {
		_, err := s.FindEvent(ctx, seq)
		wantCode(t, err, core.CodeNotFound) // none, or one of the journal only
	}
}
