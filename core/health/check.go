package health

import (
	"context"
	"time"
)

// Status is the outcome of one check.
type Status string

// Outcomes of a check, best first.
const (
	StatusOK       Status = "ok"
	StatusDegraded Status = "degraded" // works with a loss
	StatusFailed   Status = "failed"   // does not work
)

// Severity says what a failed check means for the whole.
type Severity string

// Severities.
const (
	Required Severity = "required" // without it the service is unhealthy and not ready
	Degraded Severity = "degraded" // without it the service is degraded, and still ready
	Vital    Severity = "vital"    // without it the process should be restarted: unhealthy and not live
)

// Result is the result of a check.
type Result struct {
	Status  Status
	Message string // what is wrong, for the operator; empty when all is well
	Hint    string // what the operator can do about it
}

// OK is the result of a check that found nothing wrong.
func OK() Result { return Result{Status: StatusOK} }

// Failed makes a failed result.
func Failed(message, hint string) Result {
	return Result{Status: StatusFailed, Message: message, Hint: hint}
}

// Impaired makes a degraded result.
func Impaired(message, hint string) Result {
	return Result{Status: StatusDegraded, Message: message, Hint: hint}
}

// Check is one named check.
type Check struct {
	Name     string // unique, for example "store"
	Severity Severity
	// Run does the check. It is never called twice at once, should be done within milliseconds, and must
	// return soon after ctx ends.
	Run func(ctx context.Context) Result
}

// State is a check's last result and since when it has this status.
type State struct {
	Name     string
	Severity Severity
	Result
	Since time.Time
}
