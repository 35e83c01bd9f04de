package client

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"

	"github.com/wardroom/wardroom/sdk/wire"
)

// What the API says of its health, see package wire.
type (
	HealthComponents = wire.HealthComponents
	HealthMetrics    = wire.HealthMetrics
	HealthCheck      = wire.HealthCheck
)

// Health is the state of the server.
type Health struct {
	Meta
	wire.Health
}

// Health returns the server's state. An unhealthy server that says so (503 with a status) is an answer.
func (c *Client) Health(ctx context.Context) (*Health, error) {
	return c.health(ctx, "/api/health", nil)
}

// HealthDetailed returns the state with components, figures and checks. It needs a credential where the
// server asks for one.
func (c *Client) HealthDetailed(ctx context.Context) (*Health, error) {
	return c.health(ctx, "/api/health", url.Values{"detailed": {"true"}})
}

// Ready returns nil when the server takes traffic.
func (c *Client) Ready(ctx context.Context) error {
	return c.do(ctx, request{method: http.MethodGet, path: "/api/health/ready"}, nil)
}

// Live returns nil when the process runs.
func (c *Client) Live(ctx context.Context) error {
	return c.do(ctx, request{method: http.MethodGet, path: "/api/health/live"}, nil)
}

// Version returns the server's version.
func (c *Client) Version(ctx context.Context) (string, error) {
	health, err := c.Health(ctx)
	if err != nil {
		return "", err
	}
	return health.Version, nil
}

// OpenAPI returns the server's OpenAPI document.
func (c *Client) OpenAPI(ctx context.Context) (json.RawMessage, error) {
	out := new(document)
	if err := c.do(ctx, request{method: http.MethodGet, path: "/api/openapi.json"}, out); err != nil {
		return nil, err
	}
	return out.Body, nil
}

// document is an answer that is handed on as it is.
type document struct{ Meta }

func (c *Client) health(ctx context.Context, path string, query url.Values) (*Health, error) {
	out := new(Health)
	err := c.do(ctx, request{method: http.MethodGet, path: path, query: query}, out)
	var e *Error
	if errors.As(err, &e) && e.Status == http.StatusServiceUnavailable &&
		json.Unmarshal(e.Body, out) == nil && out.Status != "" {
		out.setMeta(Meta{HTTPStatus: e.Status, RequestID: e.RequestID, Body: e.Body})
		return out, nil
	}
	return result(out, err)
}
