package api

import (
	"net/http"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

const keysPath = "/api/auth/keys"

// Keys makes the operations of API keys.
func Keys(service core.KeyService) Part {
	return Part{"keys", resource{wire.AuditAdmin, false, core.PrefixAPIKey}, keyPart{service}.routes()}
}

type keyPart struct{ service core.KeyService }

func (p keyPart) routes() []Route {
	const one = keysPath + "/{keyId}"
	route := routesOf("auth", core.ScopeAdmin, core.ScopeAdmin)
	return []Route{
		route(http.MethodPost, "keys.create", Route{
			Path: keysPath, OperationID: "createKey", Secret: true, Summary: "Make an API key.",
			Description: "Only this answer shows it; a repeat with the same Idempotency-Key does not. The first key of a server is made on its machine.",
			Body:        &Body{JSON: new(wire.APIKeySpec)},
			Responses:   []Response{{Status: 201, Body: wire.NewAPIKey{}, Location: true, Doc: "It is valid."}},
			Fails:       []int{409}, Creates: true, Recover: recoverOne(p.service.FindKey, keyAgain), Handle: decoded(p.createKey),
		}),
		route(http.MethodGet, "keys.read", Route{
			Path: keysPath, OperationID: "listKeys", Summary: "List API keys, newest first.",
			Description: "Those that are over stay listed for 30 days.",
			Query:       append(pageParams(), Param{Name: "owner", Type: ParamString, Doc: "Only those of this owner."}, creatorParam),
			Responses:   []Response{{Status: 200, Body: keyList{}, Doc: "A page of keys."}},
			Handle:      p.listKeys,
		}),
		route(http.MethodGet, "keys.read", Route{
			Path: one, OperationID: "getKey", Summary: "Get one API key.",
			Responses: []Response{{Status: 200, Body: wire.APIKey{}, Doc: "The key, without its secret."}},
			Fails:     []int{404}, Handle: p.getKey,
		}),
		route(http.MethodPost, "keys.rotate", Route{
			Path: one + "/rotate", OperationID: "rotateKey", Secret: true, Summary: "Give an API key another secret.",
			Description: "Only this answer shows it. The former secret is valid for overlap, which is 0 unless it is given. A key that is over is a 409.",
			Body:        &Body{JSON: new(rotateKeyRequest), Optional: true},
			Responses:   []Response{{Status: 200, Body: wire.NewAPIKey{}, Doc: "The key with its new secret."}},
			Edits:       true, Fails: []int{404, 409, 412}, Handle: edits(p.getKey, decoded(p.rotateKey)),
		}),
		route(http.MethodDelete, "keys.revoke", Route{
			Path: one, OperationID: "revokeKey", Summary: "End an API key at once, and for good.",
			Description: "Streams, terminals and sockets that were opened with it end within seconds.",
			Responses:   []Response{{Status: http.StatusNoContent, Doc: "It is revoked."}},
			Edits:       true, Fails: []int{404, 412}, Handle: edits(p.getKey, removeOne("keyId", p.service.RevokeKey)),
		}),
	}
}

type rotateKeyRequest struct {
	Overlap int64 `json:"overlap" check:"min=0,max=2592000000" doc:"Milliseconds that the former secret is valid as well. Default: 0, it ends at once."`
}

type keyList struct {
	Keys []wire.APIKey `json:"keys"`
	wire.PageInfo
}

func keyPath(id string) string { return keysPath + "/" + id }

func (p keyPart) createKey(c *call, req wire.APIKeySpec) (answer, error) {
	k, err := p.service.CreateKey(c.detached(), core.APIKeySpec{
		Name: req.Name, Owner: req.Owner, Scopes: req.Scopes, Roles: req.Roles, Life: time.Duration(req.ExpiresIn) * time.Millisecond, Never: req.Never,
	})
	if err != nil {
		return answer{}, err
	}
	a := created(keyPath(k.ID), *k)
	a.kept = wire.NewAPIKey{APIKey: k.APIKey}
	return a, nil
}

// keyAgain answers a repeated create. The secret was never shown: the caller rotates it.
func keyAgain(k *core.APIKey) answer { return created(keyPath(k.ID), wire.NewAPIKey{APIKey: *k}) }

func (p keyPart) listKeys(c *call) (answer, error) {
	return listed(c, func(page core.Page) ([]*core.APIKey, core.PageInfo, error) {
		return p.service.FindKeys(c.ctx, core.APIKeyFilter{Owner: c.query.text("owner"), CreatedBy: c.query.text("createdBy"), Page: page})
	}, valueOf, func(rows []wire.APIKey, info wire.PageInfo) any { return keyList{rows, info} })
}

func (p keyPart) getKey(c *call) (answer, error) {
	found, err := p.service.FindKey(c.ctx, c.param("keyId"))
	if err != nil {
		return answer{}, err
	}
	a := ok(*found)
	edited := *found
	edited.Status, edited.LastUsedAt = "", nil // it is used, and is over, by itself
	a.edited = edited
	return a, nil
}

func (p keyPart) rotateKey(c *call, req rotateKeyRequest) (answer, error) {
	return shown(p.service.RotateKey(c.detached(), c.param("keyId"), time.Duration(req.Overlap)*time.Millisecond))
}
