package wire

import (
	"encoding/json"
	"time"
)

// Decision is something that all threads of an execution should know.
type Decision struct {
	ID          string          `json:"id"`
	ExecutionID string          `json:"executionId"`
	ThreadID    string          `json:"threadId,omitempty"`
	Category    string          `json:"category" doc:"Of the system: thread_summary, completion_outcome, failure_recovery and finding."`
	Summary     string          `json:"summary"`
	Details     json.RawMessage `json:"details,omitempty"`
	CreatedBy   string          `json:"createdBy" doc:"system, or who wrote it."`
	CreatedAt   time.Time       `json:"createdAt"`
	UpdatedAt   *time.Time      `json:"updatedAt,omitempty" doc:"When the same was found again."`
	Count       int             `json:"count" doc:"How often it was found."` // 1 at first
}

// NewDecision is a decision that is written by hand.
type NewDecision struct {
	Category string          `json:"category" check:"required,min=1,max=64" doc:"a-z, 0-9, _ and -." example:"architecture"`
	Summary  string          `json:"summary" check:"required,min=1,max=4000" example:"Timestamps are stored in UTC"`
	Details  json.RawMessage `json:"details,omitempty" doc:"Any object."`
	// IdempotencyKey of sdk/client makes it safe to send the request again: it goes as a header.
	IdempotencyKey string `json:"-"`
}
