package client_test

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/webhook"
)

func TestWebhookRequests(t *testing.T) {
	s := newServer(t, answer(200, `{}`))
	c := newClient(t, s.URL, client.Options{})
	for _, tt := range []struct {
		name string
		call func(ctx context.Context) error
		want string // method, URI, key and body
	}{
		{"Create", func(ctx context.Context) error {
			_, err := c.CreateWebhook(ctx, client.WebhookSpec{URL: "https://a", Events: []string{client.AllEvents}, IdempotencyKey: "k"})
			return err
		}, `POST /api/webhooks k {"url":"https://a","events":["*"]}`},
		{"CreateMost", func(ctx context.Context) error {
			_, err := c.CreateWebhook(ctx, client.WebhookSpec{
				URL: "https://a", Events: []string{"system.alert"}, Secret: "s", Headers: map[string]string{"X": "y"}, Enabled: new(false), Retries: new(0),
				Timeout: 1500, Filters: &client.WebhookFilters{Pattern: []string{"p"}, Metadata: map[string]string{"k": "v"}}, Ordered: true,
				ClientCertificate: "c", ClientKey: "k", CA: "a",
			})
			return err
		}, `POST /api/webhooks  {"url":"https://a","events":["system.alert"],"secret":"s","headers":{"X":"y"},"enabled":false,"retries":0,"timeout":1500,` +
			`"filters":{"pattern":["p"],"metadata":{"k":"v"}},"ordered":true,"clientCertificate":"c","clientKey":"k","ca":"a"}`},
		{"List", func(ctx context.Context) error {
			_, err := c.ListWebhooks(ctx, client.WebhookFilter{CreatedBy: "ann", Page: client.Page{Limit: 2, Cursor: "c"}})
			return err
		}, `GET /api/webhooks?createdBy=ann&cursor=c&limit=2  `},
		{"Get", func(ctx context.Context) error { _, err := c.GetWebhook(ctx, "wh/1"); return err }, `GET /api/webhooks/wh%2F1  `},
		{"UpdateNothing", func(ctx context.Context) error {
			_, err := c.UpdateWebhook(ctx, "wh_1", client.WebhookPatch{})
			return err
		}, `PATCH /api/webhooks/wh_1  {}`},
		{"Update", func(ctx context.Context) error {
			_, err := c.UpdateWebhook(ctx, "wh_1", client.WebhookPatch{
				URL: new("u"), Events: []string{"*"}, RotateSecret: true, Overlap: new(client.Millis(0)), Headers: map[string]string{}, Enabled: new(false),
				Retries: new(4), Timeout: new(client.Millis(5)), Filters: &client.WebhookFilters{}, Ordered: new(true), CA: new("a"),
				Secret: new("s"), ClientCertificate: new("c"), ClientKey: new("k"),
			})
			return err
		}, `PATCH /api/webhooks/wh_1  {"ca":"a","clientCertificate":"c","clientKey":"k","enabled":false,"events":["*"],"filters":{},"headers":{},"ordered":true,` +
			`"overlap":0,"retries":4,"rotateSecret":true,"secret":"s","timeout":5,"url":"u"}`},
		{"Reset", func(ctx context.Context) error {
			_, err := c.UpdateWebhook(ctx, "wh_1", client.WebhookPatch{Reset: []string{"headers", "filters"}})
			return err
		}, `PATCH /api/webhooks/wh_1  {"filters":null,"headers":null}`},
		{"Delete", func(ctx context.Context) error { return c.DeleteWebhook(ctx, "wh_1") }, `DELETE /api/webhooks/wh_1  `},
		{"Test", func(ctx context.Context) error { _, err := c.TestWebhook(ctx, "wh_1", "system.alert"); return err },
			`POST /api/webhooks/wh_1/test  {"event":"system.alert"}`},
		{"Deliveries", func(ctx context.Context) error {
			_, err := c.ListDeliveries(ctx, client.DeliveryFilter{WebhookID: "wh_1", Status: client.DeliveryFailed, Event: "system.alert", Page: client.Page{Offset: 3}})
			return err
		}, `GET /api/webhooks/wh_1/deliveries?event=system.alert&offset=3&status=failed  `},
		{"Retry", func(ctx context.Context) error { _, err := c.RetryDelivery(ctx, "wh_1", "dlv_1", "k"); return err },
			`POST /api/webhooks/wh_1/deliveries/dlv_1/retry k `},
		{"RetryAll", func(ctx context.Context) error {
			_, err := c.RetryDeliveries(ctx, "wh_1", client.DeliveriesRetry{})
			return err
		}, `POST /api/webhooks/wh_1/deliveries/retry  {}`},
		{"RetrySince", func(ctx context.Context) error {
			_, err := c.RetryDeliveries(ctx, "wh_1", client.DeliveriesRetry{Since: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Event: "system.alert", DryRun: true})
			return err
		}, `POST /api/webhooks/wh_1/deliveries/retry  {"since":"2026-01-02T03:04:05Z","event":"system.alert","dryRun":true}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.call(t.Context()); err != nil {
				t.Fatal(err)
			}
			r := s.last(t)
			if got := strings.Join([]string{r.Method, r.URI, r.Header.Get("Idempotency-Key"), r.Body}, " "); got != tt.want {
				t.Errorf("sent %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestWebhookAnswers(t *testing.T) {
	s := newServer(t,
		answer(201, `{"id":"wh_1","url":"https://a","events":["*"],"secret":"whsec_1","headers":{},"enabled":true,"retries":3,"timeout":30000,"filters":{},`+
			`"ordered":false,"declared":false,"createdAt":"2026-01-02T03:04:05.678Z","updatedAt":"2026-01-02T03:04:05.678Z",`+
			`"statistics":{"deliveriesTotal":3,"deliveriesSucceeded":2,"deliveriesFailed":1,"deliveriesPending":4,"averageLatency":1.5}}`),
		answer(200, `{"deliveryId":"dlv_1","event":"system.alert","status":"failed","statusCode":0,"duration":1500,"lastError":"refused"}`),
		answer(202, `{"deliveryId":"dlv_1","webhookId":"wh_1","status":"pending"}`),
		answer(202, `{"webhookId":"wh_1","status":"pending","count":7,"hasMore":true}`))
	c := newClient(t, s.URL, client.Options{})
	w, err := c.CreateWebhook(t.Context(), client.WebhookSpec{})
	if err != nil || w.Secret != "whsec_1" || w.Timeout.Duration() != 30*time.Second || w.Statistics.Pending != 4 || w.Statistics.AverageLatency != 1.5 {
		t.Errorf("%+v, %v", w, err)
	}
	test, err := c.TestWebhook(t.Context(), "wh_1", "system.alert")
	if err != nil || test.Status != client.DeliveryFailed || test.Duration.Duration() != 1500*time.Millisecond || test.LastError != "refused" {
		t.Errorf("%+v, %v", test, err)
	}
	retry, err := c.RetryDelivery(t.Context(), "wh_1", "dlv_1", "")
	if err != nil || retry.Status != client.DeliveryPending || retry.HTTPStatus != 202 {
		t.Errorf("%+v, %v", retry, err)
	}
	all, err := c.RetryDeliveries(t.Context(), "wh_1", client.DeliveriesRetry{})
	if err != nil || all.Count != 7 || !all.HasMore {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestWebhookWalks(t *testing.T) {
	s := newServer(t,
		answer(200, `{"webhooks":[{"id":"wh_2"}],"total":2,"hasMore":true,"nextCursor":"c"}`), answer(200, `{"webhooks":[{"id":"wh_1"}],"total":2,"hasMore":false}`),
		answer(200, `{"deliveries":[{"id":"dlv_2"}],"total":2,"hasMore":true,"nextCursor":"d"}`), answer(200, `{"deliveries":[{"id":"dlv_1"}],"total":2,"hasMore":false}`))
	c := newClient(t, s.URL, client.Options{})
	var ids []string
	for w, err := range c.Webhooks(t.Context(), client.WebhookFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, w.ID)
	}
	for d, err := range c.Deliveries(t.Context(), client.DeliveryFilter{WebhookID: "wh_1"}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, d.ID)
	}
	if got := strings.Join(ids, " "); got != "wh_2 wh_1 dlv_2 dlv_1" {
		t.Errorf("walked %s", got)
	}
	if r := s.last(t); r.URI != "/api/webhooks/wh_1/deliveries?cursor=d&limit=100" {
		t.Errorf("asked %s", r.URI)
	}
}

// TestRotationIsNotRepeated: a lost answer may have rotated, and a second rotation would end the first one's secret.
func TestRotationIsNotRepeated(t *testing.T) {
	s := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_ = conn.Close()
		}
	})
	opts, _ := noWait(client.Options{Retry: client.RetryPolicy{MaxElapsed: time.Minute}})
	c := newClient(t, s.URL, opts)
	var lost *client.ConnectionError
	if _, err := c.UpdateWebhook(t.Context(), "wh_1", client.WebhookPatch{RotateSecret: true}); !errors.As(err, &lost) || len(s.seen()) != 1 {
		t.Errorf("%d requests, %v", len(s.seen()), err)
	}
	if _, err := c.UpdateWebhook(t.Context(), "wh_1", client.WebhookPatch{Enabled: new(true)}); !errors.As(err, &lost) || len(s.seen()) < 3 {
		t.Errorf("%d requests, %v", len(s.seen()), err)
	}
}

func TestVerifyWebhook(t *testing.T) {
	body := []byte(`{"id":"evt_1","type":"system.alert","timestamp":"2026-01-02T03:04:05.678Z","data":{}}`)
	now := time.Now()
	header := http.Header{}
	header.Set("X-Service-Timestamp", strconv.FormatInt(now.Unix(), 10))
	header.Set("X-Service-Signature", webhook.Sign("s", now, body))
	if e, err := client.VerifyWebhook("s", header, body); err != nil || e.ID != "evt_1" {
		t.Errorf("%+v, %v", e, err)
	}
	if _, err := client.VerifyWebhook("t", header, body); !errors.Is(err, webhook.ErrSignature) {
		t.Errorf("err = %v", err)
	}
}
