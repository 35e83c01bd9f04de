package storetest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store"
)

// delivery makes a pending delivery of an endpoint, the n-th after start, due in a minute.
func delivery(n int, webhookID string) *core.Delivery {
	at := start.Add(time.Duration(n) * time.Millisecond)
	next := at.Add(time.Minute)
	return &core.Delivery{
		ID: ownID(core.PrefixDelivery, at, 1), WebhookID: webhookID, EventID: fmt.Sprint("evt_", n),
		Event: core.EventExecutionStarted, Seq: uint64(n), Subject: idAt(at, 2), Status: core.DeliveryPending, CreatedAt: at, NextAt: &next,
	}
}

// ended returns the delivery after its only attempt.
func ended(d *core.Delivery, status core.DeliveryStatus) *core.Delivery {
	e := *d
	at := d.CreatedAt.Add(time.Second)
	e.Status, e.NextAt, e.FirstAt, e.Timestamp, e.Attempts, e.StatusCode, e.DurationMs = status, nil, &at, &at, 1, 200, 12
	return &e
}

func putDeliveries(tb testing.TB, s *store.Store, list ...*core.Delivery) {
	tb.Helper()
	mustUpdate(tb, s, func(tx core.Tx) error {
		for _, d := range list {
			if err := tx.PutDelivery(d); err != nil {
				return err
			}
		}
		return nil
	})
}

func testDelivery(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	w := webhook(webhookAt(start, 1))
	putWebhook(t, s, w)
	at, next := start.Add(time.Second), start.Add(time.Hour)
	full := &core.Delivery{
		ID: delivery(2, w.ID).ID, WebhookID: w.ID, EventID: "evt_2", Event: core.EventSystemAlert, Seq: 1 << 40, Subject: "s",
		Status: core.DeliveryPending, StatusCode: 503, Attempts: 2, Manual: 1, Test: true, CreatedAt: start, FirstAt: &start,
		Timestamp: &at, NextAt: &next, DurationMs: 1234, LastError: "answered 503", ResponseBody: "down", Body: []byte(`{"a":1}`),
	}
	plain := delivery(1, w.ID)
	putDeliveries(t, s, plain, full)
	for _, want := range []*core.Delivery{plain, full} {
		if got, err := s.FindDelivery(ctx, want.ID); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v, %v, want %+v", got, err, want)
		}
	}
	mustUpdate(t, s, func(tx core.Tx) error {
		over := ended(plain, core.DeliverySucceeded)
		if err := tx.PutDelivery(over); err != nil {
			return err
		}
		if got, err := tx.FindDelivery(plain.ID); err != nil || !reflect.DeepEqual(got, over) {
			t.Errorf("the transaction sees %+v, %v", got, err)
		}
		_, err := tx.FindDelivery("dlv_none")
		wantCode(t, err, core.CodeNotFound)
		return nil
	})
	_, err := s.FindDelivery(ctx, "dlv_none")
	wantCode(t, err, core.CodeNotFound)
}

