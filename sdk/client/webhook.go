package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"time"

	"github.com/wardroom/wardroom/sdk/webhook"
	"github.com/wardroom/wardroom/sdk/wire"
)

// AllEvents as the event of a webhook subscribes to every public type.
const AllEvents = "*"

// States of a delivery. Only a failed one can be retried.
const (
	DeliveryPending   = "pending" // waits for its first or next attempt
	DeliverySucceeded = "succeeded"
	DeliveryFailed    = "failed"
	DeliveryCancelled = "cancelled" // the endpoint was deleted
)

// What the API says of webhooks, see package wire.
type (
	WebhookFilters    = wire.WebhookFilters
	WebhookStatistics = wire.WebhookStatistics
	DeliveryStatus    = wire.DeliveryStatus
	Delivery          = wire.Delivery
)

// Webhook is an endpoint that events are delivered to. Its secret is masked, but in the answers to CreateWebhook and to a
// rotation.
type Webhook struct {
	Meta
	wire.Webhook
}

// WebhookList is one page of endpoints, newest first.
type WebhookList struct {
	Meta
	PageInfo
	Webhooks []Webhook `json:"webhooks"`
}

func (l *WebhookList) page() ([]Webhook, PageInfo) { return l.Webhooks, l.PageInfo }

// WebhookSpec asks for an endpoint. URL and Events are what it needs; zero values are the server's defaults.
type WebhookSpec = wire.WebhookSpec

// WebhookPatch changes an endpoint. Nil fields stay; those named in Reset go back to their defaults.
type WebhookPatch struct {
	URL               *string
	Events            []string
	Secret            *string // to sign with from now on
	RotateSecret      bool    // make a new secret, unless one is given
	Overlap           *Millis // that the former secret signs as well; nil: the server's default
	Headers           map[string]string
	Enabled           *bool
	Retries           *int
	Timeout           *Millis
	Filters           *WebhookFilters
	Ordered           *bool
	ClientCertificate *string
	ClientKey         *string
	CA                *string
	// Reset names fields of the API, such as headers or filters.
	Reset []string
}

// MarshalJSON implements json.Marshaler.
func (p WebhookPatch) MarshalJSON() ([]byte, error) {
	fields := map[string]any{}
	for _, name := range p.Reset {
		fields[name] = nil
	}
	put(fields, "url", p.URL)
	put(fields, "secret", p.Secret)
	put(fields, "overlap", p.Overlap)
	put(fields, "enabled", p.Enabled)
	put(fields, "retries", p.Retries)
	put(fields, "timeout", p.Timeout)
	put(fields, "filters", p.Filters)
	put(fields, "ordered", p.Ordered)
	put(fields, "clientCertificate", p.ClientCertificate)
	put(fields, "clientKey", p.ClientKey)
	put(fields, "ca", p.CA)
	if p.Events != nil {
		fields["events"] = p.Events
	}
	if p.Headers != nil {
		fields["headers"] = p.Headers
	}
	if p.RotateSecret {
		fields["rotateSecret"] = true
	}
	return json.Marshal(fields)
}

// put adds a field that is given.
func put[T any](fields map[string]any, name string, value *T) {
	if value != nil {
		fields[name] = value
	}
}

const webhooksPath = "/api/webhooks"

func webhookPath(id string) string { return webhooksPath + "/" + segment(id) }

// CreateWebhook has events delivered to an endpoint from now on, and returns it with its secret, this once.
func (c *Client) CreateWebhook(ctx context.Context, spec WebhookSpec) (*Webhook, error) {
	r := request{method: http.MethodPost, path: webhooksPath, body: spec, key: spec.IdempotencyKey}
	return ask[Webhook](ctx, c, r)
}

// WebhookFilter selects endpoints of a list; WebhookFilters are what an endpoint selects events by. Zero values select all.
type WebhookFilter struct {
	CreatedBy string
	Page
}

// ListWebhooks returns one page of endpoints, newest first.
func (c *Client) ListWebhooks(ctx context.Context, filter WebhookFilter) (*WebhookList, error) {
	return listOf[WebhookList](ctx, c, webhooksPath, filter.Page, "createdBy", filter.CreatedBy)
}

// Webhooks walks all pages of the list.
func (c *Client) Webhooks(ctx context.Context, filter WebhookFilter) iter.Seq2[Webhook, error] {
	return walkList(ctx, filter, c.ListWebhooks)
}

// GetWebhook returns one endpoint with its statistics.
func (c *Client) GetWebhook(ctx context.Context, id string) (*Webhook, error) {
	return get[Webhook](ctx, c, webhookPath(id))
}

// UpdateWebhook changes an endpoint and returns it; with a new secret it shows that, this once. CONFLICT for one of the
// server's configuration.
func (c *Client) UpdateWebhook(ctx context.Context, id string, patch WebhookPatch) (*Webhook, error) {
	// A second rotation would be another one; anything else may be said twice.
	r := request{
		method: http.MethodPatch, path: webhookPath(id), body: patch,
		harmless: !patch.RotateSecret || patch.Secret != nil,
	}
	return ask[Webhook](ctx, c, r)
}

// DeleteWebhook removes an endpoint; what waits for it is cancelled. CONFLICT for one of the server's configuration.
func (c *Client) DeleteWebhook(ctx context.Context, id string) error {
	return c.remove(ctx, webhookPath(id))
}

// VerifyWebhook checks a delivery that a receiver got against the endpoint's secret and the clock, and returns its event.
// See package webhook, which has more for receivers.
func VerifyWebhook(secret string, header http.Header, body []byte) (webhook.Event, error) {
	return webhook.Verify(secret, header, body, webhook.DefaultTolerance, time.Now())
}
