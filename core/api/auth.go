package api

import (
	"net/http"
	"slices"
	"strings"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/schema"
	"github.com/wardroom/wardroom/sdk/wire"
)

// authRoutes are about who calls, and what they may.
func (s *Server) authRoutes() []Route {
	const tag = "auth"
	return []Route{
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
