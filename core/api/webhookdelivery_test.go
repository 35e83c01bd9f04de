package api_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
)

func TestTestWebhook(t *testing.T) {
	r := newRig(t)
	for _, event := range core.PublicEvents {
		p := r.do("POST", webhookPath+"/test", `{"event":"`+string(event)+`"}`)
		p.wants(t, 200, "")
		want := `{"deliveryId":"` + deliveryID + `","event":"` + string(event) + `","status":"succeeded","statusCode":200,"duration":42}`
		if p.text != want {
			t.Errorf("%s\nwant\n%s", p.text, want)
		}
	}
	r.webhooks.test = func(_ context.Context, _ string, event core.EventType) (*core.Delivery, error) {
		return &core.Delivery{ID: deliveryID, Event: event, Status: core.DeliveryFailed, LastError: "connection refused", DurationMs: 1}, nil
	}
	p := r.do("POST", webhookPath+"/test", `{"event":"system.alert"}`)
	p.wants(t, 200, "")
	if p.at("status") != "failed" || p.at("statusCode") != 0.0 || p.at("lastError") != "connection refused" {
		t.Errorf("%s", p.text)
	}
	for body, field := range map[string]string{``: "body", `{}`: "event", `{"event":"*"}`: "event", `{"event":"execution.paused"}`: "event", `{"events":"x"}`: "events"} {
		p := r.do("POST", webhookPath+"/test", body)
		p.wants(t, 400, core.CodeValidation)
		if p.at("error", "details", "field") != field {
			t.Errorf("%s: %s", body, p.text)
		}
	}
}

func TestListDeliveries(t *testing.T) {
	r := newRig(t)
	var got core.DeliveryFilter
	r.webhooks.deliveries = func(filter core.DeliveryFilter) ([]*core.Delivery, core.PageInfo, error) {
		got = filter
		return []*core.Delivery{
			someDelivery(deliveryID2, core.DeliveryPending), {ID: deliveryID, Status: core.DeliveryPending, CreatedAt: epoch, NextAt: &epoch},
		}, core.PageInfo{Total: 12, HasMore: true, NextCursor: "c"}, nil
	}
	p := r.do("GET", webhookPath+"/deliveries?status=pending&event=execution.completed&limit=2", "")
	p.wants(t, 200, "")
	want := `{"deliveries":[{"id":"` + deliveryID2 + `","webhookId":"` + webhookID + `","eventId":"evt_01JGFJJZ8N4Q1W0000000000AB","event":"execution.completed",` +
		`"subject":"` + execID + `","status":"pending","statusCode":500,"timestamp":"2026-01-02T03:05:06.678Z","duration":42,"retries":1,"attempts":2,"manualRetries":1,` +
		`"lastError":"answered 500","nextAt":"2026-01-02T03:10:06.678Z","createdAt":"2026-01-02T03:04:05.678Z","firstAt":"2026-01-02T03:04:06.678Z","responseBody":"oops"},` +
		`{"id":"` + deliveryID + `","webhookId":"","eventId":"","event":"","status":"pending","statusCode":0,"timestamp":"2026-01-02T03:04:05.678Z","duration":0,"retries":0,` +
		`"attempts":0,"nextAt":"2026-01-02T03:04:05.678Z","createdAt":"2026-01-02T03:04:05.678Z"}],"total":12,"limit":2,"offset":0,"hasMore":true,"nextCursor":"c"}`
	if p.text != want {
		t.Errorf("%s\nwant\n%s", p.text, want)
	}
	filter := core.DeliveryFilter{WebhookID: webhookID, Status: core.DeliveryPending, Event: core.EventExecutionCompleted, Page: core.Page{Limit: 2}}
	if got != filter {
		t.Errorf("filter %+v, want %+v", got, filter)
	}
	for _, query := range []string{"?status=sent", "?event=*", "?event=nothing", "?limit=101", "?since=2026-01-02T15:04:05Z"} {
		r.do("GET", webhookPath+"/deliveries"+query, "").wants(t, 400, core.CodeValidation)
	}
	r.webhooks.deliveries = func(f core.DeliveryFilter) ([]*core.Delivery, core.PageInfo, error) {
		return nil, core.PageInfo{}, core.NotFound("webhook", f.WebhookID)
	}
	r.do("GET", webhookPath+"/deliveries", "").wants(t, 404, core.CodeNotFound)
}

func TestRetryDelivery(t *testing.T) {
	r := newRig(t)
	calls := 0
	r.webhooks.retry = func(ctx context.Context, webhook, id string) (*core.Delivery, error) {
		calls++
		if core.IdempotencyFrom(ctx) != nil {
			t.Error("the service is asked to claim the key; the API does")
		}
		if calls > 1 {
			return nil, core.Conflict("delivery", id, "pending", "it waits")
		}
		return &core.Delivery{ID: id, WebhookID: webhook, Status: core.DeliveryPending}, nil
	}
	path := webhookPath + "/deliveries/" + deliveryID + "/retry"
	want := `{"deliveryId":"` + deliveryID + `","webhookId":"` + webhookID + `","status":"pending"}`
	retry := func() reply { return r.do("POST", path, "", "Idempotency-Key: k") }
	for i, p := range []reply{r.keys.dying(1, retry), retry(), retry()} { // the second is recovered, the third is kept
		if p.status != 202 || p.text != want {
			t.Errorf("answer %d: %d %s, want %s", i+1, p.status, p.text, want)
		}
	}
	if calls != 1 {
		t.Errorf("%d retries", calls)
	}
	r.do("POST", path, `{}`).wants(t, 409, core.CodeConflict)
	r.do("POST", path, `{"now":true}`).wants(t, 400, core.CodeValidation)
	r.webhooks.retry = func(_ context.Context, _, id string) (*core.Delivery, error) {
		return nil, core.NotFound("delivery", id)
	}
	r.do("POST", path, "").wants(t, 404, core.CodeNotFound)
}

