package client

import (
	"context"
	"net/http"

	"github.com/wardroom/wardroom/sdk/wire"
)

// SecretProvider is where secrets come from.
type SecretProvider = wire.SecretProvider

// SecretProviderList is all providers of secrets.
type SecretProviderList struct {
	Meta
	Providers []SecretProvider `json:"providers"`
	Total     int              `json:"total"`
}

// SecretTest reports whether a reference leads to a secret.
type SecretTest struct {
	Meta
	wire.SecretTest
}

// ListSecretProviders returns the providers of secrets.
func (c *Client) ListSecretProviders(ctx context.Context) (*SecretProviderList, error) {
	return get[SecretProviderList](ctx, c, "/api/admin/secrets/providers")
}

// TestSecret has the server ask for a secret. The answer says whether there is one, and never the secret.
func (c *Client) TestSecret(ctx context.Context, reference string) (*SecretTest, error) {
	r := request{method: http.MethodPost, path: "/api/admin/secrets/test", body: wire.SecretTestRequest{Reference: reference}, harmless: true}
	return ask[SecretTest](ctx, c, r)
}
