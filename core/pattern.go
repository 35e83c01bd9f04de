package core

import (
	"context"
	"encoding/json"
	"time"

	"github.com/wardroom/wardroom/sdk/wire"
)

// Pattern is one stored version of a pattern. Values are immutable once they left the store.
type Pattern struct {
	Name        string    `json:"name"`
	Version     string    `json:"version"`
	Description string    `json:"description,omitempty"`
	Source      string    `json:"source"` // the definition's YAML text as it was sent
	Hash        string    `json:"hash"`   // hex SHA-256 of Source; executions pin it
	CreatedAt   time.Time `json:"createdAt"`
	UpdatedAt   time.Time `json:"updatedAt"`
	CreatedBy   string    `json:"createdBy"`
	ReadOnly    bool      `json:"readOnly,omitempty"` // shipped with the product

	// Definition is Source as a JSON object, filled on read.
	Definition json.RawMessage `json:"-"`
}

// PatternRef names one version of a pattern.
type PatternRef = wire.PatternRef

// PatternInput describes a pattern to create or update.
type PatternInput struct {
	Name        string // empty: taken from the definition
	Version     string // empty: taken from the definition
	Description string // empty: taken from the definition
	Source      string // YAML text
}

// PatternFilter selects patterns of a list. Lists hold the latest version of each name.
type PatternFilter struct {
	Search    string // substring of name or description, letter case ignored
	CreatedBy string // of the latest version
	Page
}

// PatternUpdate is the outcome of an update.
type PatternUpdate struct {
	Pattern         *Pattern
	Created         bool   // a new version was made; else the same version was replaced
	PreviousVersion string // the latest version before a new one was made
}

// PatternService keeps versioned patterns. Methods are safe for concurrent use.
//
// It has many methods because they are the operations of the interface on one noun with versions.
type PatternService interface {
	// FindPatterns lists the latest version of each pattern, newest first.
	FindPatterns(ctx context.Context, filter PatternFilter) ([]*Pattern, PageInfo, error)
	// FindPattern returns one version: "" or "latest", an exact version, or a SemVer range such as 1.x.
	// NOT_FOUND if the name is unknown or no version matches, VALIDATION_ERROR for a malformed range.
	FindPattern(ctx context.Context, name, version string) (*Pattern, error)
	// FindPatternVersions lists all versions of a name, latest first. NOT_FOUND if the name is unknown.
	FindPatternVersions(ctx context.Context, name string) ([]*Pattern, error)
	// CreatePattern stores a new pattern or a new version of one. VALIDATION_ERROR with every problem of
	// the definition; CONFLICT if this name and version exist.
	CreatePattern(ctx context.Context, in PatternInput) (*Pattern, error)
	// UpdatePattern replaces a version or adds one. NOT_FOUND if the name is unknown.
	UpdatePattern(ctx context.Context, name string, in PatternInput) (PatternUpdate, error)
	// DeletePattern removes one version, or all with version "", and returns how many went. NOT_FOUND if
	// there was none; CONFLICT for a shipped pattern.
	DeletePattern(ctx context.Context, name, version string) (int, error)
	// CheckPattern validates a definition and stores nothing. It returns name, version, description and definition of the pattern
	// that it is of, nil of one with problems.
	CheckPattern(ctx context.Context, source string) (*Pattern, []Problem)
	// IdentifyPattern returns the name and version that CreatePattern stores a definition under. VALIDATION_ERROR for one that it
	// refuses, with what the request itself names.
	IdentifyPattern(ctx context.Context, in PatternInput) (name, version string, err error)
}
