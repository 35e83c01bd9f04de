package core

import (
	"context"

	"github.com/wardroom/wardroom/sdk/wire"
)

// What is public of compliance.
type (
	ComplianceReport  = wire.ComplianceReport
	ComplianceControl = wire.ComplianceControl
)

// ComplianceService proves what profiles ask for. Methods are safe for concurrent use.
type ComplianceService interface {
	// Check looks at the running system. VALIDATION_ERROR for an unknown profile.
	Check(ctx context.Context, profile string) (*ComplianceReport, error)
}
