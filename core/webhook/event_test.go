package webhook_test

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/webhook"
)

// What becomes of an endpoint is told by events of the same transaction, which are no public ones and have nothing of its address;
// what becomes of its deliveries by notices.
func TestEndpointEvents(t *testing.T) {
	var mu sync.Mutex
	noticed := map[string]int{}
	r := newRig(t, func(o *webhook.Options) {
		o.Notice = func(e core.Event) {
			if e.Type != core.EventWebhookDeliveries || e.Seq != 0 {
				t.Errorf("%+v", e)
			}
			mu.Lock()
			defer mu.Unlock()
			noticed[e.Subject]++
		}
	})
	told := func(id string) int {
		mu.Lock()
		defer mu.Unlock()
		return noticed[id]
	}
	in := r.receive(status(410))
	w := r.create(core.WebhookSpec{URL: in.URL + "/secret-path"})
	if _, err := r.UpdateWebhook(ctx, w.ID, core.WebhookPatch{Ordered: new(bool)}); err != nil {
		t.Fatal(err)
	}
	if told(w.ID) != 0 {
		t.Error("deliveries are noticed where there are none")
	}
	r.emit(core.EventPatternCreated, "p", data{})
	r.wait(1, core.DeliveryFailed)
	coretest.WaitFor(t, "notices of the delivery, made and ended", func() bool { return told(w.ID) >= 2 })
	if err := r.DeleteWebhook(ctx, w.ID); err != nil {
		t.Fatal(err)
	}
	events, _, err := r.store.Events(ctx, w.ID, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []core.EventType
	for _, e := range events {
		if e.Type == core.EventSystemAlert {
			continue
		}
		kinds = append(kinds, e.Type)
		var d core.WebhookNotice
		if err := json.Unmarshal(e.Data, &d); err != nil || d.WebhookID != w.ID || strings.Contains(string(e.Data), "secret-path") || e.Public() {
			t.Errorf("%+v: %v", e, err)
		}
		if gone := e.Type == core.EventWebhookDisabled; gone != strings.Contains(d.Reason, "410") && e.Type != core.EventWebhookDeleted || gone && d.Enabled {
			t.Errorf("%s has %s", e.Type, e.Data)
		}
	}
	want := []core.EventType{core.EventWebhookCreated, core.EventWebhookUpdated, core.EventWebhookDisabled, core.EventWebhookDeleted}
	if !slices.Equal(kinds, want) {
		t.Errorf("events %v, want %v", kinds, want)
	}
}
