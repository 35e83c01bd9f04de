package wire

import (
	"encoding/json"
	"time"
)

// PatternRef names one version of a pattern.
type PatternRef struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Pattern is one version of a pattern.
type Pattern struct {
	Name        string          `json:"name" example:"classify"`
	Version     string          `json:"version" example:"1.0.0"`
	Description string          `json:"description"`
	Definition  json.RawMessage `json:"definition" doc:"The definition as an object."`
	Source      string          `json:"source,omitempty" doc:"The same as it was stored: YAML text, with its comments."`
	CreatedAt   time.Time       `json:"createdAt"`
	UpdatedAt   time.Time       `json:"updatedAt"`
	CreatedBy   string          `json:"createdBy"`
	ReadOnly    bool            `json:"readOnly,omitempty" doc:"The pattern came with the product."`
}

// PatternRow is the latest version of a pattern in a list.
type PatternRow struct {
	Name        string    `json:"name"`
	Version     string    `json:"version"`
	Description string    `json:"description"`
	CreatedAt   time.Time `json:"createdAt"`
	UpdatedAt   time.Time `json:"updatedAt"`
	ReadOnly    bool      `json:"readOnly,omitempty"`

	Use *PatternUse `json:"use,omitempty" doc:"If it was asked for and the caller may read executions."`
}

// PatternUse counts the executions of a pattern that were made since a time, those that the caller may read, by what became of
// them.
type PatternUse struct {
	Since     time.Time `json:"since"`
	Active    int       `json:"active" doc:"Pending or running."`
	Completed int       `json:"completed"`
	Failed    int       `json:"failed"`
	Cancelled int       `json:"cancelled"`
	AtLeast   bool      `json:"atLeast,omitempty" doc:"There may be more than was looked at."`
}

// PatternVersion is a version in the list of those of one pattern.
type PatternVersion struct {
	Version   string    `json:"version"`
	CreatedAt time.Time `json:"createdAt"`
}

// PatternInput is a definition to store.
type PatternInput struct {
	Name        string `json:"name,omitempty" check:"max=256" doc:"It goes before the name in the definition, which is the default."`
	Version     string `json:"version,omitempty" check:"max=256" doc:"It goes before the version in the definition, which is the default."`
	Description string `json:"description,omitempty" check:"max=4096" doc:"It goes before the description in the definition, which is the default."`
	Definition  string `json:"definition" check:"required,min=1" doc:"The definition as YAML text."`
}

// ValidateRequest asks for the problems of a definition.
type ValidateRequest struct {
	Definition string `json:"definition" check:"required,min=1" doc:"The definition as YAML text."`
}

// PatternCheck is what is wrong with a definition.
type PatternCheck struct {
	Valid    bool      `json:"valid"`
	Problems []Problem `json:"problems" doc:"Empty when the definition is valid."`
	// Definition is absent of one that is not valid.
	Definition json.RawMessage `json:"definition,omitempty" doc:"What the text says, as a JSON object; absent of one that is not valid."`
}

// PatternDeletion is the answer to a delete.
type PatternDeletion struct {
	Deleted         bool `json:"deleted"`
	VersionsRemoved int  `json:"versionsRemoved"`
}
