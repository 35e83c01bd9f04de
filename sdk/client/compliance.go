package client

import (
	"context"

	"github.com/wardroom/wardroom/sdk/wire"
)

// ComplianceReport is the result of a check of a profile.
type ComplianceReport struct {
	Meta
	wire.ComplianceReport
}

// CheckCompliance proves from the running system what a profile asks for: soc2, gdpr or hipaa.
func (c *Client) CheckCompliance(ctx context.Context, profile string) (*ComplianceReport, error) {
	return get[ComplianceReport](ctx, c, "/api/compliance/"+segment(profile))
}
