package client

import (
	"context"
	"iter"
	"net/http"
	"time"

	"github.com/wardroom/wardroom/sdk/wire"
)

// DeliveryList is one page of deliveries, newest first.
type DeliveryList struct {
	Meta
	PageInfo
	Deliveries []Delivery `json:"deliveries"`
}

func (l *DeliveryList) page() ([]Delivery, PageInfo) { return l.Deliveries, l.PageInfo }

// DeliveryFilter selects deliveries of an endpoint. Zero values select all.
type DeliveryFilter struct {
	WebhookID string // needed
	Status    string
	Event     string
	Page
}

// WebhookTest is what came of a test event.
type WebhookTest struct {
	Meta
	wire.WebhookTest
}

// DeliveryRetry says that a delivery is due again.
type DeliveryRetry struct {
	Meta
	wire.DeliveryRetry
}

// DeliveriesRetried counts deliveries that are due again, or would be.
type DeliveriesRetried struct {
	Meta
	wire.DeliveriesRetried
}

// DeliveriesRetry selects failed deliveries to retry.
type DeliveriesRetry struct {
	Since  time.Time `json:"since,omitzero"` // made after it; zero: all
	Event  string    `json:"event,omitempty"`
	DryRun bool      `json:"dryRun,omitempty"` // only count them
	Cursor string    `json:"cursor,omitempty"` // NextCursor of the answer before
}

// TestWebhook has one made-up event of a type delivered to an endpoint, and returns what it answered. A test that failed is
// no error: see Status.
func (c *Client) TestWebhook(ctx context.Context, id, event string) (*WebhookTest, error) {
	body := struct {
		Event string `json:"event"`
	}{event}
	r := request{method: http.MethodPost, path: webhookPath(id) + "/test", body: body}
	return ask[WebhookTest](ctx, c, r)
}

// DeliveryDetail is a delivery with what is sent and each of its attempts.
type DeliveryDetail struct {
	Meta
	wire.DeliveryDetail
}

// GetDelivery returns a delivery to an endpoint with what is sent and each of its attempts.
func (c *Client) GetDelivery(ctx context.Context, webhookID, id string) (*DeliveryDetail, error) {
	return get[DeliveryDetail](ctx, c, webhookPath(webhookID)+"/deliveries/"+segment(id))
}

// ListDeliveries returns one page of deliveries to an endpoint, newest first.
func (c *Client) ListDeliveries(ctx context.Context, filter DeliveryFilter) (*DeliveryList, error) {
	return listOf[DeliveryList](ctx, c, webhookPath(filter.WebhookID)+"/deliveries", filter.Page, "status", filter.Status, "event", filter.Event)
}

// Deliveries walks all pages of a list.
func (c *Client) Deliveries(ctx context.Context, filter DeliveryFilter) iter.Seq2[Delivery, error] {
	return walkList(ctx, filter, c.ListDeliveries)
}

// RetryDelivery makes a failed delivery due, with its attempts anew. CONFLICT when it succeeded or waits. With a key the
// request can be repeated; key may be empty.
func (c *Client) RetryDelivery(ctx context.Context, webhookID, id, key string) (*DeliveryRetry, error) {
	r := request{method: http.MethodPost, path: webhookPath(webhookID) + "/deliveries/" + segment(id) + "/retry", key: key}
	return ask[DeliveryRetry](ctx, c, r)
}

// RetryDeliveries makes failed deliveries of an endpoint due, up to the server's bound: ask again with NextCursor while
// HasMore.
func (c *Client) RetryDeliveries(ctx context.Context, webhookID string, which DeliveriesRetry) (*DeliveriesRetried, error) {
	// What was made due waits, and is not made due again.
	r := request{method: http.MethodPost, path: webhookPath(webhookID) + "/deliveries/retry", body: which, harmless: true}
	return ask[DeliveriesRetried](ctx, c, r)
}
