package api

import (
	"net/http"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// complianceRoutes prove what profiles ask for.
func (s *Server) complianceRoutes() []Route {
	if s.opts.Compliance == nil {
		return nil
	}
	return []Route{{
		Method: http.MethodGet, Path: "/api/compliance/{profile}", OperationID: "checkCompliance", Tag: "compliance",
		Summary:     "Prove from the running system what a profile asks for.",
		Description: "The profiles are soc2, gdpr and hipaa. Each control has its evidence. It verifies the whole audit trail, which takes a minute for a million records or so.",
		Action:      "compliance.read", Resource: "compliance", Scope: core.ScopeAuditRead,
		Responses: []Response{{Status: 200, Body: wire.ComplianceReport{}, Doc: "The controls, passed or not."}},
		Handle: func(c *call) (answer, error) {
			r, err := s.opts.Compliance.Check(c.ctx, c.param("profile"))
			if err != nil {
				return answer{}, err
			}
			return ok(*r), nil
		},
	}}
}
