package storetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/store"
)

// Whatever retention does meanwhile, the event of a delivery that waits or failed can be read: events are made,
// followed from a cursor, delivered, failed and retried by hand, all at once, and none is ever young enough to be kept
// for its age.
func testNeededEventsStay(t *testing.T, open Opener) {
	clock := coretest.NewClock()
	s := open(t, store.Options{Clock: clock})
	w := webhook(webhookAt(start, 1))
	putWebhook(t, s, w)
	if err := s.SetCursor(ctx, "webhooks", 0); err != nil { // a log without a reader is not kept
		t.Fatal(err)
	}
	clock.Advance(time.Hour)
	ids := core.NewIDs(clock)
	const events = 600
	stop, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range events {
			tryUpdate(t, s, func(tx core.Tx) error {
				return tx.Append(core.Event{
					Type: core.EventExecutionStarted, ID: fmt.Sprint("evt_", i), Subject: fmt.Sprint("exec_", i%7), Time: start,
				})
			})
		}
	})
	wg.Go(func() {
		defer cancel()
		for made := 0; made < events; {
			n, err := follow(s, ids, w.ID)
			if err != nil {
				t.Error(err)
				return
			}
			made += n
		}
	})
	wg.Go(func() {
		for round := 0; stop.Err() == nil; round++ {
			if err := attempt(s, w.ID, round); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Go(func() {
		for stop.Err() == nil {
			if _, err := s.Retain(ctx, store.Policy{Events: time.Minute}); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
	for i := range 3 { // what is left to do, each time with retention after it
		if err := attempt(s, w.ID, i); err != nil {
			t.Error(err)
		}
		if _, err := s.Retain(ctx, store.Policy{Events: time.Minute}); err != nil {
			t.Error(err)
		}
	}
	log, _, err := s.Log(ctx, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	waiting := totalDeliveries(t, s, core.DeliveryFilter{Status: core.DeliveryPending}) + totalDeliveries(t, s, core.DeliveryFilter{Status: core.DeliveryFailed})
	if len(log) != waiting || totalDeliveries(t, s, core.DeliveryFilter{}) != events {
		t.Errorf("the log keeps %d events, %d deliveries need one", len(log), waiting)
	}
}

// follow makes deliveries of the next events of the log and moves the cursor with them, as the dispatcher does.
func follow(s *store.Store, ids core.IDs, hook string) (int, error) {
	after, err := s.Cursor(ctx, "webhooks")
	if err != nil {
		return 0, err
	}
	page, _, err := s.Log(ctx, after, 13)
	if err != nil || len(page) == 0 {
		return 0, err
	}
	return len(page), s.Update(ctx, func(tx core.Tx) error {
		for _, e := range page {
			d := delivery(0, hook)
			d.ID, d.EventID, d.Seq = ids.New(core.PrefixDelivery), e.ID, e.Seq
			if err := tx.PutDelivery(d); err != nil {
				return err
			}
		}
		return tx.SetCursor("webhooks", page[len(page)-1].Seq)
	})
}

// attempt reads the events of what is due and of what failed, lets some of the first succeed and some fail, and makes
// some of the others due again.
func attempt(s *store.Store, hook string, round int) error {
	due, err := s.DueDeliveries(ctx, hook, time.Time{}, "", 50)
	if err != nil {
		return err
	}
	failed, _, err := s.FindDeliveries(ctx, core.DeliveryFilter{WebhookID: hook, Status: core.DeliveryFailed, Page: core.Page{Limit: 50}})
	if err != nil {
		return err
	}
	for _, d := range append(due, failed...) {
		if e, err := s.FindEvent(ctx, d.Seq); err != nil || e.ID != d.EventID {
			return fmt.Errorf("delivery %s is %s, its event %d reads as %q: %w", d.ID, d.Status, d.Seq, e.ID, err)
		}
	}
	return s.Update(ctx, func(tx core.Tx) error {
		for i, d := range due {
			status := []core.DeliveryStatus{core.DeliverySucceeded, core.DeliveryFailed, core.DeliveryCancelled}[(i+round)%3]
			if err := tx.PutDelivery(ended(d, status)); err != nil {
				return err
			}
		}
		for i, d := range failed {
			if (i+round)%2 == 0 {
				again := *d
				again.Status, again.NextAt = core.DeliveryPending, &start
				if err := tx.PutDelivery(&again); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