func testPutDeliveryRefuses(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	w, other := webhook(webhookAt(start, 1)), webhook(webhookAt(start, 2))
	putWebhook(t, s, w)
	putWebhook(t, s, other)
	stored, failed := ended(delivery(1, w.ID), core.DeliverySucceeded), ended(delivery(3, w.ID), core.DeliveryFailed)
	putDeliveries(t, s, stored, failed)
	for name, c := range map[string]struct {
		base   *core.Delivery
		change func(d *core.Delivery)
		want   core.Code
	}{
		"no id":            {delivery(2, w.ID), func(d *core.Delivery) { d.ID = "" }, core.CodeValidation},
		"no webhook":       {delivery(2, w.ID), func(d *core.Delivery) { d.WebhookID = "" }, core.CodeValidation},
		"unknown webhook":  {delivery(2, w.ID), func(d *core.Delivery) { d.WebhookID = "wh_none" }, core.CodeNotFound},
		"status":           {delivery(2, w.ID), func(d *core.Delivery) { d.Status = "lost" }, core.CodeValidation},
		"event":            {delivery(2, w.ID), func(d *core.Delivery) { d.Event = core.EventTaskAssigned }, core.CodeValidation},
		"no next attempt":  {delivery(2, w.ID), func(d *core.Delivery) { d.NextAt = nil }, core.CodeValidation},
		"another webhook":  {stored, func(d *core.Delivery) { d.WebhookID = other.ID }, core.CodeConflict},
		"another event":    {stored, func(d *core.Delivery) { d.Event = core.EventSystemAlert }, core.CodeValidation},
		"another sequence": {stored, func(d *core.Delivery) { d.Seq++ }, core.CodeValidation},
		"after success":    {stored, func(d *core.Delivery) { d.Status, d.NextAt = core.DeliveryPending, &start }, core.CodeConflict},
		"after failure":    {failed, func(d *core.Delivery) { d.Status, d.NextAt = core.DeliveryPending, &start }, ""},
	} {
		d := *c.base
		c.change(&d)
		if got := core.ErrorCode(s.Update(ctx, func(tx core.Tx) error { return tx.PutDelivery(&d) })); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// Every list, every count and the order of what is due agree with a model, whatever the steps; so does the restored
// store.
func testDeliveriesAgainstModel(t *testing.T, open Opener) {
	dir := t.TempDir()
	s := open(t, store.Options{Path: dir})
	random := rand.New(rand.NewPCG(1, 2))
	model := map[string]*core.Delivery{}
	var hooks []string
	for i := range 3 {
		hooks = append(hooks, webhookAt(start, i+1))
		putWebhook(t, s, webhook(hooks[i]))
	}
	n := 0
	for range 60 {
		var changed []*core.Delivery
		mustUpdate(t, s, func(tx core.Tx) error {
			changed = changed[:0]
			for range 1 + random.IntN(60) {
				d := stepDelivery(random, &n, hooks, model)
				if err := tx.PutDelivery(d); err != nil {
					return fmt.Errorf("%+v: %w", d, err)
				}
				model[d.ID] = d // within the closure: a later step may change it again
			}
			return nil
		})
	}
	checkDeliveries(t, s, hooks, model)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, store.Options{Path: dir})
	checkDeliveries(t, s, hooks, model)
	checkDeliveries(t, mustRestore(t, s), hooks, model)
}

// stepDelivery makes a delivery, or the next state of one of the model.
func stepDelivery(random *rand.Rand, n *int, hooks []string, model map[string]*core.Delivery) *core.Delivery {
	if random.IntN(3) > 0 {
		for _, d := range model {
			next := *d
			at := start.Add(time.Duration(random.IntN(1000)) * time.Millisecond)
			switch d.Status {
			case core.DeliveryPending:
				next.Status = core.DeliveryStatuses[random.IntN(4)]
			case core.DeliveryFailed:
				next.Status = core.DeliveryPending
			}
			next.NextAt = nil
			if next.Status == core.DeliveryPending {
				next.NextAt = &at
			}
			return &next
		}
	}
	*n++
	d := delivery(*n, hooks[random.IntN(len(hooks))])
	d.Event = core.PublicEvents[random.IntN(len(core.PublicEvents))]
	return d
}

func checkDeliveries(t *testing.T, s *store.Store, hooks []string, model map[string]*core.Delivery) {
	t.Helper()
	for _, hook := range append([]string{"", "wh_none"}, hooks...) {
		for _, status := range append([]core.DeliveryStatus{""}, core.DeliveryStatuses...) {
			for _, event := range append([]core.EventType{""}, core.PublicEvents...) {
				f := core.DeliveryFilter{WebhookID: hook, Status: status, Event: event}
				var want []*core.Delivery
				for _, d := range model {
					if (hook == "" || d.WebhookID == hook) && (status == "" || d.Status == status) && (event == "" || d.Event == event) {
						want = append(want, d)
					}
				}
				slices.SortFunc(want, func(a, b *core.Delivery) int { return cmp.Compare(b.ID, a.ID) })
				wantDeliveries(t, s, f, want)
			}
		}
	}
	for _, hook := range hooks {
		var want []*core.Delivery
		for _, d := range model {
			if d.WebhookID == hook && d.Status == core.DeliveryPending {
				want = append(want, d)
			}
		}
		slices.SortFunc(want, func(a, b *core.Delivery) int { return cmp.Or(a.NextAt.Compare(*b.NextAt), cmp.Compare(a.ID, b.ID)) })
		var got []*core.Delivery
		for after, id := (time.Time{}), ""; ; {
			page, err := s.DueDeliveries(ctx, hook, after, id, 7)
			if err != nil {
				t.Fatal(err)
			}
			if got = append(got, page...); len(page) == 0 {
				break
			}
			after, id = *got[len(got)-1].NextAt, got[len(got)-1].ID
		}
		if !sameDeliveries(got, want) {
			t.Fatalf("%s: %d deliveries are due, want %d", hook, len(got), len(want))
		}
	}
}

// wantDeliveries reads a list by cursor and a part of it by offset.
func wantDeliveries(t *testing.T, s *store.Store, f core.DeliveryFilter, want []*core.Delivery) {
	t.Helper()
	var got []*core.Delivery
	f.Limit = 13
	for {
		page, info, err := s.FindDeliveries(ctx, f)
		if err != nil || info.Total != len(want) {
			t.Fatalf("%+v: a page of %d of %d, %v, want %d", f, len(page), info.Total, err, len(want))
		}
		got = append(got, page...)
		if info.HasMore != (len(got) < len(want)) {
			t.Fatalf("%+v: after %d of %d, more is %v", f, len(got), len(want), info.HasMore)
		}
		if f.Cursor = info.NextCursor; !info.HasMore {
			break
		}
	}
	if !sameDeliveries(got, want) {
		t.Fatalf("%+v: got %d deliveries, want %d, or others", f, len(got), len(want))
	}
	f.Cursor, f.Offset = "", len(want)/2
	page, _, err := s.FindDeliveries(ctx, f)
	if err != nil || !sameDeliveries(page, want[f.Offset:min(f.Offset+f.Limit, len(want))]) {
		t.Fatalf("%+v: got %d deliveries, %v", f, len(page), err)
	}
}

func sameDeliveries(got, want []*core.Delivery) bool {
	return slices.EqualFunc(got, want, func(a, b *core.Delivery) bool { return reflect.DeepEqual(a, b) })
}

func testFindDeliveriesRefuses(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	w := webhook(webhookAt(start, 1))
	putWebhook(t, s, w)
	putDeliveries(t, s, delivery(1, w.ID), delivery(2, w.ID))
	_, info, err := s.FindDeliveries(ctx, core.DeliveryFilter{WebhookID: w.ID, Page: core.Page{Limit: 1}})
	if err != nil || info.NextCursor == "" {
		t.Fatalf("got %+v, %v", info, err)
	}
	for name, f := range map[string]core.DeliveryFilter{
		"status":                 {Status: "lost"},
		"event":                  {Event: core.EventTaskAssigned},
		"limit":                  {Page: core.Page{Limit: -1}},
		"cursor":                 {Page: core.Page{Cursor: "x"}},
		"cursor of another list": {Page: core.Page{Cursor: info.NextCursor}},
	} {
		if _, _, err := s.FindDeliveries(ctx, f); core.ErrorCode(err) != core.CodeValidation {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// A transaction with many deliveries, more than Badger takes at once, is whole.
func testDeliveriesLarge(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	w := webhook(webhookAt(start, 1))
	putWebhook(t, s, w)
	const rows = 20_000
	mustUpdate(t, s, func(tx core.Tx) error {
		for i := range rows {
			if err := tx.PutDelivery(delivery(i, w.ID)); err != nil {
				return err
			}
		}
		return tx.SetCursor("webhooks", rows)
	})
	_, info, err := s.FindDeliveries(ctx, core.DeliveryFilter{WebhookID: w.ID})
	if err != nil || info.Total != rows {
		t.Fatalf("got %+v, %v", info, err)
	}
}

// checkDeliveryKeys proves that records, lists, what is due and counts agree, and that there are so many; -1: any number.
func checkDeliveryKeys(tb testing.TB, s *store.Store, want int) {
	tb.Helper()
	stored, listed, due := keysUnder(tb, s, "v/"), keysUnder(tb, s, "ix/vl/"), keysUnder(tb, s, "ix/vd/")
	total, pending := totalDeliveries(tb, s, core.DeliveryFilter{}), totalDeliveries(tb, s, core.DeliveryFilter{Status: core.DeliveryPending})
	if stored != listed || total != stored || pending != due || want >= 0 && want != stored {
		tb.Fatalf("%d deliveries are stored and %d listed, counts say %d; %d are due, counts say %d; want %d",
			stored, listed, total, due, pending, want)
	}
}

// Writers, readers, retention, and an endpoint that comes and goes, all at once.
func testDeliveriesConcurrently(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	ids := core.NewIDs(core.SystemClock{})
	steady, brief := webhook(webhookAt(start, 1)), webhook(webhookAt(start, 2))
	putWebhook(t, s, steady)
	putWebhook(t, s, brief)
	var wg sync.WaitGroup
	const rounds = 60
	for g := range 4 {
		wg.Go(func() {
			for i := range rounds {
				hook := []string{steady.ID, brief.ID}[i%2]
				var batch []*core.Delivery
				for n := range 10 {
					d := delivery(n, hook)
					d.ID = ids.New(core.PrefixDelivery)
					batch = append(batch, d)
				}
				err := s.Update(ctx, func(tx core.Tx) error {
					for _, d := range batch {
						if err := tx.PutDelivery(d); err != nil {
							return err
						}
					}
					return nil
				})
				if err == nil {
					err = s.Update(ctx, func(tx core.Tx) error {
						for _, d := range batch[:g*2] {
							d, err := tx.FindDelivery(d.ID)
							if err != nil {
								return err
							}
							if err := tx.PutDelivery(ended(d, core.DeliverySucceeded)); err != nil {
								return err
							}
						}
						return nil
					})
				}
				// The endpoint may be gone, or retention may have been faster.
				if code := core.ErrorCode(err); code != "" && code != core.CodeNotFound {
					t.Error(err)
				}
			}
		})
	}
	wg.Go(func() {
		for range rounds {
			tryUpdate(t, s, func(tx core.Tx) error { return tx.DeleteWebhook(brief.ID) })
			tryUpdate(t, s, func(tx core.Tx) error { return tx.PutWebhook(brief) })
			if _, err := s.PurgeDeliveries(ctx); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Go(func() {
		for range rounds {
			if _, err := s.Retain(ctx, store.Policy{DeliveriesPerWebhook: 50}); err != nil {
				t.Error(err)
			}
			for _, hook := range []string{steady.ID, brief.ID} {
				if _, _, err := s.FindDeliveries(ctx, core.DeliveryFilter{WebhookID: hook}); err != nil {
					t.Error(err)
				}
				if _, err := s.DueDeliveries(ctx, hook, time.Time{}, "", 100); err != nil {
					t.Error(err)
				}
			}
		}
	})
	wg.Wait()
	if _, err := s.Retain(ctx, store.Policy{DeliveriesPerWebhook: 50}); err != nil {
		t.Fatal(err)
	}
	checkDeliveryKeys(t, s, -1)
	for _, hook := range []string{steady.ID, brief.ID} {
		over := totalDeliveries(t, s, core.DeliveryFilter{WebhookID: hook, Status: core.DeliverySucceeded})
		if over > 50 || hook == steady.ID && over != 50 {
			t.Errorf("%d deliveries that are over stayed", over)
		}
	}
}

// tryUpdate is mustUpdate for goroutines.
func tryUpdate(t *testing.T, s *store.Store, fn func(tx core.Tx) error) {
	t.Helper()
	if err := s.Update(ctx, fn); err != nil {
		t.Error(err)
	}
}
