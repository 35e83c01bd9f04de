package api

import (
	"net/http"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// Secrets makes the operations on where secrets come from. No answer holds one.
func Secrets(service core.SecretService) Part {
	return Part{"secrets", resource{wire.AuditAdmin, false, ""}, secretPart{service}.routes()}
}

type secretPart struct{ service core.SecretService }

func (p secretPart) routes() []Route {
	const tag = "secrets"
	return []Route{
		{
			Method: http.MethodGet, Path: "/api/admin/secrets/providers", OperationID: "listSecretProviders", Tag: tag,
			Action: "secrets.read", Scope: core.ScopeAdmin,
			Summary:   "List the providers of secrets, and how they are.",
			Responses: []Response{{Status: 200, Body: secretProviderList{}, Doc: "The providers, the built-in ones first."}},
			Handle: func(c *call) (answer, error) {
				list, err := p.service.FindSecretProviders(c.ctx)
				if err != nil {
					return answer{}, err
				}
				return ok(secretProviderList{Providers: list, Total: len(list)}), nil
			},
		},
		{
			Method: http.MethodPost, Path: "/api/admin/secrets/test", OperationID: "testSecret", Tag: tag,
			Action: "secrets.test", Scope: core.ScopeAdmin,
			Summary:     "Tell whether a reference leads to a secret.",
			Description: "The provider is asked anew. The answer tells what is known of the secret, and never the secret.",
			Body:        &Body{JSON: new(wire.SecretTestRequest)},
			Responses:   []Response{{Status: 200, Body: wire.SecretTest{}, Doc: "Whether it does, and if not why."}},
			Handle: decoded(func(c *call, in wire.SecretTestRequest) (answer, error) {
				return shown(p.service.TestSecret(c.ctx, in.Reference))
			}),
		},
	}
}

type secretProviderList struct {
	Providers []core.SecretProvider `json:"providers"`
	Total     int                   `json:"total"`
}
