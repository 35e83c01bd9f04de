package memory

import (
	"encoding/json"
	"slices"

	"github.com/wardroom/wardroom/core"
)

// Names of the lists that answers have records in: paths of masked fields may begin with them.
const (
	decisionsName   = "decisions"
	experiencesName = "experiences"
)

// hides reports whether a text that experiences are found by is masked.
func hides(m core.Masker) bool {
	return slices.ContainsFunc([]string{"objective", "summary", "role", "repo"}, func(field string) bool { return m.Masks(experiencesName, field) })
}

// mask replaces the records of m by masked ones, and keeps those of the store as they are.
func mask(m *core.MemoryContext) {
	text := func(list, field, text string) string { return m.Mask.MaskText(list+"."+field, text) }
	for i, d := range m.Decisions {
		own := *d
		own.Summary = text(decisionsName, "summary", own.Summary)
		own.CreatedBy = text(decisionsName, "createdBy", own.CreatedBy)
		own.Details = json.RawMessage(text(decisionsName, "details", string(own.Details)))
		m.Decisions[i] = &own
	}
	for i, e := range m.Experiences {
		own := *e
		own.Role = text(experiencesName, "role", own.Role)
		own.Repo = text(experiencesName, "repo", own.Repo)
		own.Objective = text(experiencesName, "objective", own.Objective)
		own.Summary = text(experiencesName, "summary", own.Summary)
		own.Details = json.RawMessage(text(experiencesName, "details", string(own.Details)))
		m.Experiences[i] = &own
	}
}
