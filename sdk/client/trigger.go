package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"strconv"
	"time"

	"github.com/wardroom/wardroom/sdk/webhook"
	"github.com/wardroom/wardroom/sdk/wire"
)

// What the API says of triggers, see package wire.
type (
	TriggerRun      = wire.TriggerRun
	SignatureScheme = wire.SignatureScheme
)

// Trigger starts something when a signed request comes in. Its secret is masked, but in the answers to CreateTrigger and
// RotateTrigger.
type Trigger struct {
	Meta
	wire.Trigger
}

// TriggerList is one page of triggers, newest first.
type TriggerList struct {
	Meta
	PageInfo
	Triggers []Trigger `json:"triggers"`
}

func (l *TriggerList) page() ([]Trigger, PageInfo) { return l.Triggers, l.PageInfo }

// TriggerReceipt answers a request to a trigger.
type TriggerReceipt struct {
	Meta
	wire.TriggerReceipt
}

// TriggerTrial describes what a body would start.
type TriggerTrial struct {
	Meta
	wire.TriggerTrial
}

// TriggerSpec asks for a trigger. Name and Target are what it needs; zero values are the server's defaults.
type TriggerSpec struct {
	wire.TriggerSpec
	Target Target `json:"target"`
	// IdempotencyKey makes it safe to send the request again: see NewIdempotencyKey. The answer to a repeat has the secret
	// masked.
	IdempotencyKey string `json:"-"`
}

// TriggerPatch changes a trigger. Nil fields stay; empty ones take away what was there.
type TriggerPatch struct {
	Name          *string
	Enabled       *bool
	Events        []string
	Mapping       map[string]string
	RatePerMinute *int
	Target        *Target
}

// MarshalJSON implements json.Marshaler.
func (p TriggerPatch) MarshalJSON() ([]byte, error) {
	fields := map[string]any{}
	put(fields, "name", p.Name)
	put(fields, "enabled", p.Enabled)
	put(fields, "ratePerMinute", p.RatePerMinute)
	put(fields, "target", p.Target)
	if p.Events != nil {
		fields["events"] = p.Events
	}
	if p.Mapping != nil {
		fields["mapping"] = p.Mapping
	}
	return json.Marshal(fields)
}

const triggersPath = "/api/triggers"

func triggerPath(id string) string { return triggersPath + "/" + segment(id) }

// CreateTrigger stores a trigger, and returns it with its secret, this once.
func (c *Client) CreateTrigger(ctx context.Context, spec TriggerSpec) (*Trigger, error) {
	return ask[Trigger](ctx, c, request{method: http.MethodPost, path: triggersPath, body: spec, key: spec.IdempotencyKey})
}

// TriggerFilter selects triggers of a list. Zero values select all.
type TriggerFilter struct {
	CreatedBy string
	Page
}

// ListTriggers returns one page of triggers, newest first.
func (c *Client) ListTriggers(ctx context.Context, filter TriggerFilter) (*TriggerList, error) {
	return listOf[TriggerList](ctx, c, triggersPath, filter.Page, "createdBy", filter.CreatedBy)
}

// Triggers walks all pages of the list.
func (c *Client) Triggers(ctx context.Context, filter TriggerFilter) iter.Seq2[Trigger, error] {
	return walkList(ctx, filter, c.ListTriggers)
}

// GetTrigger returns one trigger with its last requests.
func (c *Client) GetTrigger(ctx context.Context, id string) (*Trigger, error) {
	return get[Trigger](ctx, c, triggerPath(id))
}

// UpdateTrigger changes a trigger, whose runs have the caller's rights from then on.
func (c *Client) UpdateTrigger(ctx context.Context, id string, patch TriggerPatch) (*Trigger, error) {
	return ask[Trigger](ctx, c, request{method: http.MethodPatch, path: triggerPath(id), body: patch, harmless: true})
}

// RotateTrigger gives a trigger another secret, which the server makes if it is empty, and returns it, this once. The
// former one is taken for overlap.
func (c *Client) RotateTrigger(ctx context.Context, id, secret string, overlap time.Duration) (*Trigger, error) {
	body := struct {
		Secret  string `json:"secret,omitempty"`
		Overlap Millis `json:"overlap,omitempty"`
	}{secret, wire.MillisOf(overlap)}
	return ask[Trigger](ctx, c, request{method: http.MethodPost, path: triggerPath(id) + "/rotate", body: body, harmless: secret != ""})
}

// TestTrigger returns what a body would become. Nothing is started.
func (c *Client) TestTrigger(ctx context.Context, id, event string, body json.RawMessage) (*TriggerTrial, error) {
	in := struct {
		Body  json.RawMessage `json:"body"`
		Event string          `json:"event,omitempty"`
	}{body, event}
	return ask[TriggerTrial](ctx, c, request{method: http.MethodPost, path: triggerPath(id) + "/test", body: in, harmless: true})
}

// DeleteTrigger removes a trigger. What it started goes on.
func (c *Client) DeleteTrigger(ctx context.Context, id string) error {
	return c.remove(ctx, triggerPath(id))
}

// SendHook sends a body to a trigger of the scheme wardroom, signed with its secret. It needs no credential. delivery names
// the request, so that it may be sent again; event says what happened, and may be empty.
func (c *Client) SendHook(ctx context.Context, id, secret, delivery, event string, body json.RawMessage) (*TriggerReceipt, error) {
	body, err := json.Marshal(body) // as it will be sent
	if err != nil {
		return nil, err
	}
	now := time.Now()
	header := http.Header{
		"X-Service-Timestamp": {strconv.FormatInt(now.Unix(), 10)}, "X-Service-Signature": {webhook.Sign(secret, now, body)}, "X-Service-Delivery": {delivery},
	}
	if event != "" {
		header["X-Service-Event"] = []string{event}
	}
	r := request{method: http.MethodPost, path: "/api/hooks/" + segment(id), body: body, header: header, harmless: delivery != ""}
	return ask[TriggerReceipt](ctx, c, r)
}
