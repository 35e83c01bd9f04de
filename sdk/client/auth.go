package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"

	"github.com/wardroom/wardroom/sdk/wire"
)

// APIKey is a key without its secret, see package wire.
type APIKey struct {
	Meta
	wire.APIKey
}

// NewAPIKey is a key with its secret, which no other answer shows.
type NewAPIKey struct {
	Meta
	wire.NewAPIKey
}

// APIKeyList is one page of keys, newest first.
type APIKeyList struct {
	Meta
	PageInfo
	Keys []APIKey `json:"keys"`
}

func (l *APIKeyList) page() ([]APIKey, PageInfo) { return l.Keys, l.PageInfo }

// APIKeySpec asks for a key, see package wire.
type APIKeySpec = wire.APIKeySpec

// Session says who calls, and what they may do.
type Session struct {
	Meta
	wire.Session
}

// Can reports whether the caller may do something.
type Can struct {
	Meta
	wire.Can
}

const keysPath = "/api/auth/keys"

func keyPath(id string) string { return keysPath + "/" + segment(id) }

// GetSession reports who the caller is.
func (c *Client) GetSession(ctx context.Context) (*Session, error) {
	return get[Session](ctx, c, "/api/session")
}

// Can reports whether the caller may do action, to resource if that is not empty: a kind, or kind/id.
func (c *Client) Can(ctx context.Context, action, resource string) (*Can, error) {
	query := url.Values{"action": {action}}
	setTexts(query, "resource", resource)
	return ask[Can](ctx, c, request{method: http.MethodGet, path: "/api/auth/can", query: query})
}

// CreateKey makes a key and returns it with its secret, this once. With an idempotency key that is not empty it may be sent
// again, see NewIdempotencyKey; the answer to a repeat has no secret.
func (c *Client) CreateKey(ctx context.Context, spec APIKeySpec, idempotencyKey string) (*NewAPIKey, error) {
	return ask[NewAPIKey](ctx, c, request{method: http.MethodPost, path: keysPath, body: spec, key: idempotencyKey})
}

// APIKeyFilter selects API keys of a list. Zero values select all.
type APIKeyFilter struct {
	Owner     string
	CreatedBy string
	Page
}

// ListKeys returns one page of keys, newest first.
func (c *Client) ListKeys(ctx context.Context, filter APIKeyFilter) (*APIKeyList, error) {
	return listOf[APIKeyList](ctx, c, keysPath, filter.Page, "owner", filter.Owner, "createdBy", filter.CreatedBy)
}

// Keys walks all pages of the list.
func (c *Client) Keys(ctx context.Context, filter APIKeyFilter) iter.Seq2[APIKey, error] {
	return walkList(ctx, filter, c.ListKeys)
}

// GetKey returns one key, without its secret.
func (c *Client) GetKey(ctx context.Context, id string) (*APIKey, error) {
	return get[APIKey](ctx, c, keyPath(id))
}

// RotateKey gives a key another secret and returns it, this once. The former one is valid for overlap as well.
func (c *Client) RotateKey(ctx context.Context, id string, overlap Millis) (*NewAPIKey, error) {
	body := struct {
		Overlap Millis `json:"overlap"`
	}{overlap}
	return ask[NewAPIKey](ctx, c, request{method: http.MethodPost, path: keyPath(id) + "/rotate", body: body})
}

// RevokeKey ends a key at once, and for good.
func (c *Client) RevokeKey(ctx context.Context, id string) error {
	return c.do(ctx, request{method: http.MethodDelete, path: keyPath(id), harmless: true}, nil)
}
