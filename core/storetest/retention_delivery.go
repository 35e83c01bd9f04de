package storetest

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/store"
)

func totalDeliveries(tb testing.TB, s *store.Store, f core.DeliveryFilter) int {
	tb.Helper()
	_, info, err := s.FindDeliveries(ctx, f)
	if err != nil {
		tb.Fatal(err)
	}
	return info.Total
}

func testRetainDeliveries(t *testing.T, open Opener) {
	for name, c := range map[string]struct {
		policy store.Policy
		want   []int // deliveries that stay, besides 0, 1000 and 2000, which wait
	}{
		"nothing":       {store.Policy{}, []int{1, 2, 3, 1001, 1002, 1003, 2001, 2002, 2003}},
		"age":           {store.Policy{Deliveries: 1500 * time.Millisecond}, []int{1002, 2001, 2002, 2003}},
		"count":         {store.Policy{DeliveriesPerWebhook: 4}, []int{1003, 2001, 2002, 2003}},
		"age and count": {store.Policy{Deliveries: 1500 * time.Millisecond, DeliveriesPerWebhook: 2}, []int{2002, 2003}},
		"more than are": {store.Policy{DeliveriesPerWebhook: 10}, []int{1, 2, 3, 1001, 1002, 1003, 2001, 2002, 2003}},
	} {
		t.Run(name, func(t *testing.T) {
			clock := coretest.NewClock()
			s := open(t, store.Options{Clock: clock})
			w := webhook(webhookAt(start, 1))
			putWebhook(t, s, w)
			var all []*core.Delivery
			for _, from := range []int{0, 1000, 2000} {
				all = append(all, delivery(from, w.ID), ended(delivery(from+1, w.ID), core.DeliverySucceeded),
					ended(delivery(from+2, w.ID), core.DeliveryFailed), ended(delivery(from+3, w.ID), core.DeliveryCancelled))
			}
			late := clock.Now().Add(3 * time.Second)
			all[6].Timestamp = &late // 1002: attempts went on for a while
			putDeliveries(t, s, all...)
			clock.Advance(4 * time.Second)
			done, err := s.Retain(ctx, c.policy)
			if err != nil || done.Deliveries != 9-len(c.want) {
				t.Fatalf("removed %+v, %v", done, err)
			}
			want := append(slices.Clone(c.want), 0, 1000, 2000)
			for _, d := range all {
				_, err := s.FindDelivery(ctx, d.ID)
				if kept := slices.Contains(want, int(d.Seq)); kept != (err == nil) {
					t.Errorf("delivery %d: kept is %v, want %v (%v)", d.Seq, err == nil, kept, err)
				}
			}
			if n := totalDeliveries(t, s, core.DeliveryFilter{WebhookID: w.ID}); n != len(want) {
				t.Errorf("the list holds %d, want %d", n, len(want))
			}
		})
	}
}

// Retention in more than one step, with some that stay in between.
func testRetainManyDeliveries(t *testing.T, open Opener) {
	clock := coretest.NewClock()
	s := open(t, store.Options{Clock: clock})
	w := webhook(webhookAt(start, 1))
	putWebhook(t, s, w)
	late := start.Add(time.Hour)
	for from := 0; from < 3000; from += 500 {
		var list []*core.Delivery
		for i := from; i < from+500; i++ {
			d := ended(delivery(i, w.ID), core.DeliverySucceeded)
			if i%3 == 0 {
				d.Timestamp = &late
			}
			list = append(list, d)
		}
		putDeliveries(t, s, list...)
	}
	clock.Advance(30 * time.Minute)
	done, err := s.Retain(ctx, store.Policy{Deliveries: time.Minute, DeliveriesPerWebhook: 2000})
	if err != nil || done.Deliveries != 1000+1334 {
		t.Fatalf("removed %+v, %v", done, err) // the oldest thousand, and of the rest all but the late ones
	}
	if n := totalDeliveries(t, s, core.DeliveryFilter{WebhookID: w.ID}); n != 666 {
		t.Fatalf("the list holds %d", n)
	}
}

