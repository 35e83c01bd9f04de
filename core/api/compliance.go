package api

import (
	"net/http"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// Compliance makes the operations that prove what profiles ask for.
func Compliance(service core.ComplianceService) Part {
	return Part{"compliance", resource{wire.AuditAdmin, false, ""}, compliancePart{service}.routes()}
}

type compliancePart struct{ service core.ComplianceService }

func (p compliancePart) routes() []Route {
	return []Route{{
		Method: http.MethodGet, Path: "/api/compliance/{profile}", OperationID: "checkCompliance", Tag: "compliance",
		Summary:     "Prove from the running system what a profile asks for.",
		Description: "The profiles are soc2, gdpr and hipaa. Each control has its evidence. It verifies the whole audit trail, which takes a minute for a million records or so.",
		Action:      "compliance.read", Scope: core.ScopeAuditRead,
		Responses: []Response{{Status: 200, Body: wire.ComplianceReport{}, Doc: "The controls, passed or not."}},
		Handle: func(c *call) (answer, error) {
			return shown(p.service.Check(c.ctx, c.param("profile")))
		},
	}}
}
