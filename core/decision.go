package core

import "github.com/wardroom/wardroom/sdk/wire"

// PrefixDecision begins the ids of decisions.
const PrefixDecision = "dec_"

// Categories of decisions that the system writes. People use any word.
const (
	DecisionThreadSummary     = "thread_summary"
	DecisionCompletionOutcome = "completion_outcome"
	DecisionFailureRecovery   = "failure_recovery"
	DecisionFinding           = "finding" // an agent reported it in its structured block
)

// Decision is something that all threads of an execution should know, as it is stored. Values are snapshots.
type Decision struct {
	wire.Decision
	// Fingerprint is the same for decisions that say the same in an execution.
	Fingerprint string `json:"fingerprint,omitempty"`
}

// ByHand reports whether a person wrote it.
func (d *Decision) ByHand() bool { return d.CreatedBy != System.ID }

// DecisionFilter selects decisions of a list. Zero values select all; ExecutionID or ThreadID is set.
type DecisionFilter struct {
	ExecutionID string
	ThreadID    string
	Category    string
	CreatedBy   string
	Page
}
