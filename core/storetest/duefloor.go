package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store"
)

// Whoever stored a delivery finds it among what is due, wherever in time it lies, whatever others store, end and read
// at the same time; and once it is over, no longer.
func testDueDeliveriesAreComplete(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	w := webhook(webhookAt(start, 1))
	putWebhook(t, s, w)
	ids := core.NewIDs(core.SystemClock{})
	stop := make(chan struct{})
	var readers, writers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := s.DueDeliveries(ctx, w.ID, time.Time{}, "", 3); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for g := range 6 {
		writers.Go(func() {
			random := rand.New(rand.NewPCG(uint64(g), 1))
			for range 60 {
				d := delivery(0, w.ID)
				d.ID = ids.New(core.PrefixDelivery)
				for range 1 + random.IntN(2) { // its first attempt, and maybe another at any time
					next := start.Add(time.Duration(random.IntN(1000)) * time.Second)
					again := *d
					d = &again
					d.NextAt = &next
					tryUpdate(t, s, func(tx core.Tx) error { return tx.PutDelivery(d) })
					if err := wantDue(s, d, true); err != nil {
						t.Error(err)
						return
					}
				}
				tryUpdate(t, s, func(tx core.Tx) error { return tx.PutDelivery(ended(d, core.DeliverySucceeded)) })
				if err := wantDue(s, d, false); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	writers.Wait()
	close(stop)
	readers.Wait()
}

func wantDue(s *store.Store, d *core.Delivery, want bool) error {
	due, err := s.DueDeliveries(ctx, d.WebhookID, time.Time{}, "", 1000)
	if err != nil {
		return err
	}
	if got := slices.ContainsFunc(due, func(o *core.Delivery) bool { return o.ID == d.ID && o.NextAt.Equal(*d.NextAt) }); got != want {
		return fmt.Errorf("delivery %s, next at %s, among %d that are due: %v, want %v", d.ID, d.NextAt, len(due), got, want)
	}
	return nil
}
