package api

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/schema"
	"github.com/wardroom/wardroom/sdk/wire"
)

// authRoutes are about who calls, what they may, and the keys of those who call.
func (s *Server) authRoutes() []Route {
	const tag = "auth"
	routes := []Route{
		{
			Method: http.MethodGet, Path: "/api/session", OperationID: "getSession", Secret: true, Tag: tag, Resource: "session",
			Action: "session.read", Scope: core.ScopeAny, Summary: "Tell who calls, and what they may do.",
			Responses: []Response{{Status: 200, Body: wire.Session{}, Doc: "The caller."}},
			Handle:    s.getSession,
		},
		{
			Method: http.MethodGet, Path: "/api/auth/can", OperationID: "can", Tag: tag, Resource: "session",
			Action: "session.read", Scope: core.ScopeAny, Summary: "Tell whether the caller may do something.",
			Description: "resource narrows the question to one thing, as kind/id; without it the answer is about the kind.",
			Query: []Param{
				{Name: "action", Type: ParamString, Doc: "Such as executions.create; each operation names its own as x-action."},
				{Name: "resource", Type: ParamString, Doc: "Such as patterns/classify or executions/exec_..."},
			},
			Responses: []Response{{Status: 200, Body: wire.Can{}, Doc: "Whether, and why not."}},
			Handle:    s.can,
		},
	}
	if s.opts.Keys != nil {
		routes = append(routes, s.keyRoutes()...)
	}
	if s.opts.AgentTokens != nil {
		routes = append(routes, s.agentTokenRoutes()...)
	}
	return routes
}

func (s *Server) getSession(c *call) (answer, error) { return ok(s.session(c, c.principal)), nil }

// session returns who a principal is.
func (s *Server) session(c *call, p core.Principal) wire.Session {
	body := wire.Session{
		Authenticated: p.Kind != core.PrincipalAnonymous, Kind: string(p.Kind), ID: p.ID, Name: p.Name, KeyID: p.KeyID,
		Groups: slices.Concat([]string{}, p.Groups), Roles: slices.Concat([]string{}, p.Roles), Scopes: slices.Concat([]string{}, p.Scopes), Actions: []string{},
	}
	if !p.Expires.IsZero() {
		body.ExpiresAt = &p.Expires
	}
	for _, a := range s.Actions() {
		if s.decide(c, Access{Action: a.Action, Resource: a.Resource, Scope: a.Scope}).Allowed {
			body.Actions = append(body.Actions, a.Action)
		}
	}
	s.aboutSession(c.ctx, p, &body)
	return body
}

func (s *Server) decide(c *call, a Access) core.Ruling {
	if s.opts.Decide == nil {
		return core.Ruling{Allowed: true, Reason: "no security is configured"}
	}
	return s.opts.Decide(c.ctx, c.principal, a)
}

func (s *Server) can(c *call) (answer, error) {
	name := c.query.text("action")
	a, known := s.actions[name]
	if !known {
		names := make([]string, 0, len(s.actions))
		for _, a := range s.Actions() {
			names = append(names, a.Action)
		}
		return answer{}, core.Invalid("action", "must be an action such as executions.create%s", schema.Hint("", schema.Clip(name), names))
	}
	access := Access{Action: name, Resource: a.resource, Scope: a.scope}
	if resource := c.query.text("resource"); resource != "" {
		_, id, named := strings.Cut(resource, "/")
		if kind, _, _ := strings.Cut(resource, "/"); kind != a.resource || named && id == "" {
			return answer{}, core.Invalid("resource", "must be %s, or %s/ID, for the action %s", a.resource, a.resource, name)
		}
		access.ID = id
	}
	ruling := s.decide(c, access)
	return ok(wire.Can{
		Action: name, Resource: c.query.text("resource"), Allowed: ruling.Allowed, Reason: ruling.Reason, RequiredScope: ruling.Scope, Revision: ruling.Revision,
	}), nil
}

const keysPath = "/api/auth/keys"