// failedLog is a log of n failed deliveries, a second apart, with a test and one of another type among them.
func failedLog(r *rig, n int) (retried func() []string) {
	var ids []string
	r.webhooks.deliveries = func(f core.DeliveryFilter) ([]*core.Delivery, core.PageInfo, error) {
		if f.Status != core.DeliveryFailed || f.Limit != core.MaxPageLimit || f.WebhookID != webhookID {
			return nil, core.PageInfo{}, fmt.Errorf("unexpected filter %+v", f)
		}
		from := n
		if f.Cursor != "" {
			_, _ = fmt.Sscan(f.Cursor, &from)
		}
		var page []*core.Delivery
		for from > 0 && len(page) < f.Limit {
			from--
			d := someDelivery(fmt.Sprintf("dlv_%05d", from), core.DeliveryFailed)
			d.CreatedAt, d.Test = epoch.Add(time.Duration(from)*time.Second), from == 2
			page = append(page, d)
		}
		info := core.PageInfo{Total: n}
		if from > 0 {
			info.HasMore, info.NextCursor = true, fmt.Sprint(from)
		}
		return page, info, nil
	}
	r.webhooks.retry = func(_ context.Context, webhook, id string) (*core.Delivery, error) {
		if id == "dlv_00005" {
			return nil, core.Conflict("delivery", id, "pending", "it waits")
		}
		ids = append(ids, id)
		return &core.Delivery{ID: id, WebhookID: webhook}, nil
	}
	return func() []string { return ids }
}

func TestRetryDeliveries(t *testing.T) {
	path := webhookPath + "/deliveries/retry"
	for _, c := range []struct {
		name, body string
		failed     int
		status     int
		want       string
		retried    int
	}{
		{"none", ``, 0, 202, `"status":"pending","count":0,"hasMore":false`, 0},
		{"all", `{}`, 250, 202, `"status":"pending","count":248,"hasMore":false`, 248}, // a test, and one that waits by now
		{"since", `{"since":"2026-01-02T03:04:15.678Z","status":"failed"}`, 20, 202, `"status":"pending","count":9,"hasMore":false`, 9},
		{"since never", `{"since":"2027-01-02T00:00:00+01:00"}`, 20, 202, `"status":"pending","count":0,"hasMore":false`, 0},
		{"too many", `{}`, 1201, 202, `"status":"pending","count":500,"hasMore":true,"nextCursor":"701"`, 500},
		{"the rest", `{"cursor":"201"}`, 1201, 202, `"status":"pending","count":199,"hasMore":false`, 199},
		{"dry run", `{"dryRun":true}`, 1201, 200, `"status":"failed","count":500,"hasMore":true,"nextCursor":"701"`, 0},
		{"dry run of few", `{"dryRun":true}`, 20, 200, `"status":"failed","count":19,"hasMore":false`, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			retried := failedLog(r, c.failed)
			p := r.do("POST", path, c.body)
			p.wants(t, c.status, "")
			if want := `{"webhookId":"` + webhookID + `",` + c.want + `}`; p.text != want {
				t.Errorf("%s, want %s", p.text, want)
			}
			if got := retried(); len(got) != c.retried || !slices.IsSorted(got) {
				t.Errorf("%d retried, want %d, the oldest first: %v", len(got), c.retried, got)
			}
		})
	}
}

func TestRetryDeliveriesFails(t *testing.T) {
	r, path := newRig(t), webhookPath+"/deliveries/retry"
	for body, field := range map[string]string{
		`{"since":"yesterday"}`: "since", `{"since":""}`: "since", `{"status":"succeeded"}`: "status", `{"event":"*"}`: "event", `{"all":true}`: "all",
	} {
		p := r.do("POST", path, body)
		p.wants(t, 400, core.CodeValidation)
		if p.at("error", "details", "field") != field {
			t.Errorf("%s: %s", body, p.text)
		}
	}
	var events []core.EventType
	r.webhooks.deliveries = func(f core.DeliveryFilter) ([]*core.Delivery, core.PageInfo, error) {
		events = append(events, f.Event)
		return nil, core.PageInfo{}, core.NotFound("webhook", f.WebhookID)
	}
	r.do("POST", path, `{"event":"system.alert"}`).wants(t, 404, core.CodeNotFound)
	if !reflect.DeepEqual(events, []core.EventType{core.EventSystemAlert}) {
		t.Errorf("asked for %v", events)
	}
	failedLog(r, 300)
	r.webhooks.retry = func(context.Context, string, string) (*core.Delivery, error) {
		return nil, core.Unavailable("store_read_only", "the disk is full")
	}
	p := r.do("POST", path, "")
	p.wants(t, 503, core.CodeInternal)
	if !strings.Contains(p.text, "the disk is full") {
		t.Errorf("%s", p.text)
	}
}
