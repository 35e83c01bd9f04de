package wire

import (
	"encoding/json"
	"time"
)

// ExperienceOutcome says how a piece of prior work ended.
type ExperienceOutcome string

// Outcomes of experiences.
const (
	ExperienceSuccessful ExperienceOutcome = "successful"
	ExperiencePartial    ExperienceOutcome = "partial"
	ExperienceFailed     ExperienceOutcome = "failed"
)

// Experience is the outcome of a thread's work, kept for later work.
type Experience struct {
	ID          string            `json:"id"`
	ExecutionID string            `json:"executionId"`
	ThreadID    string            `json:"threadId,omitempty"`
	Role        string            `json:"role"`
	Repo        string            `json:"repo"`
	Objective   string            `json:"objective"`
	Summary     string            `json:"summary"`
	Outcome     ExperienceOutcome `json:"outcome" enum:"successful,partial,failed"`
	Details     json.RawMessage   `json:"details" doc:"{changes, tests, artifacts, error, turns, durationMs, agentType}, as far as they are known."`
	CreatedAt   time.Time         `json:"createdAt"`
	UpdatedAt   *time.Time        `json:"updatedAt,omitempty" doc:"When the same was made again."`
	Count       int               `json:"count" doc:"How often it was made."` // 1 at first
	Score       float64           `json:"score,omitempty" doc:"Relevance to q; to be compared within one answer only."`
}
