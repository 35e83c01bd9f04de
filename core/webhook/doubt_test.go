package webhook_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

// Whatever commit is answered as failed though it is stored: each event comes under one delivery id, and counts once.
func TestEveryLostAnswer(t *testing.T) {
	const events = 4
	for n := 1; n <= 14; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, nil)
			good, bad := r.receive(nil), r.receive(status(410))
			w := r.create(core.WebhookSpec{URL: good.URL})
			gone := r.create(core.WebhookSpec{URL: bad.URL, Events: []core.EventType{core.EventPatternUpdated}})
			r.Close()
			for i := range events {
				r.emit(core.EventPatternUpdated, fmt.Sprint(i), data{"n": i})
			}
			r.store.Lose(n)
			r.open()
			coretest.WaitFor(t, "all deliveries to be over", func() bool {
				r.step(time.Second)
				st := r.Stats()
				return st.Behind == 0 && st.Active == 0 && st.Waiting == 0 && st.Disabled == 1 && len(good.all()) >= events &&
					!slices.ContainsFunc(r.store.rows(), func(d *core.Delivery) bool { return d.WebhookID == w.ID && d.Status == core.DeliveryPending })
			})
			r.store.Lose(0)
			delivery := map[string]string{}
			for _, got := range good.all() {
				id, of := got.event.ID, got.header.Get("X-Service-Delivery")
				if have := delivery[id]; have != "" && have != of {
					t.Errorf("event %s came as deliveries %s and %s", id, have, of)
				}
				delivery[id] = of
			}
			r.restart()
			for _, id := range []string{w.ID, gone.ID} {
				found, err := r.FindWebhook(ctx, id)
				if err != nil {
					t.Fatal(err)
				}
				over := int64(0)
				for _, d := range r.store.rows() {
					if d.WebhookID == id && d.Status != core.DeliveryPending {
						over++
					}
				}
				if found.Statistics.Total != over {
					t.Errorf("%s counts %d deliveries, %d are over", id, found.Statistics.Total, over)
				}
			}
		})
	}
}

// lose makes a change whose commit fails though it is stored, and has the clock move on by so much a millisecond until its caller is
// answered.
func (r *rig) lose(by time.Duration, change func() error) error {
	r.tb.Helper()
	coretest.WaitFor(r.tb, "the store to take writes", func() bool { return core.TakesWrites(ctx, r.store) == nil })
	r.store.Lose(1)
	done := make(chan error, 1)
	go func() { done <- change() }()
	var err error
	coretest.WaitFor(r.tb, "the caller to be answered", func() bool {
		r.step(by)
		select {
		case err = <-done:
			return true
		default:
			return false
		}
	})
	return err
}

// An endpoint that is made, changed or deleted by a commit whose answer is lost is known to its caller and all others as it is stored,
// whether the caller waits for that or not.
func TestChangesWhoseAnswerIsLost(t *testing.T) {
	for _, patient := range []bool{true, false} {
		t.Run(fmt.Sprint(patient), func(t *testing.T) {
			r := newRig(t, nil)
			in := r.receive(nil)
			other := r.create(core.WebhookSpec{URL: in.URL})
			change := func(what string, change func() error, done func() bool) {
				t.Helper()
				by := time.Millisecond
				if !patient {
					by = time.Minute
				}
				err := r.lose(by, change)
				for err != nil && !patient && core.AsError(err).Unavailable && !errors.Is(err, core.ErrInDoubt) { // the commit was that of another write
					err = r.lose(by, change)
				}
				if err != nil && (patient || !errors.Is(err, core.ErrInDoubt)) {
					t.Fatalf("it is %s, and its caller gets %v", what, err)
				}
				coretest.WaitFor(t, "it to be "+what, func() bool {
					if !patient {
						r.step(time.Second)
					}
					return done()
				})
			}
			spec := core.WebhookSpec{URL: in.URL, Events: []core.EventType{core.EventPatternUpdated}}
			change("made", func() error { _, err := r.CreateWebhook(ctx, spec); return err }, func() bool { return r.Stats().Endpoints == 2 })
			list, _, err := r.FindWebhooks(ctx, core.WebhookFilter{})
			if err != nil {
				t.Fatal(err)
			}
			id := list[0].ID
			if id == other.ID {
				id = list[1].ID
			}
			patch := core.WebhookPatch{Retries: ptr(1)}
			change("changed", func() error { _, err := r.UpdateWebhook(ctx, id, patch); return err }, func() bool {
				found, err := r.FindWebhook(ctx, id)
				return err == nil && found.Retries == 1
			})
			change("deleted", func() error { return r.DeleteWebhook(ctx, id) }, func() bool { return r.Stats().Endpoints == 1 })
			e := r.emit(core.EventPatternUpdated, "p", data{"n": 1})
			coretest.WaitFor(t, "the other one to get an event", func() bool {
				r.step(time.Second)
				return slices.ContainsFunc(in.all(), func(got received) bool { return got.event.ID == e.ID })
			})
		})
	}
}

// A delivery that failed is tried again, and counted once, though the answer of the store is lost.
func TestRetryWhoseAnswerIsLost(t *testing.T) {
	r := newRig(t, nil)
	in := r.receive(status(500))
	w := r.create(core.WebhookSpec{URL: in.URL, Retries: ptr(0)})
	r.emit(core.EventPatternUpdated, "p", data{"n": 1})
	r.wait(1, core.DeliveryFailed)
	in.set(status(200))
	d := r.store.rows()[0]
	if err := r.lose(time.Millisecond, func() error { _, err := r.RetryDelivery(ctx, w.ID, d.ID); return err }); err != nil {
		t.Fatal(err)
	}
	r.wait(1, core.DeliverySucceeded)
	found, err := r.FindWebhook(ctx, w.ID)
	if err != nil || found.Statistics.Total != 1 || found.Statistics.Failed != 0 {
		t.Errorf("%+v, %v", found.Statistics, err)
	}
}
