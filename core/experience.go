package core

import "github.com/wardroom/wardroom/sdk/wire"

// PrefixMemory begins the ids of experiences.
const PrefixMemory = "exp_"

// ExperienceOutcome says how a piece of prior work ended.
type ExperienceOutcome = wire.ExperienceOutcome

// Outcomes of experiences.
const (
	ExperienceSuccessful = wire.ExperienceSuccessful
	ExperiencePartial    = wire.ExperiencePartial
	ExperienceFailed     = wire.ExperienceFailed
)

// ExperienceOutcomes lists every outcome, the best first.
var ExperienceOutcomes = []ExperienceOutcome{ExperienceSuccessful, ExperiencePartial, ExperienceFailed}

// Experience is the outcome of a thread's work, as it is stored for later work. Values are snapshots; Score is of an
// answer only.
type Experience struct {
	wire.Experience
	// Fingerprint is the same for experiences that say the same.
	Fingerprint string `json:"fingerprint,omitempty"`
	// Pattern is what its execution ran, which decides who may see it once the execution is gone; empty for none, and for what was kept
	// before this was noted.
	Pattern string `json:"pattern,omitempty"`
}

// ExperienceFilter selects experiences of a list. Zero values select all.
type ExperienceFilter struct {
	Query       string // full text; the list is then in order of relevance
	NoDetails   bool   // Query is not looked for in details, which may hold what is masked at any depth
	Repo        string
	Role        string
	Outcome     ExperienceOutcome
	ExecutionID string
	Page
}
