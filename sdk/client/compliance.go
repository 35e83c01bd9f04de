package client

import (
	"context"
	"net/http"

	"github.com/wardroom/wardroom/sdk/wire"
)

// ComplianceReport is the result of a check of a profile.
type ComplianceReport struct {
	Meta
	wire.ComplianceReport
}

// CheckCompliance proves from the running system what a profile asks for: soc2, gdpr or hipaa.
func (c *Client) CheckCompliance(ctx context.Context, profile string) (*ComplianceReport, error) {
	return ask[ComplianceReport](ctx, c, request{method: http.MethodGet, path: "/api/compliance/" + segment(profile)})
}
