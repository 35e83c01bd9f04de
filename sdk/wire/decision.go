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
