package core

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

// ExperienceOutcomes lists every outcome, the best first.
var ExperienceOutcomes = []ExperienceOutcome{ExperienceSuccessful, ExperiencePartial, ExperienceFailed}

// Experience is what a thread's work came to, kept for later work. Values are snapshots.
type Experience struct {
	ID          string            `json:"id"`
	ExecutionID string            `json:"executionId"`
	ThreadID    string            `json:"threadId,omitempty"`
	Role        string            `json:"role"`
	Repo        string            `json:"repo"`
	Objective   string            `json:"objective"`
	Summary     string            `json:"summary"`
	Outcome     ExperienceOutcome `json:"outcome"`
	Details     json.RawMessage   `json:"details,omitempty"` // {changes, tests, artifacts, error, turns, durationMs, agentType}
	CreatedAt   time.Time         `json:"createdAt"`
	UpdatedAt   *time.Time        `json:"updatedAt,omitempty"` // the same was made again
	Count       int               `json:"count"`               // how often; 1 at first
	// Fingerprint is the same for experiences that say the same.
	Fingerprint string  `json:"fingerprint,omitempty"`
	Score       float64 `json:"score,omitempty"` // relevance to the query, in an answer only
}

// ExperienceFilter selects experiences of a list. Zero values select all.
type ExperienceFilter struct {
	Query       string // full text; the list is then in order of relevance
	Repo        string
	Role        string
	Outcome     ExperienceOutcome
	ExecutionID string
	Page
}