// The deliveries of a deleted endpoint are out of sight at once, whether or not an endpoint has the same id again, and
// go step by step, after a crash as well.
func testPurgeDeliveries(t *testing.T, open Opener) {
	dir := t.TempDir()
	s := open(t, store.Options{Path: dir})
	gone, kept := webhook(webhookAt(start, 1)), webhook(webhookAt(start, 2))
	putWebhook(t, s, gone)
	putWebhook(t, s, kept)
	const rows = 1200
	for i := range rows {
		if i%200 != 0 {
			continue
		}
		var list []*core.Delivery
		for n := i; n < i+200; n++ {
			list = append(list, delivery(n, gone.ID), delivery(rows+n, kept.ID))
		}
		putDeliveries(t, s, list...)
	}
	old := delivery(7, gone.ID)
	mustUpdate(t, s, func(tx core.Tx) error { return tx.DeleteWebhook(gone.ID) })
	for round := range 2 {
		if _, err := s.FindDelivery(ctx, old.ID); core.ErrorCode(err) != core.CodeNotFound {
			t.Fatalf("round %d: a delivery of a deleted endpoint is found: %v", round, err)
		}
		if due, err := s.DueDeliveries(ctx, gone.ID, time.Time{}, "", 10); err != nil || len(due) != 0 {
			t.Fatalf("round %d: %d deliveries of a deleted endpoint are due, %v", round, len(due), err)
		}
		if n := totalDeliveries(t, s, core.DeliveryFilter{WebhookID: gone.ID}) + totalDeliveries(t, s, core.DeliveryFilter{}); n != rows {
			t.Fatalf("round %d: lists hold %d", round, n)
		}
		wantCode(t, s.Update(ctx, func(tx core.Tx) error {
			_, err := tx.FindDelivery(old.ID)
			return err
		}), core.CodeNotFound)
		putWebhook(t, s, gone) // the same id again: another endpoint
	}
	putDeliveries(t, s, delivery(rows*2, gone.ID))
	if err := s.Update(ctx, func(tx core.Tx) error { return tx.PutDelivery(old) }); core.ErrorCode(err) != core.CodeConflict {
		t.Fatalf("a delivery of the endpoint before was taken: %v", err)
	}

	// Stopped after its first step.
	stop, cancel := context.WithCancel(ctx)
	probe := s.Stats().Updates
	done := make(chan error, 1)
	go func() {
		_, err := s.PurgeDeliveries(stop)
		done <- err
	}()
	coretest.WaitFor(t, "a first step", func() bool { return s.Stats().Updates > probe })
	cancel()
	<-done
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, store.Options{Path: dir})
	if _, err := s.PurgeDeliveries(ctx); err != nil {
		t.Fatal(err)
	}
	if n, err := s.PurgeDeliveries(ctx); err != nil || n != 0 {
		t.Fatalf("a second purge removed %d, %v", n, err)
	}
	if n := keysUnder(t, s, "v/"); n != rows+1 {
		t.Fatalf("%d deliveries are stored, want %d", n, rows+1)
	}
	for _, prefix := range []string{"ix/vl/", "ix/vd/"} {
		if n := keysUnder(t, s, prefix); n != rows+1 {
			t.Fatalf("%s has %d keys, want %d", prefix, n, rows+1)
		}
	}
	if n := totalDeliveries(t, s, core.DeliveryFilter{WebhookID: gone.ID}); n != 1 {
		t.Fatalf("the new endpoint has %d deliveries", n)
	}
}

// A running store sees to a deleted endpoint without waiting for the hour.
func testMaintenancePurges(t *testing.T, open Opener) {
	s := open(t, store.Options{Clock: coretest.NewClock()})
	w := webhook(webhookAt(start, 1))
	putWebhook(t, s, w)
	putDeliveries(t, s, delivery(1, w.ID))
	run, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- s.RunMaintenance(run, func() store.Policy { return store.Policy{} }) }()
	mustUpdate(t, s, func(tx core.Tx) error { return tx.DeleteWebhook(w.ID) })
	coretest.WaitFor(t, "the delivery is gone", func() bool { return keysUnder(t, s, "v/") == 0 })
	cancel()
	<-done
}

// The log keeps what deliveries may still be made from, and no more; what failed may be retried.
func testRetainNeededEvents(t *testing.T, open Opener) {
	clock := coretest.NewClock()
	s := open(t, store.Options{Clock: clock})
	w, deleted := webhook(webhookAt(start, 1)), webhook(webhookAt(start, 2))
	putWebhook(t, s, w)
	putWebhook(t, s, deleted)
	var seqs []uint64
	mustUpdate(t, s, func(tx core.Tx) error {
		events := make([]core.Event, 10)
		for i := range events {
			events[i] = core.Event{Type: core.EventExecutionStarted, ID: fmt.Sprint("evt_", i), Subject: fmt.Sprint("exec_", i), Time: clock.Now()}
		}
		if err := tx.Append(events...); err != nil {
			return err
		}
		seqs = seqs[:0]
		for _, e := range events {
			seqs = append(seqs, e.Seq)
		}
		return nil
	})
	of := func(n, event int, webhookID string) *core.Delivery {
		d := delivery(n, webhookID)
		d.Seq = seqs[event]
		return d
	}
	test := of(5, 8, w.ID)
	test.Test, test.Body = true, []byte(`{}`)
	putDeliveries(t, s, of(1, 1, w.ID), ended(of(2, 2, w.ID), core.DeliverySucceeded), ended(of(3, 3, w.ID), core.DeliveryFailed),
		ended(of(4, 4, w.ID), core.DeliveryCancelled), test, of(6, 5, deleted.ID))
	mustUpdate(t, s, func(tx core.Tx) error { return tx.DeleteWebhook(deleted.ID) })
	mustUpdate(t, s, func(tx core.Tx) error { return tx.SetCursor("webhooks", seqs[8]) })
	clock.Advance(2 * time.Hour)
	retain := func(want ...int) {
		t.Helper()
		if _, err := s.Retain(ctx, store.Policy{Events: time.Hour}); err != nil {
			t.Fatal(err)
		}
		var kept []int
		for i, seq := range seqs {
			if e, err := s.FindEvent(ctx, seq); err == nil && e.ID == fmt.Sprint("evt_", i) {
				kept = append(kept, i)
			}
		}
		if !slices.Equal(kept, want) {
			t.Fatalf("the log keeps %v, want %v", kept, want)
		}
	}
	retain(1, 3, 9) // 9 is before the cursor
	putDeliveries(t, s, ended(of(1, 1, w.ID), core.DeliverySucceeded), of(3, 3, w.ID))
	retain(3, 9)
	putDeliveries(t, s, ended(of(3, 3, w.ID), core.DeliverySucceeded))
	mustUpdate(t, s, func(tx core.Tx) error { return tx.SetCursor("webhooks", seqs[9]) })
	retain()
}

// keysUnder counts what the store holds under a prefix.
func keysUnder(tb testing.TB, s *store.Store, prefix string) int {
	tb.Helper()
	n := 0
	for dump := mustDump(tb, s)[16:]; ; n++ { // after the header
		size := binary.BigEndian.Uint32(dump)
		if size == 0 {
			return n
		}
		value := binary.BigEndian.Uint32(dump[4:])
		if !bytes.HasPrefix(dump[8:8+size], []byte(prefix)) {
			n--
		}
		dump = dump[8+size+value:]
	}
}
