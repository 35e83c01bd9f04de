package core

import (
	"encoding/json"
	"time"
)

// Categories of decisions that the system writes. People use any word.
const (
	DecisionThreadSummary     = "thread_summary"
	DecisionCompletionOutcome = "completion_outcome"
	DecisionFailureRecovery   = "failure_recovery"
	DecisionFinding           = "finding" // an agent reported it in its structured block
)

// Decision is something that all threads of an execution should know. Values are snapshots.
type Decision struct {
	ID          string          `json:"id"`
	ExecutionID string          `json:"executionId"`
	ThreadID    string          `json:"threadId,omitempty"`
	Category    string          `json:"category"`
	Summary     string          `json:"summary"`
	Details     json.RawMessage `json:"details,omitempty"`
	CreatedBy   string          `json:"createdBy"` // id of the principal; "system"
	CreatedAt   time.Time       `json:"createdAt"`
	UpdatedAt   *time.Time      `json:"updatedAt,omitempty"` // the same was found again
	Count       int             `json:"count"`               // how often it was found; 1 at first
	// Fingerprint is the same for decisions that say the same in an execution.
	Fingerprint string `json:"fingerprint,omitempty"`
}

// ByHand tells whether a person wrote it.
func (d *Decision) ByHand() bool { return d.CreatedBy != System.ID }

// DecisionFilter selects decisions of a list. Zero values select all; ExecutionID or ThreadID is set.
type DecisionFilter struct {
	ExecutionID string
	ThreadID    string
	Category    string
	Page
}