func (s *Server) keyRoutes() []Route {
	const one = keysPath + "/{keyId}"
	route := func(method, action string, r Route) Route {
		r.Method, r.Tag, r.Resource, r.Action, r.Scope = method, "auth", "keys", action, core.ScopeAdmin
		return r
	}
	return []Route{
		route(http.MethodPost, "keys.create", Route{
			Path: keysPath, OperationID: "createKey", Secret: true, Summary: "Make an API key.",
			Description: "Only this answer shows it; a repeat with the same Idempotency-Key does not. The first key of a server is made on its machine.",
			Body:        &Body{JSON: new(wire.APIKeySpec)},
			Responses:   []Response{{Status: 201, Body: wire.NewAPIKey{}, Location: true, Doc: "It is valid."}},
			Fails:       []int{409}, Creates: true, Recover: recoverOne(s.opts.Keys.FindKey, keyAgain), Handle: s.createKey,
		}),
		route(http.MethodGet, "keys.read", Route{
			Path: keysPath, OperationID: "listKeys", Summary: "List API keys, newest first.",
			Description: "Those that are over stay listed for 30 days.",
			Query:       append(pageParams(), Param{Name: "owner", Type: ParamString, Doc: "Only those of this owner."}, creatorParam),
			Responses:   []Response{{Status: 200, Body: keyList{}, Doc: "A page of keys."}},
			Handle:      s.listKeys,
		}),
		route(http.MethodGet, "keys.read", Route{
			Path: one, OperationID: "getKey", Summary: "Get one API key.",
			Responses: []Response{{Status: 200, Body: wire.APIKey{}, Doc: "The key, without its secret."}},
			Fails:     []int{404}, Handle: s.getKey,
		}),
		route(http.MethodPost, "keys.rotate", Route{
			Path: one + "/rotate", OperationID: "rotateKey", Secret: true, Summary: "Give an API key another secret.",
			Description: "Only this answer shows it. The former secret is valid for overlap, which is 0 unless it is given. A key that is over is a 409.",
			Body:        &Body{JSON: new(rotateKeyRequest), Optional: true},
			Responses:   []Response{{Status: 200, Body: wire.NewAPIKey{}, Doc: "The key with its new secret."}},
			Edits:       true, Fails: []int{404, 409, 412}, Handle: edits(s.getKey, s.rotateKey),
		}),
		route(http.MethodDelete, "keys.revoke", Route{
			Path: one, OperationID: "revokeKey", Summary: "End an API key at once, and for good.",
			Description: "Streams, terminals and sockets that were opened with it end within seconds.",
			Responses:   []Response{{Status: http.StatusNoContent, Doc: "It is revoked."}},
			Edits:       true, Fails: []int{404, 412}, Handle: edits(s.getKey, removeOne("keyId", s.opts.Keys.RevokeKey)),
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

func (s *Server) createKey(c *call) (answer, error) {
	var req wire.APIKeySpec
	if err := c.decode(&req); err != nil {
		return answer{}, err
	}
	k, err := s.opts.Keys.CreateKey(c.detached(), core.APIKeySpec{
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

func (s *Server) listKeys(c *call) (answer, error) {
	return listed(c, func(page core.Page) ([]*core.APIKey, core.PageInfo, error) {
		return s.opts.Keys.FindKeys(c.ctx, core.APIKeyFilter{Owner: c.query.text("owner"), CreatedBy: c.query.text("createdBy"), Page: page})
	}, valueOf, func(rows []wire.APIKey, info wire.PageInfo) any { return keyList{rows, info} })
}

func (s *Server) getKey(c *call) (answer, error) {
	found, err := s.opts.Keys.FindKey(c.ctx, c.param("keyId"))
	if err != nil {
		return answer{}, err
	}
	a := ok(*found)
	edited := *found
	edited.Status, edited.LastUsedAt = "", nil // it is used, and is over, by itself
	a.edited = edited
	return a, nil
}

func (s *Server) rotateKey(c *call) (answer, error) {
	var req rotateKeyRequest
	if err := c.decode(&req); err != nil {
		return answer{}, err
	}
	k, err := s.opts.Keys.RotateKey(c.detached(), c.param("keyId"), time.Duration(req.Overlap)*time.Millisecond)
	if err != nil {
		return answer{}, err
	}
	return ok(*k), nil
}
