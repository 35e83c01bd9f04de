package api_test

import (
	"context"
	"time"

	"github.com/wardroom/wardroom/core"
)

const (
	webhookID   = "wh_01JGFJJZ8N4Q1W0000000000AB"
	deliveryID  = "dlv_01JGFJJZ8N4Q1W0000000000AB"
	deliveryID2 = "dlv_01JGFJJZ8N4Q1W0000000000AC"
	webhookPath = "/api/webhooks/" + webhookID
)

// fakeWebhooks is a core.WebhookService made of functions.
type fakeWebhooks struct {
	findAll    func(core.Page) ([]*core.Webhook, core.PageInfo, error)
	find       func(id string) (*core.Webhook, error)
	create     func(context.Context, core.WebhookSpec) (*core.Webhook, error)
	update     func(ctx context.Context, id string, patch core.WebhookPatch) (*core.Webhook, error)
	remove     func(ctx context.Context, id string) error
	test       func(ctx context.Context, id string, event core.EventType) (*core.Delivery, error)
	deliveries func(core.DeliveryFilter) ([]*core.Delivery, core.PageInfo, error)
	retry      func(ctx context.Context, webhookID, id string) (*core.Delivery, error)
}

// someWebhook returns an endpoint with every field.
func someWebhook(id string) *core.Webhook {
	disabled, rotates := epoch.Add(time.Hour), epoch.Add(24*time.Hour)
	return &core.Webhook{
		ID: id, URL: "https://hooks.example.com/x", Events: []core.EventType{core.EventExecutionCompleted, core.EventSystemAlert},
		Headers: map[string]string{"X-Team": "a"}, Enabled: false, DisabledReason: "failing", DisabledAt: &disabled,
		Retries: 3, TimeoutMs: 30000, Ordered: true, ClientCert: "-----BEGIN CERTIFICATE-----", CA: "-----BEGIN",
		Filters:  core.WebhookFilters{Pattern: []string{"triage"}, Metadata: map[string]string{"team": "a"}},
		Declared: true, RotatesAt: &rotates, CreatedBy: "mira", CreatedAt: epoch, UpdatedAt: epoch.Add(time.Second),
		Statistics: core.WebhookStatistics{Total: 7, Succeeded: 5, Failed: 2, Pending: 1, AverageLatency: 12.5},
	}
}

func someDelivery(id string, status core.DeliveryStatus) *core.Delivery {
	first, last, next := epoch.Add(time.Second), epoch.Add(61*time.Second), epoch.Add(361*time.Second)
	d := &core.Delivery{
		ID: id, WebhookID: webhookID, EventID: "evt_01JGFJJZ8N4Q1W0000000000AB", Event: core.EventExecutionCompleted,
		Seq: 9, Subject: execID, Status: status, StatusCode: 200, Attempts: 2, CreatedAt: epoch, FirstAt: &first,
		Timestamp: &last, DurationMs: 42,
	}
	switch status {
	case core.DeliveryPending:
		d.NextAt = &next
		fallthrough
	case core.DeliveryFailed:
		d.StatusCode, d.LastError, d.ResponseBody, d.Manual = 500, "answered 500", "oops", 1
	}
	return d
}

func (f *fakeWebhooks) FindWebhooks(_ context.Context, filter core.WebhookFilter) ([]*core.Webhook, core.PageInfo, error) {
	if f.findAll != nil {
		return f.findAll(filter.Page)
	}
	return []*core.Webhook{someWebhook(webhookID), {ID: "wh_2", URL: "https://b.example.com", Enabled: true}},
		core.PageInfo{Total: 2}, nil
}

func (f *fakeWebhooks) FindWebhook(_ context.Context, id string) (*core.Webhook, error) {
	if f.find != nil {
		return f.find(id)
	}
	return someWebhook(id), nil
}

func (f *fakeWebhooks) CreateWebhook(ctx context.Context, spec core.WebhookSpec) (*core.Webhook, error) {
	if f.create != nil {
		return f.create(ctx, spec)
	}
	w := someWebhook(webhookID)
	w.Secret = "whsec_new"
	return w, nil
}

func (f *fakeWebhooks) UpdateWebhook(ctx context.Context, id string, patch core.WebhookPatch) (*core.Webhook, error) {
	if f.update != nil {
		return f.update(ctx, id, patch)
	}
	return someWebhook(id), nil
}

func (f *fakeWebhooks) DeleteWebhook(ctx context.Context, id string) error {
	if f.remove != nil {
		return f.remove(ctx, id)
	}
	return nil
}

func (f *fakeWebhooks) TestWebhook(ctx context.Context, id string, event core.EventType) (*core.Delivery, error) {
	if f.test != nil {
		return f.test(ctx, id, event)
	}
	d := someDelivery(deliveryID, core.DeliverySucceeded)
	d.WebhookID, d.Event, d.Test = id, event, true
	return d, nil
}

func (f *fakeWebhooks) FindDeliveries(_ context.Context, filter core.DeliveryFilter) ([]*core.Delivery, core.PageInfo, error) {
	if f.deliveries != nil {
		return f.deliveries(filter)
	}
	list := []*core.Delivery{someDelivery(deliveryID2, core.DeliveryPending), someDelivery(deliveryID, core.DeliveryFailed)}
	return list, core.PageInfo{Total: 2}, nil
}

func (f *fakeWebhooks) FindDelivery(_ context.Context, webhookID, id string) (*core.Delivery, *core.DeliveryRequest, error) {
	d := &core.Delivery{
		ID: id, WebhookID: webhookID, Event: core.EventExecutionCompleted, Status: core.DeliveryFailed, Timestamp: &epoch, StatusCode: 503, LastError: "503",
		Former: []core.DeliveryAttempt{{At: epoch, StatusCode: 500, Error: "500"}},
	}
	return d, &core.DeliveryRequest{URL: "https://x", Headers: map[string]string{"Content-Type": "application/json"}, Body: []byte(`{"id":"evt_1"}`)}, nil
}

func (f *fakeWebhooks) RetryDelivery(ctx context.Context, webhookID, id string) (*core.Delivery, error) {
	if f.retry != nil {
		return f.retry(ctx, webhookID, id)
	}
	d := someDelivery(id, core.DeliveryPending)
	d.WebhookID = webhookID
	return d, nil
}
