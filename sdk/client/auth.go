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

// APIKeySpec asks for a key. Name and Scopes are what it needs.
type APIKeySpec struct {
	Name      string   `json:"name"`
	Owner     string   `json:"owner,omitempty"` // empty: the name
	Scopes    []string `json:"scopes"`
	Roles     []string `json:"roles,omitempty"`
	ExpiresIn Millis   `json:"expiresIn,omitempty"` // 0: 90 days
	Never     bool     `json:"never,omitempty"`
	// IdempotencyKey makes it safe to send the request again: see NewIdempotencyKey. The answer to a repeat has no secret.
	IdempotencyKey string `json:"-"`
}

// Session tells who calls, and what they may do.
type Session struct {
	Meta
	wire.Session
}

// Can says whether the caller may do something.
type Can struct {
	Meta
	wire.Can
}

const keysPath = "/api/auth/keys"

func keyPath(id string) string { return keysPath + "/" + segment(id) }

// GetSession tells who the caller is.
func (c *Client) GetSession(ctx context.Context) (*Session, error) {
	out := new(Session)
	return result(out, c.do(ctx, request{method: http.MethodGet, path: "/api/session"}, out))
}

// Can tells whether the caller may do action, to resource if that is not empty: a kind, or kind/id.
func (c *Client) Can(ctx context.Context, action, resource string) (*Can, error) {
	query := url.Values{"action": {action}}
	if resource != "" {
		query.Set("resource", resource)
	}
	out := new(Can)
	return result(out, c.do(ctx, request{method: http.MethodGet, path: "/api/auth/can", query: query}, out))
}

// CreateKey makes a key and returns it with its secret, this once.
func (c *Client) CreateKey(ctx context.Context, spec APIKeySpec) (*NewAPIKey, error) {
	out := new(NewAPIKey)
	return result(out, c.do(ctx, request{method: http.MethodPost, path: keysPath, body: spec, key: spec.IdempotencyKey}, out))
}

// ListKeys returns one page of keys, newest first; of one owner unless that is empty.
func (c *Client) ListKeys(ctx context.Context, owner string, page Page) (*APIKeyList, error) {
	query := url.Values{}
	if owner != "" {
		query.Set("owner", owner)
	}
	page.addTo(query)
	out := new(APIKeyList)
	return result(out, c.do(ctx, request{method: http.MethodGet, path: keysPath, query: query}, out))
}

// Keys walks all pages of the list.
func (c *Client) Keys(ctx context.Context, owner string, page Page) iter.Seq2[APIKey, error] {
	return walk(ctx, page, func(ctx context.Context, page Page) ([]APIKey, PageInfo, error) {
		list, err := c.ListKeys(ctx, owner, page)
		if err != nil {
			return nil, PageInfo{}, err
		}
		return list.Keys, list.PageInfo, nil
	})
}

// GetKey returns one key, without its secret.
func (c *Client) GetKey(ctx context.Context, id string) (*APIKey, error) {
	out := new(APIKey)
	return result(out, c.do(ctx, request{method: http.MethodGet, path: keyPath(id)}, out))
}

// RotateKey gives a key another secret and returns it, this once. The former one is valid for overlap as well.
func (c *Client) RotateKey(ctx context.Context, id string, overlap Millis) (*NewAPIKey, error) {
	body := struct {
		Overlap Millis `json:"overlap"`
	}{overlap}
	out := new(NewAPIKey)
	return result(out, c.do(ctx, request{method: http.MethodPost, path: keyPath(id) + "/rotate", body: body}, out))
}

// RevokeKey ends a key at once, and for good.
func (c *Client) RevokeKey(ctx context.Context, id string) error {
	return c.do(ctx, request{method: http.MethodDelete, path: keyPath(id), harmless: true}, nil)
}
