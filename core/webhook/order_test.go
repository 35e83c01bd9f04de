package webhook_test

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/webhook"
)

// order returns by subject the numbers of events in the order in which they came.
func order(list []received) map[string][]int {
	got := map[string][]int{}
	for _, in := range list {
		subject := fmt.Sprint(in.event.Data["subject"])
		got[subject] = append(got[subject], int(in.event.Data["n"].(float64)))
	}
	return got
}

// TestOrder: of one subject the events come in their order where the endpoint answers, whatever the number at a time.
func TestOrder(t *testing.T) {
	r := newRig(t, nil)
	in := r.receive(nil)
	r.create(core.WebhookSpec{URL: in.URL})
	const subjects, each = 7, 60
	for n := range each {
		for s := range subjects {
			r.emit(core.EventExecutionStarted, fmt.Sprint(s), data{"subject": s, "n": n})
		}
	}
	r.wait(subjects*each, core.DeliverySucceeded)
	for subject, list := range order(in.all()) {
		if len(list) != each || !slices.IsSorted(list) {
			t.Errorf("subject %s: %v", subject, list)
		}
	}
}

// TestFirstFailureLetsOthersPass: unless it is ordered, an endpoint gets the next event of a subject once the first
// attempt for the one before failed.
func TestFirstFailureLetsOthersPass(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		t.Run(fmt.Sprint(ordered), func(t *testing.T) {
			r := newRig(t, nil)
			var mu sync.Mutex
			failures := 2
			in := r.receive(func(w http.ResponseWriter, _ *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				if failures > 0 {
					failures--
					w.WriteHeader(500)
				}
			})
			r.create(core.WebhookSpec{URL: in.URL, Ordered: ordered})
			for n := range 6 {
				r.emit(core.EventExecutionStarted, "s", data{"subject": "s", "n": n})
			}
			other := r.emit(core.EventExecutionStarted, "other", data{"subject": "other", "n": 0})
			coretest.WaitFor(t, "the first attempts", func() bool {
				list := in.all()
				return slices.ContainsFunc(list, func(got received) bool { return got.event.ID == other.ID })
			})
			for range 2 {
				coretest.WaitFor(t, "the queue to be at rest", func() bool {
					st := r.Stats()
					return st.Active == 0 && st.Waiting == 0 && st.Behind == 0
				})
				if ordered {
					r.restart()
				}
				r.step(6 * time.Minute)
			}
			coretest.WaitFor(t, "all to be delivered", func() bool {
				r.step(10 * time.Second)
				return r.store.count(core.DeliverySucceeded) == 7
			})
			got := order(in.all())["s"]
			want := []int{0, 1, 2, 3, 4, 5, 0, 1}
			if ordered {
				if !slices.IsSorted(got) {
					t.Errorf("received %v, want them in order", got)
				}
			} else if !slices.Equal(got[:6], want[:6]) {
				t.Errorf("received %v, want %v", got, want)
			}
		})
	}
}

// TestHangingEndpoints: endpoints that hang take neither the turns nor the slots of others.
func TestHangingEndpoints(t *testing.T) {
	r := newRig(t, func(o *webhook.Options) { o.Config.MaxConcurrent, o.Config.MaxPerEndpoint = 32, 4 })
	release := make(chan struct{})
	hang := r.receive(func(_ http.ResponseWriter, q *http.Request) {
		select {
		case <-release:
		case <-q.Context().Done():
		}
	})
	defer close(release)
	good := r.receive(nil)
	for range 12 {
		r.create(core.WebhookSpec{URL: hang.URL, Events: []core.EventType{core.EventPatternCreated, core.EventAgentConnected}})
	}
	for range 3 {
		r.create(core.WebhookSpec{URL: good.URL, Events: []core.EventType{core.EventPatternCreated}})
	}
	for n := range 50 {
		r.emit(core.EventAgentConnected, fmt.Sprint("a", n), data{})
	}
	coretest.WaitFor(t, "attempts that hang", func() bool { return len(hang.all()) == 24 })
	r.step(2 * time.Second) // they are found to be slow
	for n := range 100 {
		r.emit(core.EventPatternCreated, fmt.Sprint("p", n), data{})
	}
	coretest.WaitFor(t, "the others to get theirs", func() bool { return r.store.count(core.DeliverySucceeded) == 300 })
	if n := r.Stats().Active; n > 32 {
		t.Errorf("%d attempts are under way, more than the bound", n)
	}
}

// TestFanOut is many events for many endpoints: each gets each, once, while memory holds a window of them.
func TestFanOut(t *testing.T) {
	events, hooks := 10_000, 100
	if testing.Short() {
		events = 500
	}
	count := &counter{seen: map[string]int{}}
	r := newRig(t, func(o *webhook.Options) { o.Transport = count.transport })
	for n := range hooks {
		spec := core.WebhookSpec{URL: fmt.Sprintf("http://127.0.0.1/%d", n)}
		if n >= 5 { // five get all events, the others some
			spec.Filters.Pattern = []string{fmt.Sprint(n)}
		}
		r.create(spec)
	}
	batch := make([]core.Event, 0, 100)
	for n := range events {
		batch = append(batch, core.Event{
			ID: r.ids.New(core.PrefixEvent), Type: core.EventPatternUpdated, Time: r.clock.Now(), Subject: fmt.Sprint(n % hooks),
			Data: fmt.Appendf(nil, `{"name":"%d","n":%d}`, n%hooks, n),
		})
		if len(batch) == cap(batch) {
			if err := r.store.Update(ctx, func(tx core.Tx) error { return tx.Append(batch...) }); err != nil {
				t.Fatal(err)
			}
			r.Notify()
			batch = batch[:0]
		}
	}
	want := events*5 + events/hooks*(hooks-5)
	deadline := time.Now().Add(5 * time.Minute)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for r.store.count(core.DeliverySucceeded) < want && time.Now().Before(deadline) {
		if n := r.Stats().Waiting; n > hooks*256 {
			t.Fatalf("%d deliveries are in memory", n)
		}
		<-tick.C
	}
	count.mu.Lock()
	defer count.mu.Unlock()
	if got := len(count.seen); got != want {
		t.Fatalf("%d deliveries were made, want %d", got, want)
	}
	for id, n := range count.seen {
		if n != 1 {
			t.Fatalf("delivery %s was made %d times", id, n)
		}
	}
}
